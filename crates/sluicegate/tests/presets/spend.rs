//! Using up a quota in one request: one that turns out to have cost more than was reserved.

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::Bed;

/// A preset, as it stands in `examples/`.
pub(crate) fn preset(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Charges this much to a key, however much fits at once. The bucket of its rate is empty afterwards.
#[track_caller]
pub(crate) fn spend(bed: &Bed, key: &str, cost: u64) {
    let held = wait::until("there is room for one", || {
        let answer = bed.check(&json!({"key": key, "hold": true})).json();
        answer["permit"].as_str().map(str::to_owned)
    });
    let finish = Asked::new("POST", "/v1/finish").json(&json!({"permit": held, "cost": cost}));
    let finished = Caller::new(bed.server.decision()).send(&finish).unwrap();
    assert_eq!((finished.status, &finished.json()["settled"]), (200, &json!(cost)), "{finished:?}");
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
