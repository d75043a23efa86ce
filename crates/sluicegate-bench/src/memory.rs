//! How many bytes a contestant keeps.
//!
//! The counter is on only while a contestant is filled, by one thread: a counter that every allocation of a
//! timed loop wrote to would slow down the peers that allocate, most of all with two threads. What is counted
//! is what was asked for, without the allocator's own overhead.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, which can count.
pub(crate) struct Counting;

// SAFETY: every call is passed on to `System` unchanged, and counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the promises of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the promises of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller keeps the promises of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size, layout.size());
        // SAFETY: the caller keeps the promises of `GlobalAlloc::realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

fn count(gained: usize, lost: usize) {
    if COUNTING.load(Ordering::Relaxed) {
        // No allocation is larger than `isize::MAX`, so neither cast nor difference can wrap.
        LIVE_BYTES.fetch_add(gained.cast_signed() as i64 - lost.cast_signed() as i64, Ordering::Relaxed);
    }
}

/// What `make` returned, and the bytes that were allocated in it and not freed again.
pub(crate) fn kept_by<T>(make: impl FnOnce() -> T) -> (T, u64) {
    LIVE_BYTES.store(0, Ordering::Relaxed);
    COUNTING.store(true, Ordering::Relaxed);
    let made = make();
    COUNTING.store(false, Ordering::Relaxed);
    (made, u64::try_from(LIVE_BYTES.load(Ordering::Relaxed)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::kept_by;

    #[test]
    fn what_is_freed_or_grown_over_does_not_count() {
        let (kept, bytes) = kept_by(|| {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(512 << 20)));
            let mut kept = Vec::<u8>::with_capacity(1 << 20);
            kept.reserve_exact(256 << 20);
            kept
        });
        // Other tests allocate at the same time, but nothing of this size.
        assert!((200 << 20..300 << 20).contains(&bytes), "{bytes} for {}", kept.capacity());
    }
}
