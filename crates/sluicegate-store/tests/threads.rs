//! Many threads on one table: nothing admitted too often, nothing counted twice, nothing lost while arrays
//! are replaced.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::num::NonZeroU32;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::calendar::{Calendar, CalendarUnit};
use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, OverageCap, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, LEASE_DEFAULT, Rule, TokenBucket, Windowed};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_store::meters::MeterTable;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
const THREADS: u64 = 64;

fn limit(name: &str, axis: Axis, rule: Rule) -> Limit {
    let name = LimitName::new(name).unwrap();
    Limit {
        name,
        axis,
        per: Per::Account,
        rule,
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
        sold: None,
    }
}

fn quota(amount: u64) -> Limit {
    let calendar = Calendar::utc(CalendarUnit::Month);
    limit("quota", Axis::Quota, Rule::Calendar { limit: Amount::new(amount).unwrap(), calendar })
}

fn rate(amount: u64) -> Limit {
    limit("rate", Axis::Rate, Rule::TokenBucket(TokenBucket::new(amount, Window::SECOND, amount).unwrap()))
}

fn ask(table: &MeterTable, home: u128, limits: &[Limit], mode: Mode, slot: u64) -> Outcome {
    let mut plan = ChargePlan::new(HomeId(home), NOW, mode, SlotId(slot));
    for limit in limits {
        let sharer = if limit.axis == Axis::Rate { Sharer::key(NonZeroU32::MIN) } else { Sharer::ALL };
        let (id, cost, due) = (table.enter(limit), Amount::ONE, Due::Admission);
        plan.add(Charge { limit, id, sharer, cost, period: None, due });
    }
    table.settle(&plan, &mut Readings::new())
}

/// Spreads small numbers over all bits, as the hash does with names.
fn spread(number: u64) -> u128 {
    u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

fn in_threads(work: impl Fn(u64) + Sync) {
    let barrier = Barrier::new(usize::try_from(THREADS).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
            });
        }
    });
}

#[test]
fn sixty_four_threads_on_one_home_with_a_quota_of_100_admit_exactly_100() {
    let (table, admitted) = (MeterTable::new(), AtomicU64::new(0));
    let limits = [rate(1_000_000), quota(100)];
    in_threads(|_| {
        for _ in 0..50 {
            if let Outcome::Admitted { .. } = ask(&table, spread(1), &limits, Mode::Charge, 0) {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!(admitted.into_inner(), 100);
}

#[test]
fn sixty_four_threads_get_exactly_the_quota_and_its_overage_and_not_one_unit_more() {
    let windowed = Windowed { limit: Amount::new(100).unwrap(), window: Window::DAY };
    for rule in [quota(100).rule, Rule::FixedWindow(windowed)] {
        let (table, admitted, billed) = (MeterTable::new(), AtomicU64::new(0), AtomicU64::new(0));
        let cap = OverageCap { amount: Amount::new(37).unwrap(), status: RefusalStatus::PaymentRequired };
        let limits =
            [rate(1_000_000), Limit { excess: Excess::BillUpTo(cap), ..limit("quota", Axis::Quota, rule) }];
        in_threads(|_| {
            for _ in 0..50 {
                if let Outcome::Admitted { overage } = ask(&table, spread(1), &limits, Mode::Charge, 0) {
                    admitted.fetch_add(1, Ordering::Relaxed);
                    billed.fetch_add(overage, Ordering::Relaxed);
                }
            }
        });
        assert_eq!((admitted.into_inner(), billed.into_inner()), (137, 37), "{limits:?}");
        assert_eq!(used(&table, spread(1), &limits[1]), 137);
    }
}

#[test]
fn a_refused_request_takes_nothing_from_any_limit_under_contention() {
    let table = MeterTable::new();
    let limits = [rate(500), quota(100)];
    in_threads(|_| {
        for _ in 0..50 {
            ask(&table, spread(1), &limits, Mode::Charge, 0);
        }
    });
    // 3,200 requests, 100 admitted by the quota: the rate limit has lost those 100 and not one more.
    for _ in 0..400 {
        assert!(matches!(ask(&table, spread(1), &limits[..1], Mode::Charge, 0), Outcome::Admitted { .. }));
    }
    assert!(matches!(ask(&table, spread(1), &limits[..1], Mode::Charge, 0), Outcome::Refused { by: 0, .. }));
}

#[test]
fn homes_keep_their_meters_while_their_arrays_are_replaced() {
    const HOMES: u64 = 20_000;
    let (table, admitted) = (MeterTable::new(), AtomicU64::new(0));
    let limits = [rate(1_000_000), quota(7)];
    in_threads(|thread| {
        for turn in 0..HOMES / 4 {
            // Every home is asked for by sixteen threads, in another order by each.
            let home = (turn * 4 + thread % 4 + thread * 976) % HOMES;
            if let Outcome::Admitted { .. } = ask(&table, spread(home), &limits, Mode::Charge, 0) {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
            if turn % 1_000 == thread {
                table.sweep(NOW);
            }
        }
    });
    let counted: u64 = (0..HOMES).map(|home| used(&table, spread(home), &limits[1])).sum();
    assert_eq!(counted, admitted.into_inner());
    assert!((0..HOMES).all(|home| used(&table, spread(home), &limits[1]) <= 7));
}

#[test]
fn edits_sweeps_and_requests_go_on_beside_each_other() {
    let (table, admitted) = (MeterTable::new(), AtomicU64::new(0));
    in_threads(|thread| {
        for turn in 0..300 {
            // Each thread has edited the rate limit once more, so homes are carried over while others sweep.
            let limits = [rate(1_000_000 + thread * 1_000 + turn), quota(1_000_000)];
            if let Outcome::Admitted { .. } = ask(&table, spread(turn % 10), &limits, Mode::Charge, 0) {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
            if turn % 20 == 0 {
                table.sweep(NOW);
            }
        }
    });
    let counted: u64 = (0..10).map(|home| used(&table, spread(home), &quota(1_000_000))).sum();
    assert_eq!((counted, admitted.into_inner()), (THREADS * 300, THREADS * 300));
}

#[test]
fn slots_taken_by_many_threads_are_exactly_as_many_as_the_limit() {
    let table = MeterTable::new();
    let five = Rule::Concurrency { limit: Amount::new(5).unwrap(), lease: LEASE_DEFAULT };
    let limits = [limit("concurrency", Axis::Concurrency, five)];
    for round in 0..20 {
        let taken = std::sync::Mutex::new(Vec::new());
        in_threads(|thread| {
            let slot = round * THREADS + thread;
            if let Outcome::Admitted { .. } = ask(&table, spread(1), &limits, Mode::Charge, slot) {
                taken.lock().unwrap().push(slot);
            }
        });
        let taken = taken.into_inner().unwrap();
        assert_eq!(taken.len(), 5);
        for slot in taken {
            ask(&table, spread(1), &limits, Mode::Refund { charged_at: NOW, reserved: Amount::ONE }, slot);
        }
        assert_eq!(used(&table, spread(1), &limits[0]), 0);
    }
}

#[test]
fn newcomers_are_kept_while_a_table_that_emptied_shrinks() {
    let (table, limits) = (MeterTable::new(), [rate(10)]);
    let later = NOW.plus(Nanos::from_secs(60));
    for round in 0..5 {
        for home in 0..20_000 {
            ask(&table, spread(round * 1_000_000 + home), &limits, Mode::Charge, 0);
        }
        // Everybody has refilled by then; the sweeps make the arrays small again while sixty-three threads
        // bring new homes.
        in_threads(|thread| {
            if thread == 0 {
                table.sweep(later);
                table.sweep(later);
                return;
            }
            for turn in 0..100 {
                let home = spread(round * 1_000_000 + 500_000 + thread * 1_000 + turn);
                ask(&table, home, &[quota(10)], Mode::Charge, 0);
            }
        });
        for (thread, turn) in (1..THREADS).flat_map(|thread| (0..100).map(move |turn| (thread, turn))) {
            let home = spread(round * 1_000_000 + 500_000 + thread * 1_000 + turn);
            assert_eq!(used(&table, home, &quota(10)), 1);
        }
    }
}

#[test]
fn large_arrays_lose_nothing_while_their_homes_move_one_by_one() {
    const HOMES: u64 = 150_000;
    let (table, admitted) = (MeterTable::new(), AtomicU64::new(0));
    let later = NOW.plus(Nanos::from_secs(60));
    for home in 0..HOMES {
        // Of every home that stays, another is idle by the time of the sweeps.
        ask(&table, spread(home), &[quota(1_000)], Mode::Charge, 0);
        ask(&table, spread(HOMES + home), &[rate(10)], Mode::Charge, 0);
    }
    in_threads(|thread| {
        if thread == 0 {
            for _ in 0..3 {
                table.sweep(later);
            }
            return;
        }
        for turn in 0..6_000 {
            // Those that stay, each by two threads or three, and newcomers.
            let home = (turn * THREADS + thread) * 7 % (HOMES + HOMES / 4);
            let home = if home < HOMES { home } else { home + HOMES };
            if let Outcome::Admitted { .. } = ask(&table, spread(home), &[quota(1_000)], Mode::Charge, 0) {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let homes = (0..HOMES).chain(2 * HOMES..3 * HOMES);
    let counted: u64 = homes.map(|home| used(&table, spread(home), &quota(1_000))).sum();
    assert_eq!(counted, admitted.into_inner() + HOMES);
    let swept = table.sweep(later);
    assert_eq!((swept.kept, swept.forgotten), (table.homes(), 0));
    assert!((HOMES..2 * HOMES).all(|home| !table.has(HomeId(spread(home)))));
}

#[test]
fn a_sweep_forgets_what_says_nothing_any_more() {
    let table = MeterTable::new();
    for home in 0..1_000 {
        ask(&table, spread(home), &[rate(10)], Mode::Charge, 0);
        ask(&table, spread(home + 1_000), &[rate(10), quota(10)], Mode::Charge, 0);
    }
    assert_eq!(table.homes(), 2_000);
    let bytes = table.bytes();
    let later = NOW.plus(Nanos::from_secs(60));
    let swept = table.sweep(later);
    assert_eq!((swept.forgotten, swept.kept), (1_000, 1_000));
    assert!(table.bytes() < bytes);
    assert!((1_000..2_000).all(|home| used(&table, spread(home), &quota(10)) == 1));
}

#[test]
fn a_peek_at_a_stranger_makes_nobody_a_home() {
    let table = MeterTable::new();
    assert!(matches!(ask(&table, 1, &[rate(1)], Mode::Peek, 0), Outcome::Admitted { .. }));
    ask(&table, 1, &[rate(1)], Mode::Refund { charged_at: NOW, reserved: Amount::ONE }, 0);
    assert_eq!(table.homes(), 0);
}

fn used(table: &MeterTable, home: u128, limit: &Limit) -> u64 {
    let mut plan = ChargePlan::new(HomeId(home), NOW, Mode::Peek, SlotId(0));
    let (id, cost, due) = (table.enter(limit), Amount::ONE, Due::Admission);
    plan.add(Charge { limit, id, sharer: Sharer::ALL, cost, period: None, due });
    let mut readings = Readings::new();
    table.settle(&plan, &mut readings);
    readings[0].used
}
