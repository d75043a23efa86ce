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
