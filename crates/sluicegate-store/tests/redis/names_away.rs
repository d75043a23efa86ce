//! Names, and answers that are lost: what is undone takes its name along.

use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::tariff::{Charges, Plan};
use sluicegate_store::redis::{Away, NameUse, Owed, RequestName};
use sluicegate_testkit::chaos;
use sluicegate_testkit::redis::Engine;
use sluicegate_testkit::wait;

use crate::bed::{limit, monthly};
use crate::homes_bed::{DEADLINE, HomesBed, is_admitted, is_refused, owed, plan};
use crate::on_each_engine;

on_each_engine!(
    a_charge_whose_answer_was_lost_is_undone_with_its_name,
    a_repeat_whose_answer_was_lost_gives_back_what_it_took,
    a_slot_that_was_released_in_doubt_costs_nothing,
    a_quota_that_is_known_to_be_spent_refuses_no_repeat,
);

/// A rate that gives nothing back while a test runs, and a quota.
fn sold(quota: u64) -> Arc<Plan> {
    let window = sluicegate_core::time::Window::DAY;
    let bucket = sluicegate_core::rule::TokenBucket::new(1, window, 100).unwrap();
    let rate =
        limit("rate", sluicegate_core::limit::Axis::Rate, sluicegate_core::rule::Rule::TokenBucket(bucket));
    plan(&[rate, monthly(quota)])
}

fn named(plan: &Arc<Plan>, decision: u128) -> Owed {
    let name = RequestName { key: 7, request: 5, decision, since: None, used: NameUse::Vouched };
    Owed { name: Some(name), ..owed(plan, 1, 3, Mode::Charge) }
}

fn a_charge_whose_answer_was_lost_is_undone_with_its_name(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), sold(1_000));
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, named(&plan, 100)), Err(Away::InDoubt));
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&homes, &plan, 1), [0, 0]);
    let charged = wait::until("a charge", || bed.settle(&homes, named(&plan, 200)).ok());
    assert_eq!(charged.repeats, None);
    assert_eq!(bed.used(&homes, &plan, 1), [3, 3]);
}

fn a_repeat_whose_answer_was_lost_gives_back_what_it_took(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), sold(1_000));
    wait::until("a charge", || bed.settle(&homes, named(&plan, 100)).ok());
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, named(&plan, 200)), Err(Away::InDoubt));
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&homes, &plan, 1), [3, 3], "the quota was not charged by it, and is not given back");
    let repeat = wait::until("a repeat", || bed.settle(&homes, named(&plan, 300)).ok());
    assert_eq!(repeat.repeats, Some(100));
}

fn a_slot_that_was_released_in_doubt_costs_nothing(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), sold(1_000));
    let charged = wait::until("a charge", || bed.settle(&homes, named(&plan, 100)).ok());
    let mut release = named(&plan, 100);
    release.request.mode = Mode::Refund { charged_at: charged.now, reserved: release.request.cost };
    release.request.which = Charges::Slots;
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, release), Err(Away::InDoubt));
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&homes, &plan, 1), [3, 3]);
}

fn a_quota_that_is_known_to_be_spent_refuses_no_repeat(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, crate::bed::PATIENT), sold(3));
    assert!(is_admitted(&bed.settle(&homes, named(&plan, 100))));
    assert!(is_refused(&bed.settle(&homes, owed(&plan, 1, 3, Mode::Charge))));
    assert!(is_refused(&bed.settle(&homes, owed(&plan, 1, 3, Mode::Charge))));
    assert!(homes.counters().refused_locally.get() > 0, "it is known here");
    assert!(is_admitted(&bed.settle(&homes, named(&plan, 200))));
}
