//! Pages are made writable before records reach them.
//!
//! The first write to a page of a mapped file, and the first after each flush, is a fault in which the file system does
//! microseconds of work. Appends happen under the lock of an account, so the background thread takes these faults for
//! them: at the tail, and as far ahead as the next few milliseconds will need.

use super::works::Works;
use crate::record::layout::SLOT_BYTES;

/// How many slots a page has, at least.
const PAGE_SLOTS: usize = 4096 / SLOT_BYTES;
/// How many slots ahead of the tail are kept warm when little happens: two pages.
const AHEAD_MIN: u64 = 2 * PAGE_SLOTS as u64;

/// How far pages have been made writable.
#[derive(Default)]
pub(crate) struct Warmth {
    /// Where the tail was the last time.
    tail: u64,
}

impl Warmth {
    /// Makes the pages writable that twice as many records would need as have come since the last time.
    pub(crate) fn spread(&mut self, works: &Works) {
        let tail = works.line.tail();
        if tail == self.tail {
            return;
        }
        let come = tail - self.tail.max(works.opened_at);
        self.tail = tail;
        let ahead = tail..tail.saturating_add(AHEAD_MIN.max(2 * come));
        let segments = works.catalog.lock().overlapping(ahead.clone());
        for segment in &segments {
            if let Some(mapping) = &segment.mapping {
                let slots = &mapping.records()[segment.overlap(&ahead)];
                slots.iter().step_by(PAGE_SLOTS).for_each(|slot| slot.warm());
            }
        }
    }
}
