//! What the homes of a node have done so far.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::histogram::Histogram;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }
}

/// What the homes of a node have done so far.
#[derive(Debug, Default)]
pub struct HomesCounters {
    /// Calls of the store that settle plans.
    pub calls: Count,
    /// Requests that were asked to be settled.
    pub asks: Count,
    /// Requests that shared their call with another.
    pub coalesced: Count,
    /// Requests that were refused without a call, from what was known.
    pub refused_locally: Count,
    /// Calls whose answer was lost.
    pub unknown: Count,
    /// Calls whose answer was lost and whose fate is known by now.
    pub resolved: Count,
    /// Charges that were undone, because nobody was told of them.
    pub undone: Count,
    /// How often the breaker opened.
    pub opened: Count,
    /// How long calls that settle plans took, answered or not.
    pub took: Histogram,
}
