//! Overage that is billed up to a cap, by many connections at once.

use sluicegate_core::limit::{Axis, Excess, Limit, OverageCap, RefusalStatus};
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::Window;
use sluicegate_store::redis::{NodeId, Seq};
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, PATIENT, ask_as, limit, monthly, plan};
use crate::on_each_engine;

on_each_engine!(
    sixteen_nodes_get_exactly_the_quota_and_its_overage,
    a_cost_that_crosses_the_cap_is_refused_as_a_whole,
);

fn capped(rule: Rule, cap: u64) -> Limit {
    let cap = OverageCap { amount: Amount::new(cap).unwrap(), status: RefusalStatus::PaymentRequired };
    Limit { excess: Excess::BillUpTo(cap), ..limit("quota", Axis::Quota, rule) }
}

/// A quota of so much in every window that overage can be billed for.
fn rules(amount: u64) -> [Rule; 4] {
    let windowed = Windowed { limit: Amount::new(amount).unwrap(), window: Window::DAY };
    [
        monthly(amount).rule,
        Rule::FixedWindow(windowed),
        Rule::SlidingWindow(windowed),
        Rule::SlidingBuckets(windowed),
    ]
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
