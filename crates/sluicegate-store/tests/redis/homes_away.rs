//! A store that goes away: nobody waits longer than the deadline, and afterwards the books balance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sluicegate_core::limit::Axis;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Window;
use sluicegate_store::redis::{Away, Homes, StoreMode};
use sluicegate_testkit::chaos;
use sluicegate_testkit::redis::Engine;
use sluicegate_testkit::wait;
use tokio::time::{Instant, sleep};

use crate::bed::{limit, monthly, rate};
use crate::homes_bed::{DEADLINE, HomesBed, is_admitted, owed, plan};
use crate::on_each_engine;

const HOMES: u128 = 5;
/// By how much an answer may be later than the deadline.
const LATE_MAX: Duration = Duration::from_millis(20);

on_each_engine!(
    a_charge_whose_answer_was_lost_is_undone,
    a_charge_to_a_log_whose_answer_was_lost_is_undone_at_its_very_instant,
    what_was_given_back_in_doubt_can_be_given_back_again,
    a_server_that_stands_still_costs_nobody_more_than_the_deadline,
    a_server_that_is_killed_and_comes_back_has_what_was_admitted,
);

fn quota() -> Arc<Plan> {
    plan(&[rate(1_000_000, 1_000_000), monthly(1_000_000)])
}

fn a_charge_whose_answer_was_lost_is_undone(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), quota());
    wait::until("a charge", || bed.settle(&homes, owed(&plan, 1, 3, Mode::Charge)).ok());
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, owed(&plan, 1, 1, Mode::Charge)), Err(Away::InDoubt));
    let stored = bed.server.info("db0");
    assert!(!stored.is_empty());
    // Whoever comes next is told at once; of a few, one at least finds the machine idle.
    let quickest = (0..5).map(|_| {
        let start = Instant::now();
        assert!(bed.settle(&homes, owed(&plan, 1, 1, Mode::Charge)).is_err());
        start.elapsed()
    });
    assert!(quickest.min().is_some_and(|quickest| quickest < DEADLINE));
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&homes, &plan, 1)[1], 3);
    let counters = homes.counters();
    assert_eq!((counters.resolved.get() >= 1, counters.undone.get() >= 1), (true, true), "{counters:?}");
}

fn a_charge_to_a_log_whose_answer_was_lost_is_undone_at_its_very_instant(engine: Engine) {
    let bed = HomesBed::new(engine);
    let day = Windowed { limit: Amount::new(1_000).unwrap(), window: Window::DAY };
    let log = limit("log", Axis::Quota, Rule::SlidingLog(day));
    let (homes, plan) = (bed.node(1, DEADLINE), plan(&[log]));
    wait::until("a charge", || bed.settle(&homes, owed(&plan, 1, 3, Mode::Charge)).ok());
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, owed(&plan, 1, 5, Mode::Charge)), Err(Away::InDoubt));
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&homes, &plan, 1), [3]);
}

fn what_was_given_back_in_doubt_can_be_given_back_again(engine: Engine) {
    let bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), quota());
    let charged = wait::until("a charge", || bed.settle(&homes, owed(&plan, 1, 10, Mode::Charge)).ok());
    let back = owed(&plan, 1, 4, Mode::Refund { charged_at: charged.now, reserved: Amount::new(4).unwrap() });
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, back.clone()), Err(Away::InDoubt));
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&homes, &plan, 1)[1], 10, "who was told that it was not given back must be right");
    wait::until("it is given back", || bed.settle(&homes, back.clone()).ok());
    assert_eq!(bed.used(&homes, &plan, 1)[1], 6);
}

/// What some callers saw who asked all the time.
#[derive(Default)]
struct Seen {
    admitted: [AtomicU64; HOMES as usize],
    away: AtomicU64,
    slowest_micros: AtomicU64,
    /// By how much the machine itself is late: other programs run on it.
    lag_micros: AtomicU64,
    over: AtomicBool,
}

impl Seen {
    fn note(slowest: &AtomicU64, took: Duration) {
        slowest.fetch_max(u64::try_from(took.as_micros()).unwrap(), Ordering::Relaxed);
    }

    fn assert_nobody_waited_long(&self) {
        let micros = |of: &AtomicU64| Duration::from_micros(of.load(Ordering::Relaxed));
        let (slowest, lag) = (micros(&self.slowest_micros), micros(&self.lag_micros));
        assert!(slowest <= DEADLINE + LATE_MAX + lag, "{slowest:?}, of which {lag:?} may be the machine's");
    }

    fn admitted(&self, home: usize) -> u64 {
        self.admitted[home].load(Ordering::Relaxed)
    }

    fn total(&self) -> u64 {
        (0..HOMES as usize).map(|home| self.admitted(home)).sum()
    }
}

/// Callers that ask until it is over; every second one for the first home.
fn load(bed: &HomesBed, homes: &Homes, plan: &Arc<Plan>) -> Arc<Seen> {
    let seen = Arc::new(Seen::default());
    for caller in 0..16_u128 {
        let (homes, plan, seen) = (homes.clone(), Arc::clone(plan), Arc::clone(&seen));
        let home = if caller % 2 == 0 { 0 } else { caller / 2 % HOMES };
        bed.runtime.spawn(async move {
            while !seen.over.load(Ordering::Relaxed) {
                let start = Instant::now();
                let settled = homes.settle(owed(&plan, home, 1, Mode::Charge)).await;
                Seen::note(&seen.slowest_micros, start.elapsed());
                if is_admitted(&settled) {
                    seen.admitted[usize::try_from(home).unwrap()].fetch_add(1, Ordering::Relaxed);
                } else {
                    seen.away.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
    let seen_too = Arc::clone(&seen);
    bed.runtime.spawn(async move {
        while !seen_too.over.load(Ordering::Relaxed) {
            let start = Instant::now();
            sleep(Duration::from_millis(5)).await;
            Seen::note(&seen_too.lag_micros, start.elapsed().saturating_sub(Duration::from_millis(7)));
        }
    });
    seen
}

fn assert_books_balance(bed: &HomesBed, homes: &Homes, plan: &Arc<Plan>, seen: &Seen) {
    for home in 0..HOMES {
        let used = bed.used(homes, plan, home)[1];
        assert_eq!(
            used,
            seen.admitted(usize::try_from(home).unwrap()),
            "home {home}, {:?}",
            homes.counters()
        );
    }
    wait::until("nobody is asked for", || (homes.active() == 0).then_some(()));
}

fn a_server_that_stands_still_costs_nobody_more_than_the_deadline(engine: Engine) {
    let mut bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), quota());
    let seen = load(&bed, &homes, &plan);
    wait::until("it runs", || (seen.total() > 500).then_some(()));
    bed.server.pause();
    wait::pause(Duration::from_millis(300));
    let away = seen.away.load(Ordering::Relaxed);
    bed.server.resume();
    let before = seen.total();
    wait::within(Duration::from_secs(20), "it runs again", || (seen.total() > before + 200).then_some(()));
    seen.over.store(true, Ordering::Relaxed);
    assert!(away > 0);
    seen.assert_nobody_waited_long();
    assert_books_balance(&bed, &homes, &plan, &seen);
}

fn a_server_that_is_killed_and_comes_back_has_what_was_admitted(engine: Engine) {
    let mut bed = HomesBed::new(engine);
    let (homes, plan) = (bed.node(1, DEADLINE), quota());
    let seen = load(&bed, &homes, &plan);
    wait::until("it runs", || (seen.total() > 500).then_some(()));
    bed.server.kill();
    wait::until("the breaker opens", || (homes.mode() == StoreMode::Degraded).then_some(()));
    assert_eq!(bed.settle(&homes, owed(&plan, 77, 1, Mode::Charge)), Err(Away::Down));
    bed.server.restart();
    let before = seen.total();
    wait::within(Duration::from_secs(20), "it runs again", || (seen.total() > before + 200).then_some(()));
    seen.over.store(true, Ordering::Relaxed);
    seen.assert_nobody_waited_long();
    assert_books_balance(&bed, &homes, &plan, &seen);
}

#[test]
fn a_server_that_refuses_is_left_alone_until_it_takes_writes_again() {
    let bed = HomesBed::new(Engine::Redis);
    let (homes, plan) = (bed.node(1, DEADLINE), quota());
    wait::until("a charge", || bed.settle(&homes, owed(&plan, 1, 3, Mode::Charge)).ok());
    bed.server.ask(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let refused = bed.settle(&homes, owed(&plan, 1, 1, Mode::Charge));
    assert!(matches!(&refused, Err(Away::Refused(why)) if why.contains("NOREPLICAS")), "{refused:?}");
    wait::until("the breaker opens", || {
        (bed.settle(&homes, owed(&plan, 1, 1, Mode::Charge)) == Err(Away::Down)).then_some(())
    });
    wait::pause(Duration::from_millis(700));
    assert_eq!(homes.mode(), StoreMode::Degraded, "probes are writes");
    bed.server.ask(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert_eq!(bed.used(&homes, &plan, 1)[1], 3);
    assert_eq!(homes.counters().opened.get(), 1);
}

#[test]
fn a_home_whose_doubt_nobody_can_resolve_any_more_goes_on() {
    let bed = HomesBed::new(Engine::Redis);
    let (homes, plan) = (bed.node(1, DEADLINE), quota());
    // The numbers of this one are always ahead.
    let namesake = bed.node(1, DEADLINE);
    for home in 0..100 {
        wait::until("a charge", || bed.settle(&namesake, owed(&plan, 1_000 + home, 1, Mode::Charge)).ok());
    }
    bed.proxy.set(chaos::Mode::HalfCut);
    assert_eq!(bed.settle(&homes, owed(&plan, 1, 1, Mode::Charge)), Err(Away::InDoubt));
    assert_eq!(bed.settle(&namesake, owed(&plan, 1, 1, Mode::Charge)), Err(Away::InDoubt));
    bed.proxy.set(chaos::Mode::Pass);
    assert!(bed.used(&namesake, &plan, 1)[1] <= 1);
    assert!(bed.used(&homes, &plan, 1)[1] <= 1, "it may have stayed, but only once");
}
