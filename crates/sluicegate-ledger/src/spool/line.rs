//! Where records queue up: credits, the tail, and the way from a position to its slot. The hot path, without locks.
//!
//! A credit stands for a free slot that somebody may still claim. Credits are given out only after the segment they
//! stand for was put into the ring, so whoever holds one finds a slot, wherever the tail is when he claims it.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::mapping::{Mapping, Ring};
use crate::record::layout::{self, SlotBytes};

/// What every append changes, on a cache line of its own.
#[repr(align(128))]
struct Counters {
    /// Slots that nobody has claimed or reserved.
    credits: AtomicU64,
    /// The position that is claimed next.
    tail: AtomicU64,
}

/// Where records queue up.
pub(crate) struct Line {
    counters: Counters,
    ring: Ring,
    /// The positions of segment number 0, which may be longer or shorter than those made later.
    head_first: u64,
    head_end: u64,
    /// How many records the later segments have.
    records: u64,
}

/// The right to claim one slot. Dropping it gives it back.
pub(crate) struct Credit<'l> {
    line: &'l Line,
}

/// A slot that is nobody else's and must be written.
pub(crate) struct Claim<'l> {
    line: &'l Line,
    position: u64,
}

impl Line {
    /// A line without credits whose next position is `tail`. Segment number 0 has the positions from `head_first` to
    /// before `head_end`, all others follow it with `records` each.
    pub(crate) fn new(tail: u64, head_first: u64, head_end: u64, records: u32) -> Self {
        let counters = Counters { credits: AtomicU64::new(0), tail: AtomicU64::new(tail) };
        Self { counters, ring: Ring::new(), head_first, head_end, records: u64::from(records) }
    }

    /// Opens a segment that begins at `first`, of which `free` slots are free. The caller keeps the mapping alive
    /// until every slot of it is written.
    pub(crate) fn grant(&self, first: u64, free: u64, mapping: &Arc<Mapping>) {
        let (number, _) = self.place(first);
        self.ring.put(number, mapping);
        self.counters.credits.fetch_add(free, Ordering::Release);
    }

    /// A credit, if there is one.
    #[inline]
    pub(crate) fn take(&self) -> Option<Credit<'_>> {
        // Subtracting first and looking afterwards would refuse others in between who should have one.
        let mut credits = self.counters.credits.load(Ordering::Relaxed);
        while let Some(fewer) = credits.checked_sub(1) {
            let exchanged = self.counters.credits.compare_exchange_weak(
                credits,
                fewer,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return Some(Credit { line: self }),
                Err(now) => credits = now,
            }
        }
        None
    }

    /// How many credits there are.
    pub(crate) fn credits(&self) -> u64 {
        self.counters.credits.load(Ordering::Relaxed)
    }

    /// The position that is claimed next.
    pub(crate) fn tail(&self) -> u64 {
        self.counters.tail.load(Ordering::Acquire)
    }

    /// The number of the segment in which a position lies, and where in it.
    #[inline]
    fn place(&self, position: u64) -> (u64, u64) {
        match position.checked_sub(self.head_end) {
            None => (0, position - self.head_first),
            Some(beyond) => (1 + beyond / self.records, beyond % self.records),
        }
    }
}

impl<'l> Credit<'l> {
    /// Claims the next slot.
    #[inline]
    pub(crate) fn claim(self) -> Claim<'l> {
        let line = self.line;
        mem::forget(self);
        // Acquire and release: whoever claims the first slot of a segment may have got his credit long before that
        // segment was made. Somebody who claimed earlier got one after, and what he knew is handed on here.
        let position = line.counters.tail.fetch_add(1, Ordering::AcqRel);
        Claim { line, position }
    }
}

impl Drop for Credit<'_> {
    fn drop(&mut self) {
        // A release that goes on with what the grant released: the next who takes it knows what this one knew.
        self.line.counters.credits.fetch_add(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Credit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credit")
    }
}

impl Claim<'_> {
    /// Writes the record, and says where it stands. A claim that is dropped instead leaves a slot that looks like a
    /// writer who stalls for ever.
    #[inline]
    pub(crate) fn write(self, mut bytes: SlotBytes) -> u64 {
        layout::seal(&mut bytes, self.position);
        let (number, index) = self.line.place(self.position);
        // SAFETY: there are as many claims as credits, so the segment was put into the ring, and by the order of
        // `claim` this thread knows of it. It is given up only when all of its slots are written, and this one is not
        // until the write below, after which the segment is not touched.
        let mapping = unsafe { self.line.ring.get(number) };
        #[expect(clippy::cast_possible_truncation, reason = "below the number of slots, which fits")]
        mapping.records()[index as usize].write(&bytes);
        self.position
    }
}
