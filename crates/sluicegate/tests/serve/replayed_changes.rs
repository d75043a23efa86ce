//! A single node that is killed after a change of the plan: what was used at the change is known after the restart, so
//! the bill is the one of a node that was never killed.

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::overage::{charge, expect, finish};

const POLICY: &str = "
tiers:
  large: {quota: 1_000, on_quota_exceeded: bill_overage}
  small: {quota: 10, on_quota_exceeded: bill_overage}
";

fn move_to(bed: &Bed, tier: &str) {
    let put = Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": tier}));
    assert_eq!(bed.admin(put).status, 200);
}

fn edit(bed: &Bed, from: &str, to: &str) {
    let edited = POLICY.replace(from, to);
    assert_ne!(edited, POLICY);
    std::fs::write(bed.policy_path(), &edited).unwrap();
    wait::until("the edit", || (bed.get("/admin/v1/policy")["text"] == edited.as_str()).then_some(()));
}

/// Runs a story with and without a kill in the middle: before and after it both say the same.
fn with_and_without_a_kill(
    tier: &str,
    begin: impl Fn(&Bed, &str) -> Option<Value>,
    (used, overage): (u64, u64),
    go_on: impl Fn(&Bed, &str, Option<Value>),
    (used_later, overage_later): (u64, u64),
) {
    for killed in [false, true] {
        let mut bed = Bed::start_apart(POLICY);
        let key = bed.customer("acme", tier);
        let held = begin(&bed, &key);
        if killed {
            bed.server.kill();
            bed.restart();
        }
        expect(&bed, "acme", &key, used, overage);
        go_on(&bed, &key, held);
        expect(&bed, "acme", &key, used_later, overage_later);
    }
}

#[test]
fn a_refund_after_a_change_does_not_move_what_was_used_at_the_change() {
    with_and_without_a_kill(
        "large",
        |bed, key| {
            let held = charge(bed, key, 111);
            move_to(bed, "small");
            charge(bed, key, 1);
            finish(bed, &held, 200, 0);
            None
        },
        (1, 0),
        |bed, key, _| drop(charge(bed, key, 101)),
        (102, 0),
    );
}

#[test]
fn a_refund_that_is_the_first_after_a_change_does_not_move_it_either() {
    with_and_without_a_kill(
        "large",
        |bed, key| {
            let held = charge(bed, key, 111);
            move_to(bed, "small");
            finish(bed, &held, 200, 0);
            None
        },
        (0, 0),
        |bed, key, _| drop(charge(bed, key, 115)),
        (115, 4),
    );
}

#[test]
fn a_refund_before_a_change_counts_in_what_was_used_at_the_change() {
    with_and_without_a_kill(
        "large",
        |bed, key| {
            finish(bed, &charge(bed, key, 111), 200, 51);
            edit(bed, "quota: 1_000", "quota: 20");
            None
        },
        (51, 0),
        |bed, key, _| drop(charge(bed, key, 3)),
        (54, 3),
    );
}

#[test]
fn what_is_held_over_a_change_and_a_kill_is_given_back_as_without_the_kill() {
    with_and_without_a_kill(
        "small",
        |bed, key| {
            let held = charge(bed, key, 60);
            finish(bed, &charge(bed, key, 40), 200, 15);
            move_to(bed, "large");
            charge(bed, key, 5);
            move_to(bed, "small");
            charge(bed, key, 2);
            Some(held)
        },
        (82, 67),
        |bed, _, held| finish(bed, &held.unwrap(), 200, 1),
        (23, 65),
    );
}
