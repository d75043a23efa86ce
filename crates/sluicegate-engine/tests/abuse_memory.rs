//! Whatever is thrown at the tables of the abuse signals, they stay as large as they were made, and allocate nothing
//! for a request.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use sluicegate_core::block::Caller;
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::{AppliesTo, Blocks, Pressure};
use sluicegate_core::rule::TokenBucket;
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_engine::abuse::{BlockTable, Crowd, EdgeTable, PressureTable};
use sluicegate_store::hash::HomeHasher;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const START: Timestamp = Timestamp::from_secs(1_700_000_000);
const CALLERS: u64 = 1_000_000;
const MIB: usize = 1 << 20;

/// A caller's keyed hash.
fn home(hasher: &HomeHasher, number: u64) -> u128 {
    hasher.of_name(&number.to_le_bytes()).0
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash")]
fn low(home: u128) -> u64 {
    home as u64
}

/// What a million callers make of a table that was used once: how many allocations, and how many bytes in all.
fn weigh(mut call: impl FnMut(u64, u128)) -> (usize, usize) {
    let hasher = HomeHasher::new([5; 16]);
    call(0, home(&hasher, 0));
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    for number in 0..CALLERS {
        call(number, home(&hasher, number));
    }
    (ALLOCATIONS.load(Ordering::Relaxed) - allocations, LIVE.load(Ordering::Relaxed))
}

// One test: the allocator counts for the whole process.
#[test]
fn a_million_callers_take_no_more_room_than_there_is() {
    let before = LIVE.load(Ordering::Relaxed);
    let at = |number: u64| START.plus(Nanos(number * 1_000));

    let (edge, bucket) = (EdgeTable::default(), TokenBucket::new(50, Window::SECOND, 100).unwrap());
    let (made, live) = weigh(|number, home| {
        edge.check(low(home), &bucket, at(number));
    });
    assert_eq!(made, 0, "the edge allocates");
    assert!(live - before <= 9 * MIB, "the edge has {} bytes", live - before);
    drop(edge);

    let pressure = PressureTable::default();
    let settings = Pressure {
        fingerprints: 2,
        window: Window::MINUTE,
        length: Nanos::from_secs(3_600),
        ..Pressure::default()
    };
    let (made, live) = weigh(|number, home| {
        pressure.note(low(home >> 64) % 500_000, low(home), &settings, at(number));
    });
    assert_eq!(made, 0, "pressure allocates");
    assert!(live - before <= 11 * MIB, "pressure has {} bytes", live - before);
    drop(pressure);

    let crowd = Crowd::new(HomeHasher::new([6; 16]), 0, Crowd::SEATS_LOG2_DEFAULT);
    let (made, live) = weigh(|number, home| {
        crowd.seat(HomeId(home), low(home >> 64), 0, Nanos::ZERO, at(number));
    });
    assert_eq!(made, 0, "the crowd allocates");
    assert!(live - before <= 11 * MIB, "the crowd has {} bytes", live - before);
    drop(crowd);

    let blocks = BlockTable::default();
    let settings = Blocks {
        applies_to: AppliesTo::All,
        after: 1,
        within: Window::MINUTE,
        first: Nanos::from_secs(60),
        max: Nanos::from_secs(3_600),
    };
    let (_, live) =
        weigh(|number, home| drop(blocks.block(Caller::client(HomeId(home)), at(number), &settings)));
    let end = at(CALLERS);
    let kept = blocks.count(end);
    assert!((200_000..=BlockTable::PLACES_DEFAULT).contains(&kept), "{kept} are blocked");
    assert!(live - before <= 60 * MIB, "blocks have {} bytes", live - before);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    let hasher = HomeHasher::new([5; 16]);
    let blocked = |number| blocks.is_blocked(Caller::client(HomeId(home(&hasher, number))), end).is_some();
    assert!(blocked(CALLERS - 1) && !blocked(0) && !blocked(CALLERS + 1));
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), allocations, "asking allocates");
}
