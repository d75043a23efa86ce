//! Many who ask for one home at once, and those who do not wait for the answer.

use std::task::Poll;
use std::time::Duration;

use sluicegate_core::limit::Axis;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::Window;
use sluicegate_store::redis::{Away, HomesSettings, Settled};
use sluicegate_testkit::chaos;
use sluicegate_testkit::redis::Engine;
use sluicegate_testkit::wait;

use crate::bed::{PATIENT, limit, monthly, rate};
use crate::homes_bed::{HomesBed, is_admitted, is_refused, owed, plan};
use crate::on_each_engine;

on_each_engine!(many_who_ask_at_once_share_calls_and_are_counted_exactly, two_nodes_together_admit_exactly);

fn many_who_ask_at_once_share_calls_and_are_counted_exactly(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, PATIENT), plan(&[rate(1_000_000, 1_000_000), monthly(100)]));
    let before = homes.counters().calls.get();
    let asks = (0..500).map(|_| (homes.clone(), owed(&plan, 1, 1, Mode::Charge))).collect();
    assert_eq!(bed.admitted(asks), 100);
    let calls = homes.counters().calls.get() - before;
    assert!(calls < 100, "{calls} calls");
    assert!(homes.counters().coalesced.get() >= 100, "{:?}", homes.counters());
    assert_eq!(bed.used(&homes, &plan, 1), [0, 100]);
    assert_eq!((homes.counters().unknown.get(), homes.counters().undone.get()), (0, 0));
}

fn two_nodes_together_admit_exactly(engine: Engine) {
    let bed = HomesBed::new(engine);
    let nodes = [bed.node(1, PATIENT), bed.node(2, PATIENT)];
    let plan = plan(&[rate(1_000_000, 1_000_000), monthly(100)]);
    let asks = (0..1_000).map(|ask| (nodes[ask % 2].clone(), owed(&plan, 1, 1, Mode::Charge)));
    assert_eq!(bed.admitted(asks.collect()), 100);
    for node in &nodes {
        assert_eq!(bed.used(node, &plan, 1)[1], 100);
    }
}

#[test]
fn a_charge_whose_caller_went_away_is_undone() {
    let bed = HomesBed::new(Engine::Redis);
    let homes = bed.node(1, PATIENT);
    let plan = plan(&[monthly(1_000)]);
    assert!(is_admitted(&bed.settle(&homes, owed(&plan, 1, 3, Mode::Charge))));
    bed.proxy.set(chaos::Mode::Latency(Duration::from_millis(20)));
    bed.runtime.block_on(async {
        for home in [1, 1, 1, 2] {
            let mut asked = Box::pin(homes.settle(owed(&plan, home, 1, Mode::Charge)));
            // It is on its way, and nobody waits any more. The second and third have not even been sent.
            let polled = std::future::poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await;
            assert!(polled.is_pending());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert_eq!(bed.used(&homes, &plan, 1), [3]);
    assert_eq!(bed.used(&homes, &plan, 2), [0]);
    assert_eq!(homes.counters().undone.get(), 2);
}

#[test]
fn an_answer_that_came_but_was_not_looked_at_is_undone() {
    let bed = HomesBed::new(Engine::Redis);
    let (homes, plan) = (bed.node(1, PATIENT), plan(&[monthly(1_000)]));
    bed.runtime.block_on(async {
        let mut asked = Box::pin(homes.settle(owed(&plan, 1, 1, Mode::Charge)));
        let polled = std::future::poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await;
        assert!(polled.is_pending());
        while homes.active() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(asked);
    });
    assert_eq!(bed.used(&homes, &plan, 1), [0]);
    assert_eq!(homes.counters().undone.get(), 1);
}

#[test]
fn who_comes_under_another_policy_meanwhile_is_asked_in_a_call_of_its_own() {
    let bed = HomesBed::new(Engine::Redis);
    let homes = bed.node(1, PATIENT);
    let plans = [plan(&[monthly(90)]), plan(&[monthly(100)])];
    bed.proxy.set(chaos::Mode::Latency(Duration::from_millis(10)));
    let asks = (0..90).map(|ask| (homes.clone(), owed(&plans[ask % 2], 1, 1, Mode::Charge)));
    assert_eq!(bed.admitted(asks.collect()), 90);
    assert_eq!(bed.used(&homes, &plans[1], 1), [90]);
    assert!(homes.counters().calls.get() < 20, "{:?}", homes.counters());
}

#[test]
fn no_more_wait_than_may() {
    let bed = HomesBed::new(Engine::Redis);
    let settings =
        HomesSettings { deadline: PATIENT, batch_max: 2, waiting_max: 5, ..HomesSettings::default() };
    let (homes, plan) = (bed.node_with(1, settings), plan(&[monthly(1_000)]));
    bed.proxy.set(chaos::Mode::Latency(Duration::from_millis(30)));
    let asks: Vec<_> = (0..20).map(|_| (homes.clone(), owed(&plan, 1, 1, Mode::Charge))).collect();
    assert_eq!(bed.admitted(asks), 6);
    assert_eq!(bed.used(&homes, &plan, 1), [6]);
}

#[test]
fn who_is_known_to_be_over_is_refused_without_a_call() {
    let bed = HomesBed::new(Engine::Redis);
    let homes = bed.node(1, PATIENT);
    let windowed = |amount| Windowed { limit: Amount::new(amount).unwrap(), window: Window::DAY };
    let daily = |amount| plan(&[limit("quota", Axis::Quota, Rule::FixedWindow(windowed(amount)))]);
    let (ten, raised) = (daily(10), daily(11));
    let charged = bed.settle(&homes, owed(&ten, 1, 10, Mode::Charge)).unwrap();
    let refused = bed.settle(&homes, owed(&ten, 1, 1, Mode::Charge));
    assert!(is_refused(&refused));
    let (calls, locally) = (homes.counters().calls.get(), homes.counters().refused_locally.get());
    wait::pause(Duration::from_millis(3));
    let again = bed.settle(&homes, owed(&ten, 1, 1, Mode::Charge));
    assert!(is_refused(&again));
    assert_eq!((homes.counters().calls.get(), homes.counters().refused_locally.get()), (calls, locally + 1));
    assert!(wait_of(&again) < wait_of(&refused));
    assert_eq!(again.unwrap().readings[0].used, 10);
    // A limit that was raised is never refused from what is known of the old one.
    assert!(is_admitted(&bed.settle(&homes, owed(&raised, 1, 1, Mode::Charge))));
    assert!(is_refused(&bed.settle(&homes, owed(&ten, 1, 1, Mode::Charge))));
    // What is given back is there at once.
    let back = Mode::Refund { charged_at: charged.now, reserved: Amount::new(10).unwrap() };
    assert!(is_admitted(&bed.settle(&homes, owed(&ten, 1, 10, back))));
    assert!(is_admitted(&bed.settle(&homes, owed(&ten, 1, 1, Mode::Charge))));
}

/// How long a refusal says to wait; nothing if it is none.
fn wait_of(settled: &Result<Settled, Away>) -> Option<u64> {
    match settled.as_ref().unwrap().outcome {
        Outcome::Refused { retry_after, .. } => Some(retry_after.0),
        _ => None,
    }
}

#[test]
fn a_node_whose_numbers_were_used_before_catches_up() {
    let bed = HomesBed::new(Engine::Redis);
    let plan = plan(&[monthly(1_000)]);
    let before = bed.node(1, PATIENT);
    for _ in 0..50 {
        assert!(is_admitted(&bed.settle(&before, owed(&plan, 1, 1, Mode::Charge))));
    }
    let restarted = bed.node(1, PATIENT);
    assert!(matches!(bed.settle(&restarted, owed(&plan, 1, 1, Mode::Charge)), Err(Away::Refused(_))));
    assert!(is_admitted(&bed.settle(&restarted, owed(&plan, 1, 1, Mode::Charge))));
    assert_eq!(bed.used(&restarted, &plan, 1), [51]);
}
