//! A node that ends while a call of the store is cut off: what the call charged is undone by the next process, and what
//! was decided instead counts once.

use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered};
use crate::overage::{charge, expect};
use crate::settling::{reconcile, url};

const POLICY: &str = "
tiers:
  small: {quota: 50, on_quota_exceeded: bill_overage}
";

fn reconciling() -> String {
    format!("{POLICY}degraded: {{quota: reconcile}}\n")
}

fn killed(bed: &mut Bed) {
    bed.server.kill();
}

fn terminated(bed: &mut Bed) {
    bed.server.terminate();
    bed.server.wait();
}

/// Charges 30. The node knows the key from then on: it has heard that it was made.
fn charge_known(bed: &Bed, key: &str) {
    charge(bed, key, 30);
    wait::pause(Duration::from_millis(100));
    assert_eq!(bed.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
}

fn a_cut_off_call_and_its_journal_entry_are_one_charge(end: fn(&mut Bed)) {
    let mut nodes = Nodes::start(&reconciling(), 1);
    let key = nodes.nodes[0].customer("acme", "small");
    charge_known(&nodes.nodes[0], &key);
    nodes.redis.pause();
    for cost in [30, 10] {
        let answer = nodes.nodes[0].check(&json!({"key": key, "cost": cost})).json();
        assert_eq!((&answer["allowed"], &answer["mode"]), (&json!(true), &json!("degraded")), "{answer}");
    }
    end(&mut nodes.nodes[0]);
    nodes.redis.resume();
    nodes.nodes[0].restart();
    let bed = &nodes.nodes[0];
    expect(bed, "acme", &key, 70, 20);
    charge(bed, &key, 1);
    expect(bed, "acme", &key, 71, 21);
}

#[test]
fn a_cut_off_call_and_its_journal_entry_are_one_charge_after_a_kill() {
    a_cut_off_call_and_its_journal_entry_are_one_charge(killed);
}

#[test]
fn a_cut_off_call_and_its_journal_entry_are_one_charge_after_an_orderly_end() {
    a_cut_off_call_and_its_journal_entry_are_one_charge(terminated);
}

/// With a name: the next request of that name is no repeat of one that nobody was told of.
#[test]
fn what_a_cut_off_call_charged_is_undone_although_nothing_was_decided_instead() {
    let mut nodes = Nodes::start(POLICY, 1);
    let key = nodes.nodes[0].customer("acme", "small");
    charge_known(&nodes.nodes[0], &key);
    nodes.redis.pause();
    let named = json!({"key": key, "cost": 30, "idempotency_key": "one"});
    let answer = nodes.nodes[0].check(&named).json();
    assert_eq!((&answer["allowed"], &answer["error"]), (&json!(false), &json!("unavailable")), "{answer}");
    nodes.nodes[0].server.kill();
    nodes.redis.resume();
    nodes.nodes[0].restart();
    expect(&nodes.nodes[0], "acme", &key, 30, 0);
    let again = nodes.nodes[0].check(&named).json();
    assert_eq!(again["allowed"], true, "{again}");
    expect(&nodes.nodes[0], "acme", &key, 60, 10);
}

/// Killed again and again: what is undone is undone once.
#[test]
fn what_a_cut_off_call_charged_is_undone_once_however_often_the_node_ends() {
    let mut nodes = Nodes::start(&reconciling(), 1);
    let key = nodes.nodes[0].customer("acme", "small");
    charge_known(&nodes.nodes[0], &key);
    nodes.redis.pause();
    let answer = nodes.nodes[0].check(&json!({"key": key, "cost": 25})).json();
    assert_eq!(answer["mode"], "degraded", "{answer}");
    nodes.nodes[0].server.kill();
    nodes.redis.resume();
    for _ in 0..5 {
        nodes.nodes[0].restart();
        nodes.nodes[0].server.kill();
    }
    nodes.nodes[0].restart();
    wait::until("the books", || (metered(&nodes.nodes[0], "acme")? == 55).then_some(()));
    expect(&nodes.nodes[0], "acme", &key, 55, 5);
}

/// While the call stood that nobody was told of, another node has billed what it pushed beyond the quota.
#[test]
fn what_others_were_billed_because_of_a_cut_off_call_is_given_back_with_it() {
    let mut nodes = Nodes::start(&reconciling(), 2);
    let key = nodes.nodes[0].customer("acme", "small");
    for node in &nodes.nodes {
        assert_eq!(node.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
    }
    charge_known(&nodes.nodes[0], &key);
    nodes.redis.pause();
    let answer = nodes.nodes[0].check(&json!({"key": key, "cost": 30})).json();
    assert_eq!(answer["mode"], "degraded", "{answer}");
    nodes.nodes[0].server.kill();
    nodes.redis.resume();
    wait::until("the call is done", || (metered(&nodes.nodes[1], "acme")? == 60).then_some(()));
    charge(&nodes.nodes[1], &key, 5);
    nodes.nodes[0].restart();
    let overage = || {
        let ledgers = nodes.nodes.iter().map(|node| node.get("/admin/v1/usage?account=acme"));
        ledgers.map(|ledger| ledger["overage"].as_i64().unwrap()).sum::<i64>()
    };
    let agree = || {
        let (output, said) = reconcile(&nodes.nodes[0], &["--node", &url(&nodes.nodes[1])]);
        output.status.success().then_some(said)
    };
    wait::until("the books", || (metered(&nodes.nodes[1], "acme")? == 65).then_some(()));
    wait::within(Duration::from_millis(100), "both agree", agree);
    assert_eq!(overage(), 15);
}
