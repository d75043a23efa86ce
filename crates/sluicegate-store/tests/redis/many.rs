//! Homes with many meters: an account whose keys have limits of their own.

use std::num::NonZeroU32;

use sluicegate_core::book::LimitId;
use sluicegate_core::limit::{Axis, Excess, Limit};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_testkit::redis::{Engine, Reply};

use crate::bed::{Bed, limit, monthly, rate};
use crate::on_each_engine;

on_each_engine!(
    every_one_of_twenty_thousand_keys_has_meters_of_its_own,
    idle_meters_are_evicted_over_time,
    a_home_of_version_2_with_many_meters_is_moved,
    a_call_is_done_once_and_resolved_among_many_meters,
    a_quota_that_is_edited_is_carried_over_among_many_meters,
    overage_is_set_right_among_many_meters,
    periods_that_have_not_begun_are_forgotten_in_every_home,
    what_many_meters_write_expires,
    a_deleted_hash_counts_as_empty,
    a_decision_costs_about_the_same_with_twenty_thousand_keys,
);

const HOME: &str = "sg1:{00000000000000000000000000000001}";
const HASH: &str = "sg1:{00000000000000000000000000000001}:m";
const START: Timestamp = Timestamp::from_secs(1_790_000_000);

/// What a key owes to its own rate and its own quota.
fn plan_of<'p>(limits: [&'p Limit; 2], key: u32, mode: Mode) -> ChargePlan<'p> {
    let mut plan = ChargePlan::new(HomeId(1), START, mode, SlotId(0));
    let sharer = Sharer::key(NonZeroU32::new(key).unwrap());
    for limit in limits {
        let (id, cost, due) = (LimitId::from_number(0), Amount::ONE, Due::Admission);
        plan.add(Charge { limit, id, sharer, cost, period: None, due });
    }
    plan
}

/// Asks for keys, 100 in one call, and gives what is used of the quota of each.
fn ask_all(bed: &Bed, limits: [&Limit; 2], keys: std::ops::RangeInclusive<u32>, now: Timestamp) -> Vec<u64> {
    let keys: Vec<u32> = keys.collect();
    let mut used = Vec::new();
    for keys in keys.chunks(100) {
        let plans: Vec<_> = keys.iter().map(|key| plan_of(limits, *key, Mode::Charge)).collect();
        let settled = bed.call_as(bed.seq(), HomeId(1), &plans, Some(now)).unwrap();
        used.extend(settled.iter().map(|settled| settled.readings[1].used));
    }
    used
}

fn ask(bed: &Bed, limits: [&Limit; 2], key: u32) -> (u64, u64) {
    let plan = plan_of(limits, key, Mode::Charge);
    let settled = bed.call_as(bed.seq(), HomeId(1), &[plan], Some(START)).unwrap().remove(0);
    let Outcome::Admitted { overage } = settled.outcome else { panic!("{settled:?}") };
    (overage, settled.readings[1].used)
}

fn fields(bed: &Bed) -> u64 {
    bed.server.ask(&["HLEN", HASH]).text().parse().unwrap()
}

fn every_one_of_twenty_thousand_keys_has_meters_of_its_own(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(100, 100), monthly(3));
    for round in 1..=2 {
        let used = ask_all(&bed, [&rate, &quota], 1..=20_000, START);
        assert!(used.iter().all(|used| *used == round), "in round {round}");
    }
    assert_eq!(fields(&bed), 40_001);
    // One after the other, by the common call.
    for key in [1, 1_300, 2_500, 20_000] {
        assert_eq!(ask(&bed, [&rate, &quota], key), (0, 3));
        let plan = plan_of([&rate, &quota], key, Mode::Charge);
        let refused = bed.call_as(bed.seq(), HomeId(1), &[plan], Some(START)).unwrap().remove(0);
        assert!(
            matches!(refused.outcome, Outcome::Refused { .. } | Outcome::NeverFits { .. }),
            "{refused:?}"
        );
    }
}

fn idle_meters_are_evicted_over_time(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(1, 10), monthly(1_000));
    ask_all(&bed, [&rate, &quota], 1..=300, START);
    assert_eq!(fields(&bed), 601);
    // In the next month, and after what was used before is not corrected any more.
    let later = START.plus(Nanos::from_secs(40 * 86_400));
    for key in 301..=600 {
        ask_all(&bed, [&rate, &quota], key..=key, later);
    }
    let left = fields(&bed);
    assert!((600..700).contains(&left), "{left}");
    assert_eq!(ask_all(&bed, [&rate, &quota], 301..=600, later), [2; 300]);
}

/// The bytes that versions before wrote, however many meters there were: all of them in the home.
fn as_version_2(bed: &Bed) -> Vec<u8> {
    let (mut shape, mut numbers, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    for pair in bed.server.ask(&["HGETALL", HASH]).list().chunks(2) {
        let [Reply::Bytes(field), Reply::Bytes(row)] = pair else { panic!("{pair:?}") };
        if field.len() == 9 {
            nodes.extend([&field[1..], row].concat());
            continue;
        }
        let size = usize::from(row[0]);
        shape.extend(field);
        shape.extend(u16::try_from(numbers.len() / 8).unwrap().to_le_bytes());
        shape.extend(&row[..=size]);
        numbers.extend(&row[1 + size..]);
    }
    let Reply::Bytes(home) = bed.server.ask(&["GET", HOME]) else { panic!("there is a home") };
    let mut old = vec![2];
    old.extend(u16::try_from(shape.len()).unwrap().to_le_bytes());
    old.extend(u16::try_from(numbers.len() / 8).unwrap().to_le_bytes());
    [old, shape, home[5..13].to_vec(), numbers, nodes].concat()
}

fn a_home_of_version_2_with_many_meters_is_moved(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(100, 100), monthly(1_000));
    let seq = bed.seq();
    let last = [plan_of([&rate, &quota], 1, Mode::Charge)];
    for round in 1..=2 {
        assert_eq!(ask_all(&bed, [&rate, &quota], 1..=500, START), [2 * round - 1; 500]);
        let old = as_version_2(&bed);
        assert!(old.len() > 500 * 60);
        bed.server.ask(&["DEL", HASH]);
        bed.server.ask(&[&b"SET"[..], HOME.as_bytes(), &old, b"KEEPTTL"]);
        assert_eq!(ask(&bed, [&rate, &quota], 77), (0, 2 * round));
        let home = bed.server.ask(&["GETRANGE", HOME, "0", "0"]);
        assert_eq!((home, fields(&bed)), (Reply::Bytes(vec![3]), 1_001));
        // What the node did before is known: this number is past.
        assert!(bed.call_as(seq, HomeId(1), &last, Some(START)).is_err());
        assert_eq!(ask_all(&bed, [&rate, &quota], 1..=76, START), [2 * round; 76]);
        assert_eq!(ask_all(&bed, [&rate, &quota], 78..=500, START), [2 * round; 423]);
    }
}

fn a_call_is_done_once_and_resolved_among_many_meters(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(100, 100), monthly(1_000));
    ask_all(&bed, [&rate, &quota], 1..=50, START);
    let plan = [plan_of([&rate, &quota], 7, Mode::Charge)];
    let seq = bed.seq();
    for _ in 0..3 {
        let settled = bed.call_as(seq, HomeId(1), &plan, Some(START)).unwrap();
        assert_eq!(settled[0].readings[1].used, 2);
    }
    let fates = bed.fates(HomeId(1), seq, bed.seq()).unwrap();
    assert_eq!(fates.len(), 1, "{fates:?}");
    let (never, fence) = (bed.seq(), bed.seq());
    assert_eq!(bed.fates(HomeId(1), never, fence).unwrap(), []);
    assert!(bed.call_as(never, HomeId(1), &plan, Some(START)).is_err(), "behind the fence");
    assert_eq!(ask(&bed, [&rate, &quota], 7), (0, 3));
}

fn a_quota_that_is_edited_is_carried_over_among_many_meters(engine: Engine) {
    let (bed, rate) = (Bed::new(engine), rate(100, 100));
    let (small, large) = (monthly(10), Limit { excess: Excess::BillOverage, ..monthly(2) });
    ask_all(&bed, [&rate, &small], 1..=50, START);
    ask_all(&bed, [&rate, &small], 1..=50, START);
    assert_eq!(ask(&bed, [&rate, &large], 9), (1, 3));
    assert_eq!(ask(&bed, [&rate, &small], 8), (0, 3), "another key has the limit as before");
    assert_eq!(ask_all(&bed, [&rate, &large], 1..=50, START)[7..10], [4, 4, 3]);
}

fn overage_is_set_right_among_many_meters(engine: Engine) {
    let (bed, rate) = (Bed::new(engine), rate(100, 100));
    let quota = Limit { excess: Excess::BillOverage, ..monthly(1) };
    let reading = |key| bed.ask(&plan_of([&rate, &quota], key, Mode::Charge)).readings[1];
    for _ in 0..2 {
        (1..=30).for_each(|key| assert!(reading(key).used > 0));
    }
    assert!(fields(&bed) > 60);
    let plan = plan_of([&rate, &quota], 5, Mode::Peek);
    bed.runtime.block_on(bed.meters.set_overage(&plan, 7)).unwrap();
    let (set, other) = (reading(5), reading(6));
    assert_eq!(((set.used, set.overage), (other.used, other.overage)), ((3, 8), (3, 2)));
}

fn periods_that_have_not_begun_are_forgotten_in_every_home(engine: Engine) {
    let (bed, quota) = (Bed::new(engine), monthly(1_000));
    let windowed = Windowed { limit: Amount::new(1_000).unwrap(), window: Window::DAY };
    let day = limit("day", Axis::Quota, Rule::FixedWindow(windowed));
    let ahead = START.plus(Nanos::from_secs(3_600 * 24 * 400));
    let latest = START.plus(Nanos::from_secs(3_600));
    for keys in [1, 100] {
        ask_all(&bed, [&day, &quota], 1..=keys, ahead);
        assert_eq!(ask(&bed, [&day, &quota], 1), (0, 2), "the later window goes on");
        let plan = plan_of([&day, &quota], 1, Mode::Peek);
        for _ in 0..2 {
            bed.runtime.block_on(bed.meters.forget_ahead_of(&plan, latest)).unwrap();
        }
        assert_eq!(ask(&bed, [&day, &quota], 1), (0, 1), "{keys} keys");
        bed.runtime.block_on(bed.meters.forget_ahead_of(&plan, latest)).unwrap();
        assert_eq!(ask(&bed, [&day, &quota], 1), (0, 2), "what is used now stays");
        bed.server.ask(&["FLUSHALL"]);
    }
}

fn what_many_meters_write_expires(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(100, 100), monthly(1_000));
    let now = bed.ask(&plan_of([&rate, &quota], 1, Mode::Charge)).now;
    ask_all(&bed, [&rate, &quota], 1..=50, now);
    let lives = |key: &str| bed.server.ask(&["PTTL", key]).text().parse::<i64>().unwrap();
    for (what, key) in [("home", HOME), ("hash", HASH)] {
        let days = lives(key) / 86_400_000;
        assert!((1..=34).contains(&days), "the {what} lives for {days} days");
    }
    assert!((lives(HOME) - lives(HASH)).abs() < 1_000);
}

fn a_deleted_hash_counts_as_empty(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(100, 100), monthly(1_000));
    ask_all(&bed, [&rate, &quota], 1..=50, START);
    bed.server.ask(&["DEL", HASH]);
    assert_eq!(ask(&bed, [&rate, &quota], 5), (0, 1));
    assert!(bed.server.ask(&["PTTL", HASH]).text().parse::<i64>().unwrap() > 0);
}

/// Microseconds that the server itself has worked so far.
fn worked(bed: &Bed) -> u64 {
    let info = bed.server.ask(&["INFO", "commandstats"]).text();
    let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:")).unwrap();
    line.split(',').find_map(|part| part.strip_prefix("usec=")).unwrap().parse().unwrap()
}

/// What scripts take of the server for each of 4,000 decisions, one by one, in nanoseconds.
fn cost(bed: &Bed, limits: [&Limit; 2], key: impl Fn(u32) -> u32) -> u64 {
    const DECISIONS: u32 = 4_000;
    let before = worked(bed);
    for turn in 0..DECISIONS {
        ask(bed, limits, key(turn));
    }
    (worked(bed) - before) * 1_000 / u64::from(DECISIONS)
}

fn a_decision_costs_about_the_same_with_twenty_thousand_keys(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(100_000, 100_000), monthly(1_000_000));
    let limits = [&rate, &quota];
    ask(&bed, limits, 1);
    let one = cost(&bed, limits, |_| 1);
    ask_all(&bed, limits, 1..=200, START);
    let some = cost(&bed, limits, |turn| 1 + turn % 200);
    ask_all(&bed, limits, 1..=20_000, START);
    let many = cost(&bed, limits, |turn| 1 + turn * 7 % 20_000);
    println!("nanoseconds of scripts: 1 key {one}, 200 keys {some}, 20,000 keys {many}");
    assert!(many < 3 * one && many < 2 * some, "1 key {one}, 200 keys {some}, 20,000 keys {many}");
}
