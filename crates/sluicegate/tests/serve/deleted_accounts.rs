//! What is open when its account is deleted is billed when it ends, also after a kill, in both stores.

use serde_json::Value;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::Nodes;
use crate::overage::{charge, finish, ledger};

const POLICY: &str = "
tiers:
  small: {quota: 10, on_quota_exceeded: bill_overage}
";

fn delete(bed: &Bed) {
    let deleted = bed.admin(Asked::new("DELETE", "/admin/v1/accounts/acme"));
    assert!(deleted.status < 300, "{}", deleted.text());
}

#[track_caller]
fn expect_billed(bed: &Bed, total: u64, overage: u64) {
    let said = || ledger(bed, "acme");
    for _ in 0..250 {
        if said() == (total, overage) {
            break;
        }
        wait::pause(std::time::Duration::from_millis(20));
    }
    assert_eq!(said(), (total, overage));
}

/// Two permits of one account: one costs more than was reserved, one nothing.
fn held(bed: &Bed) -> [Value; 2] {
    let key = bed.customer("acme", "small");
    charge(bed, &key, 3);
    [charge(bed, &key, 2), charge(bed, &key, 7)]
}

fn finish_all(bed: &Bed, [more, less]: &[Value; 2]) {
    expect_billed(bed, 12, 2);
    finish(bed, more, 200, 55);
    expect_billed(bed, 65, 55);
    finish(bed, less, 200, 0);
    expect_billed(bed, 58, 48);
}

fn in_both_stores(test: impl Fn(&mut Bed)) {
    test(&mut Bed::start_apart(POLICY));
    let mut nodes = Nodes::start(POLICY, 1);
    test(&mut nodes.nodes[0]);
}

#[test]
fn the_overage_of_a_request_that_ends_after_its_account_is_billed() {
    in_both_stores(|bed| {
        let held = held(bed);
        delete(bed);
        finish_all(bed, &held);
    });
}

#[test]
fn the_overage_of_a_request_that_ends_after_its_account_and_a_kill_is_billed() {
    in_both_stores(|bed| {
        let held = held(bed);
        delete(bed);
        bed.server.kill();
        bed.restart();
        finish_all(bed, &held);
    });
}

const SOLD: &str = "
tiers:
  fifty: {quota: 50, on_quota_exceeded: bill_overage}
  other: {rate: 10}
";

/// 35 of 50 are used when the account is deleted; its tier is another after that.
fn keeps_its_plan(bed: &mut Bed, edited: &str) {
    let key = bed.customer("acme", "fifty");
    charge(bed, &key, 20);
    let held = [charge(bed, &key, 10), charge(bed, &key, 5)];
    delete(bed);
    std::fs::write(bed.policy_path(), edited).unwrap();
    wait::until("the policy is loaded", || (bed.health()["policy"]["version"] == 2).then_some(()));
    finish(bed, &held[0], 200, 25);
    expect_billed(bed, 50, 0);
    bed.server.kill();
    bed.restart();
    expect_billed(bed, 50, 0);
    finish(bed, &held[1], 200, 12);
    expect_billed(bed, 57, 7);
}

fn sold_in_both_stores(edited: &str) {
    keeps_its_plan(&mut Bed::start_apart(SOLD), edited);
    let mut nodes = Nodes::start(SOLD, 1);
    keeps_its_plan(&mut nodes.nodes[0], edited);
}

#[test]
fn a_deleted_account_keeps_its_plan_when_its_tier_is_edited() {
    sold_in_both_stores(&SOLD.replace("50", "30"));
}

#[test]
fn a_deleted_account_keeps_its_plan_when_its_tier_is_removed() {
    sold_in_both_stores("tiers: {other: {rate: 10}}\n");
}
