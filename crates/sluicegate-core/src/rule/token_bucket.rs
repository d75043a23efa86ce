//! Token bucket as GCRA: the state is one instant, and a unit takes an exact fraction of a nanosecond.
//!
//! Debts are kept in *parts*: 1/q of a nanosecond, where p/q is the time of one unit in lowest terms. In parts every
//! quantity is a whole number, so 3 per second is exactly 3 per second however long it runs.
//!
//! A bucket that was charged beyond its burst is *overdrawn*, and its instant is marked as such: without the mark, an
//! instant far ahead means that the clock stepped back. See [`Tat::parts`].

use super::{Answer, Ask, Verdict};
use crate::policy::Percent;
use crate::time::{Nanos, Timestamp, Window};

/// `amount` units per `window`, `burst` of them at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenBucket {
    amount: u64,
    window: Window,
    burst: u64,
    /// What callers are told that they have per window: that of the bucket which this is a share of.
    per_window: u64,
    /// The most units that a debt may be: more than the burst where a limit got smaller.
    reach: u64,
    /// The time of one unit, in parts.
    unit: u64,
    /// How many parts a nanosecond has.
    parts: u32,
    width: Width,
    excess_parts: ExcessParts,
}

/// What it means that an instant has more parts than a nanosecond has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ExcessParts {
    /// The bucket is overdrawn.
    Overdrawn,
    /// The fraction is that of another bucket, with which this one shares its number: see [`TokenBucket::in_family`].
    OtherBucket,
}

/// Which numbers hold every quantity of a bucket. Division of 128-bit numbers is a call of many cycles, and
/// nearly all buckets do without.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Width {
    Narrow,
    Wide,
}

/// Why numbers make no token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadBucket {
    /// The amount is zero or above [`TokenBucket::AMOUNT_MAX`].
    Amount,
    /// The burst is zero or above [`TokenBucket::BURST_MAX`].
    Burst,
    /// An empty bucket would take longer than [`TokenBucket::FILL_YEARS_MAX`] years to fill.
    FillsTooSlowly,
}

/// How far a clock must have stepped back before a bucket is set right. Less is no step: threads that read
/// the clock just before others.
const STEP_BACK_MIN: u64 = 1_000_000_000;

/// So many times the burst may be owed after a limit got smaller. Callers of bad standing have a tenth of their limits.
const REACH: u64 = 10;

/// A bucket that takes as long to fill is owed no more than its burst: ten times that is the end of time.
const REACH_FILL_SECS: u64 = 10 * 365 * 86_400;

/// The longest that an overdrawn bucket owes, unless its limit alone explains more: 31 days.
const OVERDRAFT_MAX: u64 = 31 * 86_400 * 1_000_000_000;

/// The theoretical arrival time: when a bucket will be full again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tat {
    /// Whole nanoseconds since the epoch.
    pub nanos: u64,
    /// The fraction above them: below the rule's parts per nanosecond. That of an overdrawn bucket has as many more as
    /// a nanosecond has, and its `nanos` are one less: the same instant, written in another way, is the mark.
    pub parts: u32,
}

impl TokenBucket {
    /// The largest amount per window. It keeps the fraction within 32 bits.
    pub const AMOUNT_MAX: u64 = 1_000_000_000;
    /// The largest burst.
    pub const BURST_MAX: u64 = u32::MAX as u64;
    /// The longest time, in years of 365 days, that an empty bucket may take to fill.
    pub const FILL_YEARS_MAX: u64 = 100;

    /// Stands for all buckets whose numbers are not remembered: what is owed there is a time. No debt is longer than
    /// this one takes to fill.
    pub const BY_TIME: Self = match Self::new(1, Window::MAX, 91) {
        Ok(bucket) => bucket,
        Err(_) => unreachable!(),
    };

    /// The same bucket, for instants that any bucket may have written which shares the number of
    /// [`TokenBucket::BY_TIME`] with it. It is never overdrawn: fractions of other buckets look like that mark.
    #[must_use]
    pub const fn in_family(mut self) -> Self {
        self.excess_parts = ExcessParts::OtherBucket;
        self
    }

    /// The bucket, unless one of its numbers is out of range.
    pub const fn new(amount: u64, window: Window, burst: u64) -> Result<Self, BadBucket> {
        if amount == 0 || amount > Self::AMOUNT_MAX {
            return Err(BadBucket::Amount);
        }
        if burst == 0 || burst > Self::BURST_MAX {
            return Err(BadBucket::Burst);
        }
        let fill_max_s = Self::FILL_YEARS_MAX * 365 * 86_400;
        if burst as u128 * window.as_secs() as u128 > fill_max_s as u128 * amount as u128 {
            return Err(BadBucket::FillsTooSlowly);
        }
        let divisor = greatest_common_divisor(amount, window.as_nanos());
        #[expect(clippy::cast_possible_truncation, reason = "at most AMOUNT_MAX, which fits")]
        let parts = (amount / divisor) as u32;
        let unit = window.as_nanos() / divisor;
        let fill = burst as u128 * window.as_secs() as u128;
        let fills_soon = REACH_FILL_SECS as u128 * amount as u128 > fill;
        let reach = if fills_soon { REACH * burst } else { burst };
        // The most that is ever added up: the largest debt with the clock's slack above it, and a cost that fills an
        // empty bucket.
        let most =
            (reach as u128 + burst as u128 + 2) * unit as u128 + 2 * STEP_BACK_MIN as u128 * parts as u128;
        let width = if most < u64::MAX as u128 { Width::Narrow } else { Width::Wide };
        // The numbers of `BY_TIME`: instants under these were written by any bucket.
        let excess_parts = match (amount, window.as_secs() == Window::MAX.as_secs(), burst) {
            (1, true, 91) => ExcessParts::OtherBucket,
            _ => ExcessParts::Overdrawn,
        };
        Ok(Self { amount, window, burst, per_window: amount, reach, unit, parts, width, excess_parts })
    }

    /// A bucket that fills at a share of the rate, to a share of the burst, but to one unit at least.
    pub fn scaled(&self, share: Percent) -> Self {
        let divisor = greatest_common_divisor(share.get().into(), 100);
        let (part, whole) = (u64::from(share.get()) / divisor, 100 / divisor);
        let burst = share.of(self.burst);
        // A longer window keeps the rate exact. Where there is none so long, the amount is rounded down.
        let exact = Window::from_secs(u64::from(self.window.as_secs()) * whole)
            .and_then(|window| Self::new(self.amount * part, window, burst).ok());
        let scaled = exact.or_else(|| Self::new(share.of(self.amount), self.window, burst).ok());
        Self { per_window: share.of(self.per_window), ..scaled.unwrap_or(*self) }
    }

    /// A bucket for so many callers together: it fills that many times as fast, to that many times the burst.
    pub fn times(&self, callers: u64) -> Self {
        let most = |amount: u64, max: u64| amount.saturating_mul(callers.max(1)).min(max);
        let (amount, burst) = (most(self.amount, Self::AMOUNT_MAX), most(self.burst, Self::BURST_MAX));
        let bucket = Self::new(amount, self.window, burst).unwrap_or(*self);
        Self { per_window: most(self.per_window, Self::AMOUNT_MAX), ..bucket }
    }

    /// Units per window.
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// Units per the window that was sold. A share of a bucket may have more units per a longer window.
    pub const fn per_window(&self) -> u64 {
        self.per_window
    }

    /// How long so many units take to come back, rounded down to whole nanoseconds.
    pub fn time_of(&self, units: u64) -> Nanos {
        Nanos(self.parts_of::<u128>(units).divide(self.parts.into()))
    }

    /// The window.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// Units that fit at once.
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// How long an empty bucket takes to fill.
    pub fn fill_time(&self) -> Nanos {
        Nanos(self.full::<u128>().divide_ceil(self.parts.into()))
    }

    /// What `tat` becomes when `ask` is done at `now`, and what the bucket says then.
    // Always inlined: where it is known what is asked, little is left of it.
    #[inline(always)]
    pub fn settle(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        match self.width {
            Width::Narrow if tat.parts < self.parts => self.settle_in::<u64>(tat, ask, now),
            _ => self.settle_wide(tat, ask, now),
        }
    }

    #[cold]
    fn settle_wide(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        self.settle_in::<u128>(tat, ask, now)
    }

    // As a call it would pass its answers through memory.
    #[inline(always)]
    fn settle_in<N: Parts>(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        let (full, debt) = (self.full::<N>(), self.debt::<N>(self.unmarked(tat), now));
        let (answer, after) = match ask {
            Ask::Look => (Answer::Fits, debt),
            Ask::Take(cost) | Ask::TakeBeyond { cost, .. } if cost > self.burst => (Answer::Never, debt),
            Ask::Take(cost) | Ask::TakeBeyond { cost, .. } => {
                let wanted = debt.add(self.parts_of(cost));
                if wanted <= full {
                    (Answer::Fits, wanted)
                } else {
                    (Answer::Wait(self.nanos_ceil(wanted.subtract(full))), debt)
                }
            }
            Ask::Force(cost) => match debt.add(self.parts_of(cost)) {
                wanted if wanted <= full => (Answer::Fits, wanted),
                _ => return self.overdraw(tat, cost, now),
            },
            Ask::Drain(cost) => (Answer::Fits, debt.add(self.parts_of(cost)).min(full.max(debt))),
            Ask::Give { cost, reserved, charged_at } => {
                return self.give(tat, cost, reserved, now.since(charged_at), now);
            }
        };
        let tat = if after == debt { tat } else { self.tat_of(after, now) };
        (tat, self.verdict(answer, after))
    }

    /// Charges what does not fit.
    #[cold]
    fn overdraw(&self, tat: Tat, cost: u64, now: Timestamp) -> (Tat, Verdict) {
        let debt = self.debt::<u128>(self.unmarked(tat), now);
        let after = debt.add(self.parts_of(cost)).min(self.debt_max().max(debt));
        let charged = self.tat_of(after, now);
        let tat = match after {
            _ if after == debt => tat,
            // A bucket that takes ten years to fill owes no more than its burst.
            _ if after > self.full::<u128>() => self.overdrawn(charged),
            _ => charged,
        };
        (tat, self.verdict(Answer::Fits, after))
    }

    /// Gives back what was too much of a charge of that age. What has flowed in since has paid for the charge first:
    /// only what is left of it can be given back, or others would be admitted in its place.
    #[cold]
    fn give(&self, tat: Tat, cost: u64, reserved: u64, age: Nanos, now: Timestamp) -> (Tat, Verdict) {
        let debt = self.debt::<u128>(self.unmarked(tat), now);
        let unpaid = self.parts_of::<u128>(reserved).subtract(u128::product(age.0, self.parts.into()));
        let after = debt.subtract(self.parts_of::<u128>(cost).min(unpaid));
        let left = self.tat_of(after, now);
        let tat = match after {
            _ if after == debt => tat,
            _ if self.is_overdrawn(tat) && after > self.full::<u128>() => self.overdrawn(left),
            _ => left,
        };
        (tat, self.verdict(Answer::Fits, after))
    }

    /// Whether the instant is marked as that of an overdrawn bucket.
    #[inline]
    pub fn is_overdrawn(&self, tat: Tat) -> bool {
        tat.parts >= self.parts && self.excess_parts == ExcessParts::Overdrawn
    }

    /// The same instant with the mark of an overdrawn bucket.
    pub fn overdrawn(&self, tat: Tat) -> Tat {
        match tat.nanos.checked_sub(1) {
            Some(nanos) if tat.parts < self.parts && self.excess_parts == ExcessParts::Overdrawn => {
                Tat { nanos, parts: tat.parts + self.parts }
            }
            _ => tat,
        }
    }

    /// The same instant without the mark. The fraction of another bucket is rounded up.
    #[inline]
    fn unmarked(&self, tat: Tat) -> Tat {
        match self.excess_parts {
            _ if tat.parts < self.parts => tat,
            ExcessParts::Overdrawn => Tat { nanos: tat.nanos + 1, parts: tat.parts - self.parts },
            ExcessParts::OtherBucket => rounded_up(tat),
        }
    }

    /// The instant as it can be stored under this bucket's number: without the fraction of another bucket.
    pub fn storable(&self, tat: Tat) -> Tat {
        match self.excess_parts {
            ExcessParts::Overdrawn => tat,
            ExcessParts::OtherBucket => self.unmarked(tat),
        }
    }

    /// The most that an overdrawn bucket owes.
    fn debt_max(&self) -> u128 {
        let reach = self.parts_of::<u128>(self.reach);
        match self.excess_parts {
            ExcessParts::Overdrawn => reach.max(u128::product(OVERDRAFT_MAX, self.parts.into())),
            ExcessParts::OtherBucket => reach,
        }
    }

    /// The instant under this rule that leaves as many units used at `now` as `tat` does under `old`,
    /// fractions included and rounded up, but no more than ten times the burst; if it is overdrawn, than that may be.
    pub fn carry_over(&self, old: &Self, tat: Tat, now: Timestamp) -> Tat {
        if *old == Self::BY_TIME {
            // In which units is not known: what is owed stays owed as a time.
            let debt = self.debt::<u128>(rounded_up(tat), now);
            return self.tat_of(debt.min(self.parts_of(self.reach)), now);
        }
        let debt = old.debt::<u128>(old.unmarked(tat), now);
        let (units, rest) = (debt / u128::from(old.unit), debt % u128::from(old.unit));
        let fraction = (rest * u128::from(self.unit)).div_ceil(u128::from(old.unit));
        let carried = units * u128::from(self.unit) + fraction;
        if old.is_overdrawn(tat) && carried > self.full::<u128>() {
            return self.overdrawn(self.tat_of(carried.min(self.debt_max()), now));
        }
        self.tat_of(carried.min(self.parts_of(self.reach)), now)
    }

    /// Another instant instead of `tat`, if that is further ahead than any debt explains: a clock stepped back, and
    /// without this the bucket would refuse until the clock had caught up. It is that of an empty bucket; an overdrawn
    /// one owes as much as it may.
    #[inline]
    pub fn mended(&self, tat: Tat, now: Timestamp) -> Option<Tat> {
        match tat.parts < self.parts {
            true => self.emptied_beyond(self.reach, tat, now),
            false => self.mended_excess_parts(tat, now),
        }
    }

    #[cold]
    fn mended_excess_parts(&self, tat: Tat, now: Timestamp) -> Option<Tat> {
        if self.excess_parts == ExcessParts::OtherBucket {
            let tat = rounded_up(tat);
            return Some(self.emptied_beyond(self.reach, tat, now).unwrap_or(tat));
        }
        let (debt, most) = (self.debt::<u128>(self.unmarked(tat), now), self.debt_max());
        let slack = u128::product(STEP_BACK_MIN, self.parts.into());
        (debt > most.add(slack)).then(|| self.overdrawn(self.tat_of(most, now)))
    }

    /// An empty bucket's instant instead of `tat`, if that is further ahead than an empty bucket explains.
    #[inline]
    pub fn emptied(&self, tat: Tat, now: Timestamp) -> Option<Tat> {
        self.emptied_beyond(self.burst, tat, now)
    }

    #[inline]
    fn emptied_beyond(&self, units: u64, tat: Tat, now: Timestamp) -> Option<Tat> {
        let ahead = tat.nanos.saturating_sub(now.as_nanos());
        if ahead <= STEP_BACK_MIN {
            return None;
        }
        let excess = u128::from(ahead - STEP_BACK_MIN) * u128::from(self.parts) + u128::from(tat.parts);
        (excess > self.parts_of(units)).then(|| self.tat_of(self.full::<u128>(), now))
    }

    /// Whether this bucket could have come to have that instant: it is never further ahead than a debt explains.
    pub fn may_have(&self, tat: Tat) -> bool {
        let overdrawn = self.is_overdrawn(tat);
        let most = if overdrawn { self.debt_max() } else { self.parts_of(self.reach) };
        let longest = most.divide_ceil(self.parts.into());
        let parts = if overdrawn { tat.parts - self.parts } else { tat.parts };
        parts < self.parts && tat.nanos <= Timestamp::MAX.as_nanos().saturating_add(longest)
    }

    #[inline]
    fn verdict<N: Parts>(&self, answer: Answer, debt: N) -> Verdict {
        let full = self.full::<N>();
        let (remaining, rest) = full.subtract(debt).divide_with_rest(self.unit);
        // What the unit that is filling still needs, and what a debt beyond an empty bucket takes before.
        let next = N::product(self.unit, 1).subtract(rest).add(debt.subtract(full));
        let (next, reset) = (self.nanos_ceil(next), self.nanos_ceil(debt));
        Verdict { answer, used: self.burst - remaining, next, reset }
    }

    /// What is missing from a full bucket. The instant is one without a mark.
    #[inline]
    fn debt<N: Parts>(&self, tat: Tat, now: Timestamp) -> N {
        match tat.nanos.checked_sub(now.as_nanos()) {
            Some(ahead) => N::product(ahead, self.parts.into()).add(N::product(tat.parts.into(), 1)),
            None => N::product(0, 0),
        }
    }

    #[inline]
    fn tat_of<N: Parts>(&self, debt: N, now: Timestamp) -> Tat {
        let (nanos, parts) = match self.parts {
            1 => (debt.divide(1), 0),
            parts => (debt.divide(parts.into()), debt.remainder(parts)),
        };
        Tat { nanos: now.as_nanos() + nanos, parts }
    }

    #[inline]
    fn full<N: Parts>(&self) -> N {
        self.parts_of(self.burst)
    }

    #[inline]
    fn parts_of<N: Parts>(&self, units: u64) -> N {
        N::product(units, self.unit)
    }

    #[inline]
    fn nanos_ceil<N: Parts>(&self, time: N) -> Nanos {
        match self.parts {
            1 => Nanos(time.divide(1)),
            parts => Nanos(time.divide_ceil(parts.into())),
        }
    }
}

/// Whole numbers of parts. Sums and products stop at the largest number, differences at zero.
trait Parts: Copy + Ord {
    fn product(a: u64, b: u64) -> Self;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn divide(self, by: u64) -> u64;
    fn divide_with_rest(self, by: u64) -> (u64, Self);
    fn divide_ceil(self, by: u64) -> u64;
    fn remainder(self, by: u32) -> u32;
}

macro_rules! parts {
    ($number:ty) => {
        impl Parts for $number {
            #[inline]
            fn product(a: u64, b: u64) -> Self {
                Self::from(a).saturating_mul(Self::from(b))
            }
            #[inline]
            fn add(self, other: Self) -> Self {
                self.saturating_add(other)
            }
            #[inline]
            fn subtract(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
            #[inline]
            fn divide(self, by: u64) -> u64 {
                // A division by one costs as much as any other.
                let quotient = if by == 1 { self } else { self / Self::from(by) };
                u64::try_from(quotient).unwrap_or(u64::MAX)
            }
            #[inline]
            fn divide_with_rest(self, by: u64) -> (u64, Self) {
                let by = Self::from(by);
                (u64::try_from(self / by).unwrap_or(u64::MAX), self % by)
            }
            #[inline]
            fn divide_ceil(self, by: u64) -> u64 {
                u64::try_from(self.div_ceil(Self::from(by))).unwrap_or(u64::MAX)
            }
            #[inline]
            fn remainder(self, by: u32) -> u32 {
                u32::try_from(self % Self::from(by)).unwrap_or(u32::MAX)
            }
        }
    };
}

parts!(u64);
parts!(u128);

/// The instant rounded up to whole nanoseconds.
fn rounded_up(tat: Tat) -> Tat {
    Tat { nanos: tat.nanos.saturating_add((tat.parts > 0).into()), parts: 0 }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests;
