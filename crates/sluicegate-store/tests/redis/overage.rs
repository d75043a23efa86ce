//! Overage that is billed up to a cap, by many connections at once.

use sluicegate_core::limit::{Axis, Excess, Limit, OverageCap, RefusalStatus};
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::Window;
use sluicegate_store::redis::{NodeId, Seq, Settled};
use sluicegate_testkit::redis::{Engine, Reply};

use crate::bed::{Bed, PATIENT, ask_as, limit, monthly, plan, rate};
use crate::on_each_engine;

on_each_engine!(
    sixteen_nodes_get_exactly_the_quota_and_its_overage,
    a_cost_that_crosses_the_cap_is_refused_as_a_whole,
    a_refund_takes_back_what_is_no_longer_over,
    a_change_of_the_quota_undoes_nothing_and_bills_nothing_twice,
    a_home_of_a_version_that_kept_no_baseline_goes_on_with_its_overage,
    what_was_recorded_outlasts_a_quota_that_refuses,
    overage_is_exact_where_what_was_recorded_and_used_exceed_a_double,
);

fn capped(rule: Rule, cap: u64) -> Limit {
    let cap = OverageCap { amount: Amount::new(cap).unwrap(), status: RefusalStatus::PaymentRequired };
    Limit { excess: Excess::BillUpTo(cap), ..limit("quota", Axis::Quota, rule) }
}

/// A quota of so much in every window that overage can be billed for.
fn rules(amount: u64) -> [Rule; 2] {
    let windowed = Windowed { limit: Amount::new(amount).unwrap(), window: Window::DAY };
    [monthly(amount).rule, Rule::FixedWindow(windowed)]
}

/// A quota of so much that is billed, in a home with a rate: as most have.
fn billed(rule: Rule) -> Limit {
    Limit { excess: Excess::BillOverage, ..limit("quota", Axis::Quota, rule) }
}

/// The change of the overage, and what is used and over it then.
fn said(settled: &Settled) -> (u64, u64, u64) {
    let Outcome::Admitted { overage } = settled.outcome else { panic!("{settled:?}") };
    let reading = settled.readings.last().unwrap();
    (overage, reading.used, reading.overage)
}

fn a_refund_takes_back_what_is_no_longer_over(engine: Engine) {
    let (bed, rate) = (Bed::new(engine), rate(1_000, 1_000));
    for (home, rule) in (1..).zip(rules(10)) {
        let quota = billed(rule);
        let ask = |cost, mode| bed.ask(&plan(home, &[&rate, &quota], cost, mode));
        let first = ask(8, Mode::Charge);
        assert_eq!(said(&first), (0, 8, 0));
        assert_eq!(said(&ask(7, Mode::Charge)), (5, 15, 5));
        let refund = Mode::Refund { charged_at: first.now, reserved: Amount::new(50).unwrap() };
        assert_eq!(said(&ask(8, refund)), (5, 7, 0));
        assert_eq!(said(&ask(20, Mode::Force)), (17, 27, 17));
        assert_eq!(said(&ask(7, refund)), (7, 20, 10));
    }
}

fn a_change_of_the_quota_undoes_nothing_and_bills_nothing_twice(engine: Engine) {
    let bed = Bed::new(engine);
    for (home, (small, large)) in (1..).zip(rules(10).into_iter().zip(rules(100))) {
        let (small, large) = (billed(small), billed(large));
        let ask = |quota: &Limit, cost, mode| bed.ask(&plan(home, &[quota], cost, mode));
        let first = ask(&small, 15, Mode::Charge);
        assert_eq!(said(&first), (5, 15, 5));
        assert_eq!(said(&ask(&large, 1, Mode::Peek)), (0, 15, 5));
        assert_eq!(said(&ask(&large, 90, Mode::Charge)), (5, 105, 10));
        assert_eq!(
            said(&ask(
                &large,
                50,
                Mode::Refund { charged_at: first.now, reserved: Amount::new(50).unwrap() }
            )),
            (5, 55, 5)
        );
        // Half the size for a while is no change: what is billed begins where it did.
        let half = large.scaled(sluicegate_core::policy::Percent::new(50).unwrap());
        assert_eq!(said(&ask(&half, 20, Mode::Charge)), (0, 75, 5));
        assert_eq!(said(&ask(&small, 3, Mode::Charge)), (3, 78, 8));
        assert_eq!(said(&ask(&small, 1, Mode::Charge)), (1, 79, 9));
    }
}

/// Writes a home with a single quota, which refuses, as versions wrote it that kept no baseline: without the last two
/// numbers, and with the first image of the limit.
fn write_as_before(bed: &Bed, home: u128) {
    let key = format!("sg1:{{{home:032x}}}");
    let Reply::Bytes(mut bytes) = bed.server.ask(&["GET", &key]) else { panic!("there is a home") };
    // Version, length of the shape, count of numbers; of the one meter id, place and length of its image.
    let (shape, image) = (usize::from(bytes[1]), 5 + 8 + 2 + 1);
    assert_eq!((bytes[3], bytes[image]), (5, 3), "five numbers, and an image of version 3");
    (bytes[3], bytes[image]) = (3, 1);
    bytes[image + 1] = if bytes[image + 1] == 10 { 2 } else { 3 };
    let baseline = 5 + shape + 8 + 3 * 8;
    assert_eq!(bytes.drain(baseline..baseline + 16).collect::<Vec<_>>(), [0; 16]);
    bed.server.ask(&[&b"SET"[..], key.as_bytes(), &bytes]);
}

fn a_home_of_a_version_that_kept_no_baseline_goes_on_with_its_overage(engine: Engine) {
    let bed = Bed::new(engine);
    for (home, (rule, other)) in (1..).zip(rules(10).into_iter().zip(rules(11))) {
        let before = limit("quota", Axis::Quota, rule.clone());
        for home in [home, home + 10, home + 20] {
            bed.ask(&plan(home, &[&before], 15, Mode::Force));
            write_as_before(&bed, home);
        }
        assert_eq!(said(&bed.ask(&plan(home, &[&billed(rule)], 1, Mode::Charge))), (1, 16, 6));
        // Of another size, nothing was billed.
        assert_eq!(said(&bed.ask(&plan(home + 10, &[&billed(other)], 1, Mode::Charge))), (1, 16, 1));
        assert_eq!(said(&bed.ask(&plan(home + 20, &[&before], 2, Mode::Force))), (0, 17, 0));
    }
}

fn what_was_recorded_outlasts_a_quota_that_refuses(engine: Engine) {
    let (bed, rate) = (Bed::new(engine), rate(1_000, 1_000));
    for (home, (small, large)) in (1..).zip(rules(10).into_iter().zip(rules(100))) {
        let (billed, hard) = (billed(small), limit("quota", Axis::Quota, large));
        let ask = |quota: &Limit, cost| said(&bed.ask(&plan(home, &[&rate, quota], cost, Mode::Charge)));
        assert_eq!(ask(&billed, 60), (50, 60, 50));
        // With a rate this is the common call, also again.
        assert_eq!(ask(&hard, 3), (0, 63, 0));
        assert_eq!(ask(&hard, 3), (0, 66, 0));
        assert_eq!(ask(&billed, 7), (7, 73, 57));
    }
}

/// Doubles are exact up to 2^53. Neither number is above that, but their sum is.
fn overage_is_exact_where_what_was_recorded_and_used_exceed_a_double(engine: Engine) {
    let (bed, half) = (Bed::new(engine), 1 << 52);
    for (home, (large, small)) in (1..).zip(rules(14).into_iter().zip(rules(1))) {
        let ask = |quota: &Limit, cost| said(&bed.ask(&plan(home, &[quota], cost, Mode::Charge)));
        assert_eq!(ask(&billed(large), half), (half - 14, half, half - 14));
        for more in 1..4 {
            assert_eq!(ask(&billed(small.clone()), 1), (1, half + more, half - 14 + more));
        }
    }
}

fn sixteen_nodes_get_exactly_the_quota_and_its_overage(engine: Engine) {
    let bed = Bed::new(engine);
    let nodes: Vec<_> =
        (0..16).map(|node| bed.another(&bed.server.url(), PATIENT, NodeId(100 + node))).collect();
    for (home, rule) in (1..).zip(rules(20)) {
        let quota = capped(rule, 7);
        let plan = plan(home, &[&quota], 1, Mode::Charge);
        let (mut admitted, mut billed) = (0, 0);
        for round in 0..4 {
            let seq = Seq::new(1_000 + round).unwrap();
            let asked = nodes.iter().map(|node| ask_as(node, seq, &plan));
            for settled in bed.runtime.block_on(futures(asked)) {
                if let Outcome::Admitted { overage } = settled.unwrap().outcome {
                    admitted += 1;
                    billed += overage;
                }
            }
        }
        assert_eq!((admitted, billed), (27, 7), "{quota:?}");
    }
}

/// All of them at once.
async fn futures<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (one, done) in running.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(value) = one.as_mut().poll(context) {
                *done = Some(value);
            }
        }
        if running.iter().all(|(_, done)| done.is_some()) {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}

fn a_cost_that_crosses_the_cap_is_refused_as_a_whole(engine: Engine) {
    let bed = Bed::new(engine);
    for (home, rule) in (1..).zip(rules(20)) {
        let quota = capped(rule, 7);
        let ask = |cost, mode| bed.ask(&plan(home, &[&quota], cost, mode));
        assert_eq!(ask(18, Mode::Charge).outcome, Outcome::Admitted { overage: 0 }, "{quota:?}");
        assert_eq!(ask(6, Mode::Charge).outcome, Outcome::Admitted { overage: 4 }, "{quota:?}");
        let refused = ask(4, Mode::Charge);
        assert!(matches!(refused.outcome, Outcome::Refused { by: 0, .. }), "{quota:?} {refused:?}");
        assert_eq!((refused.readings[0].used, refused.readings[0].overage), (24, 4), "{quota:?}");
        assert_eq!(ask(28, Mode::Charge).outcome, Outcome::NeverFits { by: 0 }, "{quota:?}");
        assert_eq!(ask(3, Mode::Charge).outcome, Outcome::Admitted { overage: 3 }, "{quota:?}");
        // What has happened already is counted all the same.
        assert_eq!(ask(5, Mode::Force).outcome, Outcome::Admitted { overage: 5 }, "{quota:?}");
        assert!(matches!(ask(1, Mode::Peek).outcome, Outcome::Refused { .. }), "{quota:?}");
    }
}
