//! A clock that leapt ahead: health and metrics report it, and an operator confirms it.

use serde_json::json;
use sluicegate_core::time::Nanos;
use sluicegate_engine::clock::Reading;

use crate::place::{NOW, Place};

const CONFIRM: &str = "/admin/v1/clock/confirm";
const YEAR_S: u32 = 365 * 86_400;

/// A second later, the wall clock is so many seconds ahead.
fn leap(place: &Place, ahead_s: u32) {
    let second = Nanos::from_secs(1);
    let wall = NOW.plus(Nanos::from_secs(1 + ahead_s));
    place.engine.clock().read(Reading { wall, monotonic: second, boottime: second, store: None });
    place.engine.follow_clock();
}

fn metric(place: &Place, line: &str) -> bool {
    place.get("/metrics").text.lines().any(|it| it == line)
}

#[test]
fn a_clock_that_is_held_is_said_everywhere_and_followed_when_it_is_confirmed() {
    let place = Place::new();
    leap(&place, 2 * YEAR_S);
    let health = place.get("/health").expect(200);
    assert_eq!(health["status"], "degraded");
    let held = json!({"ahead_s": 2 * YEAR_S, "followed_in_s": 600});
    assert_eq!(health["clock"], json!({"state": "implausible", "system": held, "store": null}));
    assert!(metric(&place, "sluicegate_clock_implausible{clock=\"system\"} 1"));
    assert!(metric(&place, "sluicegate_clock_implausible{clock=\"store\"} 0"));
    assert!(metric(&place, &format!("sluicegate_clock_ahead_seconds{{clock=\"system\"}} {}", 2 * YEAR_S)));

    let confirmed = place.bare("POST", CONFIRM).expect(200);
    let now = "2028-10-04T12:00:01.000Z";
    assert_eq!(confirmed, json!({"now": now, "system_ahead_s": 2 * YEAR_S, "store_ahead_s": null}));
    let health = place.get("/health").expect(200);
    assert_eq!((&health["status"], &health["clock"]["state"]), (&json!("ok"), &json!("plausible")));
    assert!(metric(&place, "sluicegate_clock_implausible{clock=\"system\"} 0"));
    let entry = &place.get("/admin/v1/audit").expect(200)["items"][0];
    assert_eq!((&entry["action"], &entry["target"]), (&json!("clock.confirm"), &json!("clock")));
    assert_eq!(entry["before"], json!({"system_ahead_s": 2 * YEAR_S, "store_ahead_s": null}));
}

#[test]
fn where_no_clock_is_held_there_is_nothing_to_confirm() {
    let place = Place::new();
    let refused = place.bare("POST", CONFIRM).expect(409);
    assert_eq!(refused["error"], "clock_plausible");
    assert_eq!(place.get("/admin/v1/audit").expect(200)["items"], json!([]));
}
