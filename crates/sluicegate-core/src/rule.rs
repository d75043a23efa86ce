//! The algorithms: each with its checked numbers, its state, and the one function that decides over both.
//!
//! What every one of them means, to the unit, stands in `docs/algorithms.md`. Each `settle` takes the state,
//! an [`Ask`] and `now`, and returns what the state becomes with a [`Verdict`]; none of them changes anything
//! by itself, so that several meters can be asked before any is charged.

use std::num::NonZeroU64;

use crate::calendar::{Calendar, CalendarUnit};
use crate::policy::Percent;
use crate::time::{Nanos, Timestamp, Window};

pub mod bound;
pub mod concurrency;
pub mod sliding_window;
pub mod timeline;
pub mod token_bucket;
pub mod window_count;

pub use bound::Bound;
pub use token_bucket::TokenBucket;

/// A number of units, as a limit has it or a request costs it: at least 1, at most [`Amount::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Amount(NonZeroU64);

impl Amount {
    /// 2^53 − 1: the largest whole number that every store can count without loss. Counts stop there.
    pub const MAX: u64 = (1 << 53) - 1;
    /// A single unit.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// The amount, or nothing if it is zero or too large.
    pub const fn new(amount: u64) -> Option<Self> {
        match NonZeroU64::new(amount) {
            Some(amount) if amount.get() <= Self::MAX => Some(Self(amount)),
            _ => None,
        }
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// So many times as much, as far as numbers go.
    pub fn times(self, factor: u64) -> Self {
        Self::new(self.get().saturating_mul(factor.max(1)).min(Self::MAX)).unwrap_or(self)
    }

    /// A share of it, rounded down, but at least one.
    pub const fn share(self, share: Percent) -> Self {
        match Self::new(share.of(self.get())) {
            Some(part) => part,
            None => Self::ONE,
        }
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

/// What an entry of a sliding log takes in memory, in bytes.
pub const SLIDING_LOG_ENTRY_BYTES: u64 = 16;

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

impl Rule {
    /// The most that fits at once into an untouched meter.
    #[inline]
    pub fn capacity(&self) -> u64 {
        match self {
            Self::TokenBucket(bucket) => bucket.burst(),
            Self::FixedWindow(rule)
            | Self::SlidingWindow(rule)
            | Self::SlidingBuckets(rule)
            | Self::SlidingLog(rule) => rule.limit.get(),
            Self::Calendar { limit, .. } | Self::Concurrency { limit, .. } => limit.get(),
        }
    }

    /// The algorithm, as files name it.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::TokenBucket(_) => "token_bucket",
            Self::FixedWindow(_) => "fixed_window",
            Self::SlidingWindow(_) => "sliding_window",
            Self::SlidingBuckets(_) => "sliding_buckets",
            Self::SlidingLog(_) => "sliding_log",
            Self::Calendar { calendar, .. } => match calendar.unit() {
                CalendarUnit::Day => "calendar_day",
                CalendarUnit::Month => "calendar_month",
                CalendarUnit::BillingMonth => "billing_month",
            },
            Self::Concurrency { .. } => "concurrency",
        }
    }

    /// What it allows per its window, as it was sold: for a bucket the amount and not the burst, 10 for `10/s`, and 6
    /// for 60 % of that.
    pub fn per_window(&self) -> u64 {
        match self {
            Self::TokenBucket(bucket) => bucket.per_window(),
            other => other.capacity(),
        }
    }

    /// For how long what is used counts at the most.
    pub fn counts_for(&self) -> Nanos {
        let window = |rule: &Windowed, windows| Nanos(rule.window.as_nanos().saturating_mul(windows));
        match self {
            Self::TokenBucket(bucket) => bucket.fill_time(),
            Self::FixedWindow(rule) | Self::SlidingLog(rule) => window(rule, 1),
            // One window as the one before; or as long as a bucket is, which is never longer than its window.
            Self::SlidingWindow(rule) | Self::SlidingBuckets(rule) => window(rule, 2),
            Self::Calendar { calendar, .. } => match calendar.unit() {
                // With the hour that a change of the clocks may add.
                CalendarUnit::Day => Nanos::from_secs(25 * 3_600),
                CalendarUnit::Month | CalendarUnit::BillingMonth => Nanos::from_secs((31 * 24 + 1) * 3_600),
            },
            Self::Concurrency { lease, .. } => *lease,
        }
    }

    /// The instant from which a refund at `now` takes whatever a meter holds: where each charge is forgotten by itself,
    /// that of the oldest that counts.
    pub fn oldest_at(&self, now: Timestamp) -> Timestamp {
        // The shortest time that every store can tell apart.
        const MICROSECOND: u64 = 1_000;
        match self {
            Self::SlidingBuckets(rule) | Self::SlidingLog(rule) => {
                let window = rule.window.as_nanos();
                Timestamp::from_nanos((now.as_nanos() + MICROSECOND).saturating_sub(window))
            }
            _ => now,
        }
    }

    /// The same rule with a share of its amount, never less than one.
    pub fn scaled(&self, share: Percent) -> Self {
        self.resized(|bucket| bucket.scaled(share), |limit, _| limit.share(share))
    }

    /// The same rule for so many callers together, as far as numbers go.
    pub fn times(&self, callers: u64) -> Self {
        self.resized(
            |bucket| bucket.times(callers),
            |limit, most| Amount::new(limit.times(callers).get().min(most)).unwrap_or(limit),
        )
    }

    /// The same rule with so much more, as far as numbers go. What has no overage stays as it is.
    pub fn raised(&self, more: Amount) -> Self {
        self.resized(
            |bucket| *bucket,
            |limit, most| Amount::new(beyond(limit.get(), more.get()).min(most)).unwrap_or(limit),
        )
    }

    /// The rule that stands for all whose states are read alike, where there is no room to remember each: the same
    /// algorithm and window. Of a token bucket only the time that is owed is remembered then, and not in which units.
    pub fn family(&self) -> Self {
        self.resized(|_| TokenBucket::BY_TIME, |_, _| Amount::ONE)
    }

    /// The same rule, for meters that any rule of its [`Rule::family`] may have written.
    #[must_use]
    pub fn in_family(&self) -> Self {
        self.resized(|bucket| bucket.in_family(), |limit, _| limit)
    }

    /// The same rule with another amount. `limit` is told the old one, and the most that the rule may have.
    fn resized(
        &self,
        bucket: impl FnOnce(&TokenBucket) -> TokenBucket,
        limit: impl Fn(Amount, u64) -> Amount,
    ) -> Self {
        let windowed = |rule: &Windowed, most| Windowed { limit: limit(rule.limit, most), ..*rule };
        match self {
            Self::TokenBucket(rule) => Self::TokenBucket(bucket(rule)),
            Self::FixedWindow(rule) => Self::FixedWindow(windowed(rule, Amount::MAX)),
            Self::SlidingWindow(rule) => Self::SlidingWindow(windowed(rule, Amount::MAX)),
            Self::SlidingBuckets(rule) => Self::SlidingBuckets(windowed(rule, Amount::MAX)),
            Self::SlidingLog(rule) => Self::SlidingLog(windowed(rule, SLIDING_LOG_LIMIT_MAX)),
            Self::Calendar { limit: amount, calendar } => {
                Self::Calendar { limit: limit(*amount, Amount::MAX), calendar: calendar.clone() }
            }
            Self::Concurrency { limit: slots, lease } => {
                Self::Concurrency { limit: limit(*slots, CONCURRENCY_LIMIT_MAX), lease: *lease }
            }
        }
    }

    /// Whether this is the algorithm of `old`, with the same window, zone and anchor; a bucket is one at any rate.
    pub fn is_algorithm_of(&self, old: &Self) -> bool {
        matches!((self, old), (Self::TokenBucket(_), Self::TokenBucket(_))) || self.reads_states_of(old)
    }

    /// Whether a state written under `old` reads the same under this rule: same algorithm, same window, zone
    /// and anchor.
    pub fn reads_states_of(&self, old: &Self) -> bool {
        match (self, old) {
            (Self::FixedWindow(new), Self::FixedWindow(old))
            | (Self::SlidingWindow(new), Self::SlidingWindow(old))
            | (Self::SlidingBuckets(new), Self::SlidingBuckets(old))
            | (Self::SlidingLog(new), Self::SlidingLog(old)) => new.window == old.window,
            (Self::Calendar { calendar: new, .. }, Self::Calendar { calendar: old, .. }) => new == old,
            (Self::Concurrency { .. }, Self::Concurrency { .. }) => true,
            (Self::TokenBucket(new), Self::TokenBucket(old)) => new == old,
            _ => false,
        }
    }
}

/// What is asked of a meter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Nothing: only what the meter says.
    Look,
    /// To charge this much if it fits.
    Take(u64),
    /// To charge this much if it fits into the limit and so much beyond it: overage that is billed up to a cap. What
    /// holds no more than its limit takes it as [`Ask::Take`].
    TakeBeyond {
        /// How much.
        cost: u64,
        /// How far beyond the limit.
        beyond: u64,
    },
    /// To charge this much whether it fits or not: overage that is billed, a true cost above the reserved one.
    Force(u64),
    /// The same, but a token bucket is emptied at the most: penalties, and usage that is carried over from another
    /// algorithm.
    Drain(u64),
    /// To give back a part of what was charged at that instant.
    Give {
        /// How much.
        cost: u64,
        /// How much was charged then.
        reserved: u64,
        /// When it was charged.
        charged_at: Timestamp,
    },
}

/// Whether what was asked fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It does.
    Fits,
    /// It will after this long, if nobody else calls; one nanosecond earlier it would not.
    Wait(Nanos),
    /// It is larger than the limit and never will.
    Never,
}

/// What a meter says: of what was asked, and of itself once that is done (or left, where it does not fit).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Whether it fits.
    pub answer: Answer,
    /// What counts against the limit.
    pub used: u64,
    /// How long until at least one unit more is free than now.
    pub next: Nanos,
    /// How long until the meter is as if never used.
    pub reset: Nanos,
}

/// Whether `cost` more fits above `used`, for everything that counts up to a limit. `wait` is asked only
/// where it does not.
fn fit(used: u64, cost: u64, limit: u64, wait: impl FnOnce() -> Nanos) -> Answer {
    if cost > limit {
        Answer::Never
    } else if used.saturating_add(cost) <= limit {
        Answer::Fits
    } else {
        Answer::Wait(wait())
    }
}

/// Where a limit ends that serves so much beyond itself.
fn beyond(limit: u64, more: u64) -> u64 {
    limit.saturating_add(more).min(Amount::MAX)
}

/// A count after `cost` more. It stops at [`Amount::MAX`] rather than run over what stores can hold.
pub(crate) fn count_up(count: u64, cost: u64) -> u64 {
    count.saturating_add(cost).min(Amount::MAX)
}
