//! Overflow buckets: what limits the subjects that come with the question, beyond the bound of those with meters of
//! their own.
//!
//! A bucket holds a time that is owed, as a token bucket does. A request of a subject whose limit gives a unit each T
//! owes T for each unit of its cost, divided by the number of subjects that shared the bucket lately; it is refused
//! where more would be owed than the limit takes to fill, rounded up to a power of two. Subjects with limits that fill
//! in about the same time share buckets, whatever else they have. So a subject that keeps within its limit is never
//! refused, however many there are, and all of a bucket together get at most about twice what the members as they are
//! counted may use. What is given back is not: it may have been another's.

use std::sync::OnceLock;

use parking_lot::Mutex;
use sluicegate_core::calendar::CalendarUnit;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::HomeId;
use sluicegate_core::rule::Rule;
use sluicegate_core::time::{Nanos, Timestamp};

use super::{Throttle, ThrottleAnswer, ThrottleAsk, Throttled};
use crate::abuse::crowd::Members;
use crate::decision::StoreMode;

/// Buckets for each class of limits. In all 11 MiB, if limits of every class are asked for.
const BUCKETS: usize = 1_024;

/// Limits are classed by the logarithm of the time that they take to fill, in nanoseconds.
const CLASSES: usize = 64;

/// Members are remembered for as long as what they use counts, and as long as this at least.
const MEMORY_MIN: Nanos = Nanos::from_secs(60);

/// Every bucket.
pub(crate) struct OverflowBuckets([OnceLock<Box<[Mutex<Bucket>]>>; CLASSES]);

impl Default for OverflowBuckets {
    fn default() -> Self {
        Self(std::array::from_fn(|_| OnceLock::new()))
    }
}

impl std::fmt::Debug for OverflowBuckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OverflowBuckets").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Bucket {
    members: Members,
    /// When nothing will be owed.
    empty_at: u64,
    /// How many members there were at the last request, as a power of two.
    members_log2: u8,
}

/// A limit as buckets see it: at most `burst` units at once, and one each `window` / `amount`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Demand {
    amount: u64,
    window: u64,
    burst: u64,
}

/// What a bucket says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reading {
    /// How much more may be owed.
    room: u64,
    members_log2: u8,
}

impl OverflowBuckets {
    /// Settles a throttle for a subject without a meter of its own.
    pub(super) fn settle(
        &self,
        throttle: &Throttle,
        subject: HomeId,
        ask: ThrottleAsk,
        now: Timestamp,
    ) -> Throttled {
        let demand = Demand::of(throttle.rule());
        let class = demand.class();
        let buckets = self.0[class as usize].get_or_init(|| (0..BUCKETS).map(|_| Mutex::default()).collect());
        // The two halves of a keyed hash: one chooses the bucket, one is the subject there.
        let (place, member) = halves(subject);
        let mut bucket = buckets[place % BUCKETS].lock();
        let capacity = throttle.limit().capacity;
        let (answer, reading) = match ask {
            ThrottleAsk::Take(cost) | ThrottleAsk::Peek(cost) if cost.get() > capacity => {
                (ThrottleAnswer::Never, bucket.ask(demand, class, member, 0, now).1)
            }
            ThrottleAsk::Take(cost) => {
                let (answer, reading) = bucket.ask(demand, class, member, cost.get(), now);
                let owed = if answer == ThrottleAnswer::Fits {
                    demand.time(cost.get(), reading.members_log2)
                } else {
                    0
                };
                bucket.owe(owed, now);
                (answer, Reading { room: reading.room.saturating_sub(owed), ..reading })
            }
            ThrottleAsk::Peek(cost) => bucket.ask(demand, class, member, cost.get(), now),
            ThrottleAsk::Give(_) => (ThrottleAnswer::Fits, bucket.ask(demand, class, member, 0, now).1),
        };
        Throttled { answer, limit: demand.limit_now(throttle.limit(), reading), mode: StoreMode::Normal }
    }
}

impl Bucket {
    /// Whether so much would fit, and what there is room for without it.
    fn ask(
        &mut self,
        demand: Demand,
        class: u32,
        member: u64,
        cost: u64,
        now: Timestamp,
    ) -> (ThrottleAnswer, Reading) {
        let full = 1_u64 << class;
        let members_log2 = self.members.note(member, Nanos(full).max(MEMORY_MIN), now);
        // A clock that stepped back leaves a full bucket, not a closed one.
        let mut owed = self.empty_at.saturating_sub(now.as_nanos()).min(full);
        // The units that were used stay the same, and each takes less time to come back.
        owed >>= members_log2.saturating_sub(self.members_log2);
        self.members_log2 = members_log2;
        self.empty_at = now.as_nanos() + owed;
        let wanted = owed.saturating_add(demand.time(cost, members_log2));
        let answer = match wanted.checked_sub(full).filter(|beyond| *beyond > 0) {
            None => ThrottleAnswer::Fits,
            Some(beyond) => ThrottleAnswer::Wait(Nanos(beyond)),
        };
        (answer, Reading { room: full - owed, members_log2 })
    }

    fn owe(&mut self, time: u64, now: Timestamp) {
        self.empty_at = self.empty_at.max(now.as_nanos()).saturating_add(time);
    }
}

impl Demand {
    fn of(rule: &Rule) -> Self {
        // In any interval a window admits as much as a bucket of twice its amount: the end of one, and all of the next.
        let windowed =
            |limit: u64, window: u64| Self { amount: limit, window, burst: limit.saturating_mul(2) };
        match rule {
            Rule::TokenBucket(bucket) => {
                Self { amount: bucket.amount(), window: bucket.window().as_nanos(), burst: bucket.burst() }
            }
            Rule::FixedWindow(rule)
            | Rule::SlidingWindow(rule)
            | Rule::SlidingBuckets(rule)
            | Rule::SlidingLog(rule) => windowed(rule.limit.get(), rule.window.as_nanos()),
            Rule::Calendar { limit, calendar } => {
                // The shortest there are, without the hour that a change of the clocks may take.
                let hours = match calendar.unit() {
                    CalendarUnit::Day => 23,
                    CalendarUnit::Month | CalendarUnit::BillingMonth => 28 * 24 - 1,
                };
                windowed(limit.get(), Nanos::from_secs(hours * 3_600).0)
            }
            Rule::Concurrency { limit, lease } => windowed(limit.get(), lease.0),
        }
    }

    /// The time that so many units take, of which 2 to the power of this many members have a part each. Rounded down.
    fn time(&self, units: u64, members_log2: u8) -> u64 {
        let time = u128::from(units) * u128::from(self.window) / u128::from(self.amount.max(1));
        u64::try_from(time >> members_log2).unwrap_or(u64::MAX)
    }

    /// The logarithm of the time that all of it takes, rounded up.
    fn class(&self) -> u32 {
        // No limit takes longer than a hundred years to fill, which are less than 2^62 nanoseconds.
        self.time(self.burst, 0).max(1).checked_next_power_of_two().map_or(62, u64::trailing_zeros).min(62)
    }

    /// What a subject is told of its limit.
    fn limit_now(&self, untouched: &LimitNow, reading: Reading) -> LimitNow {
        let room = u128::from(reading.room) << reading.members_log2;
        let room = room.saturating_mul(u128::from(self.amount)) / u128::from(self.window.max(1));
        let remaining = u64::try_from(room).unwrap_or(u64::MAX).min(untouched.capacity);
        let used = untouched.capacity - remaining;
        let reset = Nanos(self.time(used, 0));
        LimitNow { used, remaining, next: reset.min(Nanos(self.time(1, 0))), reset, ..untouched.clone() }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "each half is what is wanted")]
const fn halves(subject: HomeId) -> (usize, u64) {
    ((subject.0 >> 64) as usize, subject.0 as u64)
}

#[cfg(test)]
mod tests;
