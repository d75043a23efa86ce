//! The master secret leaked: it is replaced, and nothing that customers hold becomes invalid.

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::server::Launch;

use super::tokens::token;
use crate::bed::{Bed, PROGRAM};

const PLANS: &str = "tiers: {free: {rate: 1000, burst: 1000, quota: 1_000}}";
const OLD: &str = "the-old-secret-of-this-test";
const NEW: &str = "the-new-secret-of-this-test";

fn launch(bed: &Bed, secret: &str, previous: Option<&str>) -> Launch {
    let launch = Launch::new(PROGRAM, bed.folder.path()).policy(PLANS).variable("SLUICEGATE_SECRET", secret);
    previous.map_or(launch.clone(), |previous| launch.variable("SLUICEGATE_SECRET_PREVIOUS", previous))
}

fn stop(bed: &mut Bed) {
    bed.server.terminate();
    assert!(bed.server.wait().success());
}

fn restart(bed: &mut Bed, secret: &str, previous: Option<&str>) {
    stop(bed);
    bed.server = launch(bed, secret, previous).start();
}

fn finish(bed: &Bed, permit: &Value) -> Answer {
    let asked = Asked::new("POST", "/v1/finish").json(&json!({"permit": permit}));
    Caller::new(bed.server.decision()).send(&asked).unwrap()
}

#[test]
fn attack_69_a_leaked_secret_is_replaced_and_keys_permits_tokens_and_usage_survive() {
    let mut bed = Bed::start_with(PLANS, |launch| launch.variable("SLUICEGATE_SECRET", OLD));
    let key = bed.customer("acme", "free");
    let (_, reader) = token(&bed, &json!({"name": "anna", "role": "read"}));
    let held = bed.check(&json!({"key": key, "cost": 7, "hold": true})).json();
    let later = bed.check(&json!({"key": key, "hold_for": "1h"})).json();
    assert_eq!((&held["allowed"], bed.used("acme", "quota")), (&json!(true), 8));
    restart(&mut bed, NEW, Some(OLD));
    assert_eq!(bed.used("acme", "quota"), 8, "meters are those of before");
    assert_eq!(finish(&bed, &held["permit"]).status, 200);
    assert_eq!(bed.check(&json!({"key": key})).json()["allowed"], true);
    let newer = bed.key_with("acme", &json!({})).key;
    let asked = Asked::get("/admin/v1/tiers").header("Authorization", &format!("Bearer {reader}"));
    assert_eq!(Caller::new(bed.server.admin()).send(&asked).unwrap().status, 200);
    // Without the old secret what it hashed is invalid, and what the new one hashed is not; meters stay.
    restart(&mut bed, NEW, None);
    assert_eq!(bed.check(&json!({"key": key})).json()["error"], "invalid_key");
    assert_eq!(bed.check(&json!({"key": newer})).json()["allowed"], true);
    assert_eq!(bed.used("acme", "quota"), 10);
    assert_eq!(finish(&bed, &later["permit"]).status, 404, "a permit of the old secret");
    // A third secret does not open the store.
    stop(&mut bed);
    let ended = launch(&bed, "a-secret-that-was-never-in-use", None).run();
    assert_eq!(ended.status, Some(1), "{}", ended.said);
    assert!(ended.said.contains("SLUICEGATE_SECRET_PREVIOUS"), "{}", ended.said);
}
