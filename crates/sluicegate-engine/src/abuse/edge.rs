//! The edge: a coarse limit for each address, in a table of fixed size.
//!
//! An address that holds a cell is metered exactly as [`TokenBucket`] says. A cell whose bucket is full again says
//! nothing and is free to take. Where all cells of a set say something, newcomers share the set's `crowd`, which
//! grows with their number. A policy that is edited leaves the debts as they are, in time; a debt that outlasts the
//! new bucket by more than a second is set right.

mod crowd;
#[cfg(test)]
mod properties;
mod set;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use parking_lot::Mutex;
use sluicegate_core::rule::TokenBucket;
use sluicegate_core::time::{Nanos, Timestamp};

use self::set::Set;

/// How many addresses have a cell of their own in a set.
pub const WAYS: usize = 6;

/// What the edge says of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeVerdict {
    /// It may go on.
    Pass,
    /// The address has sent too much.
    Refuse {
        /// How long until one more would pass, if nobody else sends.
        retry_after: Nanos,
    },
}

/// Two cache lines, so that sets do not share one.
#[derive(Default)]
#[repr(align(128))]
struct Place(Mutex<Set>);

const _: () = assert!(size_of::<Place>() == 128);

/// The meters of addresses.
pub struct EdgeTable {
    sets_log2: u32,
    /// Made by the first request: a policy without an edge pays nothing.
    places: OnceLock<Box<[Place]>>,
}

impl std::fmt::Debug for EdgeTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EdgeTable").field("sets_log2", &self.sets_log2).finish_non_exhaustive()
    }
}

/// Room for 393,216 addresses that have all sent something within the time their buckets take to fill: 8 MiB.
impl Default for EdgeTable {
    fn default() -> Self {
        Self::new(16)
    }
}

impl EdgeTable {
    /// The most sets there can be, as a power of two: 2 GiB.
    pub const SETS_LOG2_MAX: u32 = 24;

    /// A table of 2^`sets_log2` sets of [`WAYS`] addresses, 128 bytes each.
    pub fn new(sets_log2: u32) -> Self {
        Self { sets_log2: sets_log2.min(Self::SETS_LOG2_MAX), places: OnceLock::new() }
    }

    /// One request of the address with this keyed hash.
    #[inline]
    pub fn check(&self, address: u64, bucket: &TokenBucket, now: Timestamp) -> EdgeVerdict {
        let places = self.places.get_or_init(|| (0..1 << self.sets_log2).map(|_| Place::default()).collect());
        // The low bits choose the set, the high ones name the address in it.
        let (tag, low) = split(address);
        let at = low as usize & (places.len() - 1);
        places[at].0.lock().check(tag, bucket, now)
    }
}

/// The high and the low half.
#[expect(clippy::cast_possible_truncation, reason = "each half is what is wanted")]
const fn split(hash: u64) -> (u32, u32) {
    ((hash >> 32) as u32, hash as u32)
}
