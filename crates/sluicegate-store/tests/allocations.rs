//! A decision on rate and quota allocates nothing, not even after idle meters were forgotten.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU32;

use sluicegate_core::file;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::{Bucket, Conduct};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{AccountCalendar, Charges, Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_store::meters::MeterTable;

struct Counting;

thread_local! {
    /// Of this thread alone: the test runner allocates on its own threads whenever it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_decision_allocates_nothing() {
    let text = b"tiers: {free: {rate: 10, burst: 20, quota: 50_000}}\nreputation: {}\nblocks: {}";
    let policy = file::read(text).unwrap().policy;
    let table = MeterTable::new();
    let tier = policy.tiers.iter().next().unwrap();
    let plan = || Plan::new(tier, &AccountCalendar::default(), 1, |limit| table.enter(limit));
    decisions_allocate_nothing(&table, &plan(), HomeId(7));
    // Nor does watching somebody who is never refused.
    let conduct = Conduct { reputation: policy.reputation, blocks: policy.blocks };
    let watched = plan().with_conduct(&conduct, |limit| table.enter(limit)).expecting(Bucket::Low);
    decisions_allocate_nothing(&table, &watched, HomeId(8));
}

fn decisions_allocate_nothing(table: &MeterTable, sold: &Plan, home: HomeId) {
    let mut readings = Readings::new();
    let mut decide = |secs: u32| {
        let key = Some(NonZeroU32::MIN);
        let (now, mode, slot) = (Timestamp::from_secs(1_790_000_000 + secs), Mode::Charge, SlotId(0));
        let (route, cost, which) = (None, Amount::ONE, Charges::All);
        let plan = sold.tariff.plan(&Request { home, key, route, cost, now, mode, which, slot });
        assert!(matches!(table.settle(&plan, &mut readings), Outcome::Admitted { .. }));
    };
    // The first decision makes the home; after a sweep the refilled bucket is made anew.
    decide(0);
    table.sweep(Timestamp::from_secs(1_790_000_060));
    decide(61);
    let before = ALLOCATIONS.get();
    (62..10_000).for_each(&mut decide);
    assert_eq!(ALLOCATIONS.get(), before);
}
