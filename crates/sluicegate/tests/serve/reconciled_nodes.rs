//! Meters that nodes share beside the records of all of them: a node that gives back what another has charged, one
//! that has recorded nothing, and a meter that the store has lost.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered};
use crate::overage::{charge, expect, finish, ledger};
use crate::settling::{reconcile, url};

const POLICY: &str = "
tiers:
  monthly: {quota: 1_000_000}
  daily: {quota: 1_000_000, quota_window: sliding_day}
  log: {quota: 10_000, quota_window: sliding_day, quota_algorithm: sliding_log}
  small: {quota: 10, on_quota_exceeded: bill_overage}
  large: {quota: 100, on_quota_exceeded: bill_overage}
degraded: {quota: reconcile}
";

/// What the first node says beside the others.
fn compared(nodes: &[Bed], more: &[&str]) -> Value {
    let others: Vec<String> = nodes[1..].iter().map(url).collect();
    let mut args: Vec<&str> = others.iter().flat_map(|other| ["--node", other.as_str()]).collect();
    args.extend(more);
    let (output, said) = reconcile(&nodes[0], &args);
    assert!(said.is_object(), "{output:?}");
    said
}

#[track_caller]
fn expect_agreement(nodes: &[Bed]) {
    let said = compared(nodes, &[]);
    assert_eq!((&said["drift"]["units"], &said["differences"]), (&json!(0), &json!([])), "{said}");
}

#[test]
fn a_node_that_gives_back_more_than_it_has_charged_counts_as_less_than_nothing() {
    let nodes = Nodes::start(POLICY, 3);
    let [one, other, _] = &nodes.nodes[..] else { panic!("three") };
    for tier in ["monthly", "daily", "log"] {
        let key = one.customer(tier, tier);
        charge(one, &key, 500);
        let held = charge(one, &key, 32);
        finish(other, &held, 200, 0);
        wait::until("it is given back", || (metered(one, tier)? == 500).then_some(()));
        charge(other, &key, 15);
        assert_eq!(metered(one, tier), Some(515), "{tier}");
    }
    expect_agreement(&nodes.nodes);
}

#[test]
fn nodes_agree_after_outages_kills_and_ends_at_other_nodes() {
    let mut nodes = Nodes::start(POLICY, 3);
    let key = nodes.nodes[0].customer("acme", "monthly");
    for node in &nodes.nodes {
        charge(node, &key, 10);
    }
    let held: Vec<Value> = (0..3).map(|place| charge(&nodes.nodes[place], &key, 20)).collect();
    // All have heard that the key was made, and know it.
    wait::pause(Duration::from_millis(100));
    for node in &nodes.nodes {
        assert_eq!(node.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
    }
    nodes.redis.pause();
    for node in &nodes.nodes {
        let answer = node.check(&json!({"key": key, "cost": 7, "hold": true})).json();
        assert_eq!(answer["mode"], "degraded", "{answer}");
    }
    nodes.nodes[1].server.kill();
    nodes.redis.resume();
    nodes.nodes[1].restart();
    wait::until("the books", || (metered(&nodes.nodes[0], "acme")? == 111).then_some(()));
    finish(&nodes.nodes[1], &held[0], 200, 1);
    finish(&nodes.nodes[2], &held[1], 200, 50);
    finish(&nodes.nodes[0], &held[2], 503, 0);
    wait::until("the books", || (metered(&nodes.nodes[0], "acme")? == 102).then_some(()));
    expect_agreement(&nodes.nodes);
    nodes.nodes[2].server.kill();
    nodes.nodes[2].restart();
    expect_agreement(&nodes.nodes);
}

/// The keys of a home in the store, deleted.
pub(crate) fn lose_meters(nodes: &Nodes) {
    let keys = nodes.redis.ask(&["KEYS", "sg*:{*}"]);
    let keys: Vec<String> = keys.list().iter().map(|key| key.text()).collect();
    assert!(!keys.is_empty());
    for key in keys {
        nodes.redis.ask(&["DEL", &key]);
    }
}

fn repaired(nodes: &[Bed]) -> Value {
    let said = compared(nodes, &["--repair", "--yes"]);
    expect_agreement(nodes);
    said
}

/// The only node sets its meters right.
pub(crate) fn repair_alone(bed: &Bed) -> Value {
    let path = "/admin/v1/usage/reconcile?against=meters&repair=true&alone=true";
    let answer = bed.admin(Asked::new("POST", path));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_node_that_has_recorded_nothing_counts_as_nothing() {
    let nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "monthly");
    charge(&nodes.nodes[0], &key, 42);
    lose_meters(&nodes);
    let said = repaired(&nodes.nodes);
    assert_eq!(said["repaired"], 1, "{said}");
    assert_eq!(metered(&nodes.nodes[1], "acme"), Some(42));
}

#[test]
fn a_meter_that_was_lost_is_set_right_with_its_overage() {
    let nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "small");
    charge(bed, &key, 15);
    expect(bed, "acme", &key, 15, 5);
    let moved = bed.admin(Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": "large"})));
    assert_eq!(moved.status, 200, "{}", moved.text());
    charge(bed, &key, 50);
    let held = charge(bed, &key, 20);
    expect(bed, "acme", &key, 85, 5);
    lose_meters(&nodes);
    let said = repair_alone(bed);
    assert!(said["repaired"].as_u64() > Some(0), "{said}");
    expect(bed, "acme", &key, 85, 5);
    finish(bed, &held, 200, 30);
    expect(bed, "acme", &key, 95, 5);
    charge(bed, &key, 10);
    expect(bed, "acme", &key, 105, 10);
    assert_eq!(ledger(bed, "acme"), (105, 10));
}

#[test]
fn overage_follows_what_was_used_after_a_meter_was_lost_and_is_not_billed_twice() {
    let nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "small");
    charge(bed, &key, 15);
    lose_meters(&nodes);
    charge(bed, &key, 15);
    // What was lost is not known: the second charge found an empty meter.
    assert_eq!(ledger(bed, "acme"), (30, 10));
    repair_alone(bed);
    expect(bed, "acme", &key, 30, 20);
    repair_alone(bed);
    expect(bed, "acme", &key, 30, 20);
    charge(bed, &key, 1);
    expect(bed, "acme", &key, 31, 21);
}
