//! Using up a quota in one request.

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::Bed;

/// A preset, as it stands in `examples/`.
pub(crate) fn preset(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Charges this much to the quota of an account in one request, under negotiated limits: the same quota, and no rate
/// that would owe it as well. The account keeps these limits until it is given others.
#[track_caller]
pub(crate) fn spend(bed: &Bed, account: &str, key: &str, cost: u64, quota: &Value) {
    let path = format!("/admin/v1/accounts/{account}/custom");
    let put = bed.admin(Asked::new("PUT", &path).json(quota));
    assert_eq!(put.status, 200, "{}", put.text());
    let answer = bed.check(&json!({"key": key, "cost": cost})).json();
    assert_eq!(answer["allowed"], true, "{answer}");
}

/// The same, after which the account has its tier again.
#[track_caller]
pub(crate) fn spend_of_tier(bed: &Bed, (account, tier): (&str, &str), key: &str, cost: u64, quota: &Value) {
    spend(bed, account, key, cost, quota);
    let tier = Asked::new("PUT", &format!("/admin/v1/accounts/{account}/tier")).json(&json!({"tier": tier}));
    assert_eq!(bed.admin(tier).status, 200);
}

/// Decides on these at one instant.
#[track_caller]
pub(crate) fn batch(bed: &Bed, checks: &[Value]) -> Vec<Value> {
    let asked = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": checks}));
    let answer = Caller::new(bed.server.decision()).send(&asked).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["results"].as_array().unwrap().clone()
}

/// Sends this through the gateway until it is not refused for its rate, which passes by itself.
#[track_caller]
pub(crate) fn sent_in_time(bed: &Bed, asked: &Asked) -> Answer {
    wait::until("there is a token again", || {
        let answer = bed.gateway(asked);
        (answer.json()["error"] != "rate_limited").then_some(answer)
    })
}
