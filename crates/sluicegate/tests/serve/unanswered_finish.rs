//! A finish that was answered with a 503 may have settled. Its repeat has the answer of the first, whatever it says
//! itself, at this node, at another one, and after a kill.

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered};
use crate::overage::charge;

const POLICY: &str = "
tiers:
  metered: {quota: 1_000}
";

fn finish(bed: &Bed, held: &Value, cost: u64) -> Answer {
    let body = json!({"permit": held["permit"], "status": 200, "cost": cost});
    Caller::new(bed.server.decision()).send(&Asked::new("POST", "/v1/finish").json(&body)).unwrap()
}

/// Finishes with the store standing still, and lets the store go on.
fn unanswered(nodes: &mut Nodes) -> Value {
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "metered");
    let held = charge(bed, &key, 5);
    nodes.redis.pause();
    let answer = finish(&nodes.nodes[0], &held, 100);
    assert_eq!((answer.status, &answer.json()["error"]), (503, &json!("unavailable")), "{}", answer.text());
    held
}

#[track_caller]
fn expect_the_first_answer(bed: &Bed, held: &Value) {
    let answer = wait::until("the store is back", || {
        let answer = finish(bed, held, 7);
        (answer.status != 503).then_some(answer)
    });
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!((&answer["reserved"], &answer["settled"]), (&json!(5), &json!(100)), "{answer}");
    wait::until("the meter has it", || (metered(bed, "acme")? == 100).then_some(()));
}

#[test]
fn a_finish_that_was_not_answered_is_settled_with_what_it_said() {
    let mut nodes = Nodes::start(POLICY, 1);
    let held = unanswered(&mut nodes);
    nodes.redis.resume();
    expect_the_first_answer(&nodes.nodes[0], &held);
}

#[test]
fn its_repeat_at_another_node_has_the_same_answer() {
    let mut nodes = Nodes::start(POLICY, 2);
    let held = unanswered(&mut nodes);
    nodes.redis.resume();
    // The first node tries until it knows.
    wait::until("the meter has it", || (metered(&nodes.nodes[1], "acme")? == 100).then_some(()));
    expect_the_first_answer(&nodes.nodes[1], &held);
}

#[test]
fn its_repeat_after_a_kill_has_the_same_answer() {
    let mut nodes = Nodes::start(POLICY, 1);
    let held = unanswered(&mut nodes);
    nodes.nodes[0].server.kill();
    nodes.redis.resume();
    nodes.nodes[0].restart();
    expect_the_first_answer(&nodes.nodes[0], &held);
}
