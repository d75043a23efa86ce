//! What a limiter must offer to be measured, ours and the peers alike.
//!
//! The timed loop knows the contestant's type, so nothing in it is a dynamic call. Limits are so generous
//! that every decision is an admission: a lap in which one is refused is an error, not a figure.

use crate::callers::Callers;
use crate::timing::Now;
use anyhow::Result;

/// A limiter that decides on callers named by a string.
pub(crate) trait Contestant: Sync + Sized {
    /// What reports call it.
    const NAME: &'static str;

    /// The most callers it is measured with, where its memory is the bound.
    const CALLERS_MAX: u32 = u32::MAX;

    /// It makes one in this many of a lap's decisions: a far slower limiter would take most of the time.
    const PACE: usize = 1;

    /// How it is told the time.
    type Now: Now;

    /// What one thread keeps between decisions, so that a limiter is not charged for what its user can reuse.
    type Lane;

    /// An empty limiter, told how many callers to expect where it can be told.
    fn build(callers: Callers) -> Result<Self>;

    /// Called once per thread and lap, outside the timed loop.
    fn lane(&self) -> Self::Lane;

    /// One decision of cost 1: true if it was admitted.
    fn admit(&self, lane: &mut Self::Lane, key: &str, now: Self::Now) -> bool;

    /// Memory it holds that did not come from the global allocator, such as its own mappings.
    fn bytes_unallocated(&self) -> u64 {
        0
    }
}
