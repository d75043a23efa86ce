//! What a home is written as, how it is put back, and who is told of a settlement.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate_core::image::BadImage;
use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::plan::{Charge, ChargePlan, Due, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, LEASE_DEFAULT, Rule, TokenBucket, Windowed};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_store::meters::MeterTable;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
const HOME: HomeId = HomeId(1 << 100 | 7);

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

fn rate() -> Limit {
    limit("rate", Axis::Rate, Rule::TokenBucket(TokenBucket::new(10, Window::SECOND, 20).unwrap()))
}

fn quota() -> Limit {
    let rule = Windowed { limit: Amount::new(1_000_000).unwrap(), window: Window::DAY };
    limit("quota", Axis::Quota, Rule::SlidingBuckets(rule))
}

fn slots() -> Limit {
    limit("slots", Axis::Concurrency, Rule::Concurrency { limit: Amount::ONE, lease: LEASE_DEFAULT })
}

fn plan<'l>(table: &MeterTable, home: HomeId, limits: &'l [Limit], mode: Mode) -> ChargePlan<'l> {
    let mut plan = ChargePlan::new(home, NOW, mode, SlotId(0));
    for limit in limits {
        let sharer = if limit.axis == Axis::Rate { Sharer::key(NonZeroU32::MIN) } else { Sharer::ALL };
        let (id, cost, due) = (table.enter(limit), Amount::ONE, Due::Admission);
        plan.add(Charge { limit, id, sharer, cost, period: None, due });
    }
    plan
}

fn ask(table: &MeterTable, home: HomeId, limits: &[Limit], mode: Mode) -> Outcome {
    table.settle(&plan(table, home, limits, mode), &mut Readings::new())
}

fn used(table: &MeterTable, home: HomeId, limit: &Limit) -> u64 {
    let mut readings = Readings::new();
    table.settle(&plan(table, home, std::slice::from_ref(limit), Mode::Peek), &mut readings);
    readings[0].used
}

fn image(table: &MeterTable, home: HomeId) -> Option<Vec<u8>> {
    let mut image = Vec::new();
    table.image_of(home, NOW, &mut image, || ()).map(|_| image)
}

/// A table that starts with what another one has written of its limits.
fn successor(table: &MeterTable) -> MeterTable {
    MeterTable::with_book(table.book_images_from(0).into_iter().map(|(_, image)| image)).unwrap()
}

/// How often `then` was called for a plan.
fn told(table: &MeterTable, limits: &[Limit], mode: Mode) -> u32 {
    let mut told = 0;
    table.settle_then(&plan(table, HOME, limits, mode), &mut Readings::new(), |_| told += 1);
    told
}

#[test]
fn a_rate_and_a_quota_come_back_and_slots_do_not() {
    let (table, limits) = (MeterTable::new(), [rate(), slots(), quota()]);
    ask(&table, HOME, &limits, Mode::Charge);
    let successor = successor(&table);
    successor.restore(HOME, &image(&table, HOME).unwrap()).unwrap();
    let used = limits.each_ref().map(|limit| used(&successor, HOME, limit));
    assert_eq!((used, successor.homes()), ([1, 0, 1], 1));
}

#[test]
fn what_is_restored_takes_the_place_of_what_was_there() {
    let table = MeterTable::new();
    ask(&table, HOME, &[rate(), quota()], Mode::Charge);
    let one = image(&table, HOME).unwrap();
    for _ in 0..5 {
        ask(&table, HOME, &[quota(), slots()], Mode::Charge);
    }
    table.restore(HOME, &one).unwrap();
    assert_eq!((used(&table, HOME, &quota()), used(&table, HOME, &slots()), table.homes()), (1, 0, 1));
}

#[test]
fn a_stranger_and_a_home_with_nothing_but_slots_have_no_image() {
    let table = MeterTable::new();
    assert_eq!((image(&table, HOME), table.homes()), (None, 0));
    ask(&table, HOME, &[slots()], Mode::Charge);
    let mut into = vec![7];
    assert!(table.image_of(HOME, NOW, &mut into, || panic!("there is nothing to hold it for")).is_none());
    assert_eq!(into, [7]);
}

#[test]
fn an_image_says_until_when_it_matters() {
    let table = MeterTable::new();
    ask(&table, HOME, &[rate()], Mode::Charge);
    let until = |table: &MeterTable| table.image_of(HOME, NOW, &mut Vec::new(), || 42).unwrap();
    assert_eq!((until(&table).held, until(&table).until), (42, NOW.plus(Nanos(100_000_000))));
    ask(&table, HOME, &[quota()], Mode::Charge);
    assert_eq!(until(&table).until, NOW.plus(Nanos::from_secs(86_400 + 60)));
}

#[test]
fn a_home_costs_a_few_bytes() {
    let table = MeterTable::new();
    ask(&table, HOME, &[rate()], Mode::Charge);
    assert!(image(&table, HOME).unwrap().len() <= 16);
}

#[test]
fn a_broken_image_is_refused_and_makes_nobody_a_home() {
    let table = MeterTable::new();
    ask(&table, HOME, &[rate(), quota()], Mode::Charge);
    let image = image(&table, HOME).unwrap();
    let successor = successor(&table);
    for end in 0..image.len() {
        // A cut between two meters leaves a home with one of them.
        if let Err(error) = successor.restore(HOME, &image[..end]) {
            assert_eq!((error, successor.homes()), (BadImage::Short, 0));
        }
        successor.sweep(Timestamp::MAX);
    }
    let stranger = MeterTable::new();
    assert_eq!(stranger.restore(HOME, &image), Err(BadImage::Limit(0)));
    assert_eq!(stranger.restore(HOME, &[9]), Err(BadImage::Version(9)));
    assert_eq!(stranger.homes(), 0);
    assert!(MeterTable::with_book([[1u8, 2, 3]]).is_err());
}

#[test]
fn a_hundred_thousand_homes_fit_where_room_was_made_for_them() {
    const HOMES: u64 = 100_000;
    let spread =
        |number: u64| HomeId(u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let table = MeterTable::new();
    ask(&table, HOME, &[rate(), quota()], Mode::Charge);
    let (image, successor) = (image(&table, HOME).unwrap(), successor(&table));
    successor.reserve(usize::try_from(HOMES).unwrap());
    let bytes = successor.bytes();
    for home in 0..HOMES {
        successor.restore(spread(home), &image).unwrap();
    }
    assert_eq!((successor.homes() as u64, successor.bytes()), (HOMES, bytes));
    assert!((0..HOMES).all(|home| used(&successor, spread(home), &quota()) == 1));
    // Room is made, never taken.
    successor.reserve(1);
    assert_eq!(successor.bytes(), bytes);
}

#[test]
fn only_what_stands_is_told_and_once() {
    let (table, limits) = (MeterTable::new(), [slots()]);
    assert_eq!(told(&table, &limits, Mode::Peek), 0);
    assert_eq!(told(&table, &limits, Mode::Charge), 1);
    assert_eq!(told(&table, &limits, Mode::Charge), 0, "the slot is taken");
    assert_eq!(told(&table, &limits, Mode::Refund { charged_at: NOW, reserved: Amount::ONE }), 1);
    assert_eq!(told(&table, &[rate()], Mode::Force), 1);
}

#[test]
fn a_plan_that_meets_no_meter_is_told_too() {
    let table = MeterTable::new();
    assert_eq!(told(&table, &[], Mode::Charge), 1);
    assert_eq!(told(&table, &[], Mode::Peek), 0);
    assert_eq!(told(&table, &[rate()], Mode::Refund { charged_at: NOW, reserved: Amount::ONE }), 1);
    assert_eq!(table.homes(), 0);
}

#[test]
fn a_panic_of_who_is_told_leaves_the_table_whole() {
    let table = MeterTable::new();
    let (limits, panics) = ([rate(), quota()], 20u128);
    for home in 0..panics {
        // All in one partition, so that its array is full sooner or later.
        let plan = plan(&table, HomeId(home), &limits, Mode::Charge);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            table.settle_then(&plan, &mut Readings::new(), |_| panic!("the disk is full"))
        }));
        assert!(panicked.is_err());
    }
    assert_eq!(table.homes(), 20);
    for home in 0..panics {
        assert!(matches!(ask(&table, HomeId(home), &limits, Mode::Charge), Outcome::Admitted { .. }));
        assert_eq!(used(&table, HomeId(home), &quota()), 2);
    }
    assert_eq!(table.sweep(NOW).kept, 20);
}

#[test]
fn images_taken_while_others_settle_are_of_the_moment_they_name() {
    const HOMES: usize = 4;
    const TURNS: usize = 4_000;
    let (table, limits) = (MeterTable::new(), [rate(), quota()]);
    let (spool, images) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (started, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let write_down = |home: usize| {
        let mut image = Vec::new();
        let imaged = table.image_of(HomeId(home as u128), NOW, &mut image, || {
            std::thread::yield_now();
            spool.lock().unwrap().len()
        });
        images.lock().unwrap().extend(imaged.map(|imaged| (home, image, imaged.held)));
    };
    let settle = |home: usize| {
        let plan = plan(&table, HomeId(home as u128), &limits, Mode::Force);
        table.settle_then(&plan, &mut Readings::new(), |_| {
            std::thread::yield_now();
            spool.lock().unwrap().push(home);
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                (0..HOMES).for_each(write_down);
                started.store(true, Ordering::Release);
            }
        });
        while !started.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let settlers = [0, 1, 2, 3].map(|thread| {
            scope.spawn(move || (thread..thread + TURNS).for_each(|turn| settle(turn % HOMES)))
        });
        settlers.into_iter().for_each(|settler| settler.join().unwrap());
        done.store(true, Ordering::Release);
    });
    let (successor, spool) = (successor(&table), spool.into_inner().unwrap());
    for (home, image, from) in images.into_inner().unwrap() {
        successor.restore(HomeId(home as u128), &image).unwrap();
        let since = spool[from..].iter().filter(|recorded| **recorded == home).count();
        assert_eq!(used(&successor, HomeId(home as u128), &quota()), (TURNS - since) as u64);
    }
}
