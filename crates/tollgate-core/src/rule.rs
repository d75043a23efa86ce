//! The algorithms: each with its checked numbers, its state, and the one function that decides over both.
//!
//! What every one of them means, to the unit, stands in `docs/algorithms.md`.

use std::num::NonZeroU64;

use crate::calendar::Calendar;
use crate::time::{Nanos, Window};

pub mod token_bucket;

pub use token_bucket::TokenBucket;

/// A number of units: at least 1, at most [`Amount::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Amount(NonZeroU64);

impl Amount {
    /// 2^53 − 1: the largest whole number that every store can count without loss.
    pub const MAX: u64 = (1 << 53) - 1;

    /// The amount, or nothing if it is zero or too large.
    pub const fn new(amount: u64) -> Option<Self> {
        match NonZeroU64::new(amount) {
            Some(amount) if amount.get() <= Self::MAX => Some(Self(amount)),
            _ => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

/// An amount per window: what all algorithms with a window of their own have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Windowed {
    /// How much.
    pub limit: Amount,
    /// Per how long.
    pub window: Window,
}

/// The most units a sliding log may remember: it holds one entry for each admitted request.
pub const SLIDING_LOG_LIMIT_MAX: u64 = 100_000;

/// The most slots a concurrency limit may have: each one that is taken is an entry.
pub const CONCURRENCY_LIMIT_MAX: u64 = 100_000;

/// How long a slot is held at the most when nobody releases it.
pub const LEASE_DEFAULT: Nanos = Nanos::from_secs(60);

/// An algorithm with its numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A steady rate with room for bursts.
    TokenBucket(TokenBucket),
    /// A count per aligned window.
    FixedWindow(Windowed),
    /// A count per day, month or billing month.
    Calendar {
        /// How much per period.
        limit: Amount,
        /// Which periods.
        calendar: Calendar,
    },
    /// Two counts, the older one weighted by its overlap.
    SlidingWindow(Windowed),
    /// Counts per bucket, forgotten one bucket at a time.
    SlidingBuckets(Windowed),
    /// Every admission with its instant.
    SlidingLog(Windowed),
    /// Slots that are taken and released.
    Concurrency {
        /// How many at once.
        limit: Amount,
        /// How long one is held when nobody releases it.
        lease: Nanos,
    },
}
