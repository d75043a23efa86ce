//! Overage is the change of `max(0, used − included)`, in memory and on Redis: the header, the meter and the ledger
//! say the same after refunds, true costs, outages, changes of the tier, and whatever the caller's reputation is.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered};
use crate::settling::reconcile;

const POLICY: &str = "
tiers:
  plenty: {quota: 10_000, on_quota_exceeded: bill_overage, refund_on: 5xx}
  small: {quota: 10, on_quota_exceeded: bill_overage, refund_on: 5xx}
  large: {quota: 100, on_quota_exceeded: bill_overage}
  tiny: {quota: 5, on_quota_exceeded: bill_overage}
  watched: {rate: 2/day, burst: 100, quota: 10, on_quota_exceeded: bill_overage}
degraded: {quota: reconcile}
";

/// How long the journal may take, and how often it is looked at meanwhile.
const STEP: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 250;

/// Runs a test in memory, and on a node whose meters are in a Redis.
pub(crate) fn in_both_stores(policy: &str, test: impl Fn(&Bed)) {
    test(&Bed::start(policy));
    let nodes = Nodes::start(policy, 1);
    test(&nodes.nodes[0]);
}

pub(crate) fn charge(bed: &Bed, key: &str, cost: u64) -> Value {
    let answer = bed.check(&json!({"key": key, "cost": cost, "hold": true})).json();
    assert_eq!(answer["allowed"], true, "{answer}");
    answer
}

pub(crate) fn finish(bed: &Bed, charged: &Value, status: u16, cost: u64) {
    let body = json!({"permit": charged["permit"], "status": status, "cost": cost});
    let asked = Asked::new("POST", "/v1/finish").json(&body);
    let answer = sluicegate_testkit::http::Caller::new(bed.server.decision()).send(&asked).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// What the ledger says of an account.
pub(crate) fn ledger(bed: &Bed, account: &str) -> (u64, u64) {
    let usage = bed.get(&format!("/admin/v1/usage?account={account}"));
    (usage["total"].as_u64().unwrap(), usage["overage"].as_u64().unwrap())
}

/// What the header says, where nothing is charged for asking.
fn header(bed: &Bed, key: &str) -> u64 {
    let answer = bed.check(&json!({"key": key, "peek": true})).json();
    answer["headers"]["X-Quota-Overage"].as_str().map_or(0, |text| text.parse().unwrap())
}

/// Meter, header and ledger say that so much was used, and so much of it was overage.
#[track_caller]
pub(crate) fn expect(bed: &Bed, account: &str, key: &str, used: u64, overage: u64) {
    let said = || (metered(bed, account), ledger(bed, account), header(bed, key));
    let expected = (Some(used), (used, overage), overage);
    // The end of a request reaches a Redis a moment later.
    for _ in 0..LOOKS_MAX {
        if said() == expected {
            break;
        }
        wait::pause(STEP);
    }
    assert_eq!(said(), expected, "{account}");
    let (output, compared) = reconcile(bed, &["--against", "meters"]);
    assert!(output.status.success(), "{compared} {output:?}");
    assert_eq!(compared["drift"]["units"], 0, "{compared}");
}

#[test]
fn a_true_cost_above_the_reservation_is_billed() {
    in_both_stores(POLICY, |bed| {
        let key = bed.customer("acme", "small");
        let held = charge(bed, &key, 1);
        finish(bed, &held, 200, 25);
        expect(bed, "acme", &key, 25, 15);
    });
}

#[test]
fn what_was_reserved_and_not_used_is_no_overage() {
    in_both_stores(POLICY, |bed| {
        let key = bed.customer("acme", "plenty");
        let held: Vec<Value> = (0..20).map(|_| charge(bed, &key, 1_000)).collect();
        held.iter().for_each(|held| finish(bed, held, 200, 300));
        expect(bed, "acme", &key, 6_000, 0);
    });
}

#[test]
fn a_refunded_request_does_not_stay_in_overage() {
    in_both_stores(POLICY, |bed| {
        let key = bed.customer("acme", "small");
        let first = charge(bed, &key, 8);
        charge(bed, &key, 7);
        // Its own overage was nothing. What follows it was pushed beyond the quota by it.
        finish(bed, &first, 503, 8);
        expect(bed, "acme", &key, 7, 0);
    });
}

#[test]
fn what_is_used_in_an_outage_is_billed_when_the_store_is_told() {
    let mut nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "small");
    charge(bed, &key, 11);
    nodes.redis.pause();
    for _ in 0..20 {
        let answer = bed.check(&json!({"key": key})).json();
        assert_eq!((&answer["allowed"], &answer["mode"]), (&json!(true), &json!("degraded")), "{answer}");
    }
    nodes.redis.resume();
    wait::until("the store is back", || (bed.health()["store"]["mode"] == "normal").then_some(()));
    charge(bed, &key, 30);
    expect(bed, "acme", &key, 61, 51);
}

#[test]
fn a_bad_reputation_admits_less_and_bills_no_more() {
    let policy = format!("{POLICY}reputation: {{applies_to: all, penalty: 30, recover: 1/day}}\n");
    in_both_stores(&policy, |bed| {
        let key = bed.customer("acme", "watched");
        charge(bed, &key, 5);
        // The rate refuses it, which costs the caller's reputation: it has 60 % of its limits from then on.
        let refused = bed.check(&json!({"key": key, "cost": 100})).json();
        assert_eq!(refused["error"], "rate_limited", "{refused}");
        let fewer = bed.check(&json!({"key": key, "cost": 1})).json();
        assert_eq!(fewer["allowed"], true, "{fewer}");
        assert!(fewer["limits"][0]["remaining"].as_u64().unwrap() < 60, "{fewer}");
        let held = charge(bed, &key, 1);
        finish(bed, &held, 200, 5);
        expect(bed, "acme", &key, 11, 1);
    });
}

#[test]
fn another_tier_bills_nothing_again_and_gives_nothing_back() {
    in_both_stores(POLICY, |bed| {
        let key = bed.customer("acme", "small");
        let move_to = |tier: &str| {
            let put = Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": tier}));
            assert_eq!(bed.admin(put).status, 200);
        };
        charge(bed, &key, 15);
        expect(bed, "acme", &key, 15, 5);
        // An upgrade undoes nothing of what was billed; what was beyond the old quota counts for the new one.
        move_to("large");
        charge(bed, &key, 50);
        expect(bed, "acme", &key, 65, 5);
        let held = charge(bed, &key, 40);
        expect(bed, "acme", &key, 105, 10);
        finish(bed, &held, 200, 36);
        expect(bed, "acme", &key, 101, 6);
        finish(bed, &charge(bed, &key, 1), 200, 0);
        // A downgrade never bills what was included when it was used.
        move_to("tiny");
        charge(bed, &key, 3);
        expect(bed, "acme", &key, 104, 9);
        move_to("plenty");
        charge(bed, &key, 1_000);
        expect(bed, "acme", &key, 1_104, 9);
    });
}

#[test]
fn an_edit_of_the_policy_and_a_restart_bill_nothing_again() {
    let mut bed = Bed::start_apart(POLICY);
    let key = bed.customer("acme", "small");
    charge(&bed, &key, 15);
    let edited = POLICY.replace("small: {quota: 10,", "small: {quota: 30,");
    std::fs::write(bed.policy_path(), &edited).unwrap();
    wait::until("the edit", || (bed.get("/admin/v1/policy")["text"] == edited.as_str()).then_some(()));
    charge(&bed, &key, 14);
    expect(&bed, "acme", &key, 29, 5);
    let held = charge(&bed, &key, 4);
    expect(&bed, "acme", &key, 33, 8);
    finish(&bed, &held, 200, 1);
    expect(&bed, "acme", &key, 30, 5);
    bed.server.kill();
    bed.restart();
    charge(&bed, &key, 2);
    expect(&bed, "acme", &key, 32, 7);
}

#[test]
fn a_correction_at_another_node_is_billed_under_the_tier_in_force() {
    let nodes = Nodes::start(POLICY, 2);
    let (one, other) = (&nodes.nodes[0], &nodes.nodes[1]);
    let key = one.customer("acme", "small");
    charge(other, &key, 1);
    let moved = one.admin(Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": "large"})));
    assert_eq!(moved.status, 200, "{}", moved.text());
    let held = charge(one, &key, 10);
    // The other node was told of the change, and has not looked at the account since.
    wait::pause(Duration::from_secs(1));
    finish(other, &held, 200, 60);
    wait::until("the correction is settled", || (metered(one, "acme") == Some(61)).then_some(()));
    assert_eq!((header(one, &key), ledger(other, "acme")), (0, (51, 0)));
}
