//! Token bucket as GCRA: the state is one instant, and a unit takes an exact fraction of a nanosecond.
//!
//! Debts are kept in *parts*: 1/q of a nanosecond, where p/q is the time of one unit in lowest terms. In parts every
//! quantity is a whole number, so 3 per second is exactly 3 per second however long it runs.

use super::{Answer, Ask, Verdict};
use crate::policy::Percent;
use crate::time::{Nanos, Timestamp, Window};

/// `amount` units per `window`, `burst` of them at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenBucket {
    amount: u64,
    window: Window,
    burst: u64,
    /// The most units that a debt may be: more than the burst where a limit got smaller.
    reach: u64,
    /// The time of one unit, in parts.
    unit: u64,
    /// How many parts a nanosecond has.
    parts: u32,
    width: Width,
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

/// The theoretical arrival time: when a bucket will be full again. `parts` is below the rule's parts per nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tat {
    /// Whole nanoseconds since the epoch.
    pub nanos: u64,
    /// The fraction above them.
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
        Ok(Self { amount, window, burst, reach, unit, parts, width })
    }

    /// A bucket that fills at a share of the rate, to a share of the burst, but to one unit at least.
    pub fn scaled(&self, share: Percent) -> Self {
        let divisor = greatest_common_divisor(share.get().into(), 100);
        let (part, whole) = (u64::from(share.get()) / divisor, 100 / divisor);
        let burst = share.of(self.burst);
        // A longer window keeps the rate exact. Where there is none so long, the amount is rounded down.
        let exact = Window::from_secs(u64::from(self.window.as_secs()) * whole)
            .and_then(|window| Self::new(self.amount * part, window, burst).ok());
        exact.or_else(|| Self::new(share.of(self.amount), self.window, burst).ok()).unwrap_or(*self)
    }

    /// A bucket for so many callers together: it fills that many times as fast, to that many times the burst.
    pub fn times(&self, callers: u64) -> Self {
        let most = |amount: u64, max: u64| amount.saturating_mul(callers.max(1)).min(max);
        Self::new(most(self.amount, Self::AMOUNT_MAX), self.window, most(self.burst, Self::BURST_MAX))
            .unwrap_or(*self)
    }

    /// Units per window.
    pub const fn amount(&self) -> u64 {
        self.amount
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
    #[inline]
    pub fn settle(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        match self.width {
            Width::Narrow => self.settle_in::<u64>(tat, ask, now),
            Width::Wide => self.settle_wide(tat, ask, now),
        }
    }

    #[cold]
    fn settle_wide(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        self.settle_in::<u128>(tat, ask, now)
    }

    // As a call it would pass its answers through memory.
    #[inline(always)]
    fn settle_in<N: Parts>(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        let (full, debt) = (self.full::<N>(), self.debt::<N>(tat, now));
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
            Ask::Force(cost) => (Answer::Fits, debt.add(self.parts_of(cost)).min(full.max(debt))),
            Ask::Give { cost, .. } => (Answer::Fits, debt.subtract(self.parts_of(cost))),
        };
        let tat = if after == debt { tat } else { self.tat_of(after, now) };
        (tat, self.verdict(answer, after))
    }

    /// The instant under this rule that leaves as many units used at `now` as `tat` does under `old`,
    /// fractions included and rounded up, but no more than ten times the burst.
    pub fn carry_over(&self, old: &Self, tat: Tat, now: Timestamp) -> Tat {
        if *old == Self::BY_TIME {
            // In which units is not known: what is owed stays owed as a time.
            let debt = self.debt::<u128>(self.refraction(tat).unwrap_or(tat), now);
            return self.tat_of(debt.min(self.parts_of(self.reach)), now);
        }
        let debt = old.debt::<u128>(tat, now);
        let (units, rest) = (debt / u128::from(old.unit), debt % u128::from(old.unit));
        let fraction = (rest * u128::from(self.unit)).div_ceil(u128::from(old.unit));
        self.tat_of((units * u128::from(self.unit) + fraction).min(self.parts_of(self.reach)), now)
    }

    /// An empty bucket's instant instead of `tat`, if that is further ahead than any debt explains: a clock stepped
    /// back, and without this the bucket would refuse until the clock had caught up.
    #[inline]
    pub fn mended(&self, tat: Tat, now: Timestamp) -> Option<Tat> {
        let tat = match self.refraction(tat) {
            None => return self.emptied_beyond(self.reach, tat, now),
            Some(tat) => tat,
        };
        Some(self.emptied_beyond(self.reach, tat, now).unwrap_or(tat))
    }

    /// The instant rounded up, if its fraction is none of this bucket's: it was written under another of those that
    /// [`TokenBucket::BY_TIME`] stands for.
    #[inline]
    pub fn refraction(&self, tat: Tat) -> Option<Tat> {
        (tat.parts >= self.parts).then(|| Tat { nanos: tat.nanos.saturating_add(1), parts: 0 })
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
        let longest = self.parts_of::<u128>(self.reach).divide_ceil(self.parts.into());
        tat.parts < self.parts.max(1) && tat.nanos <= Timestamp::MAX.as_nanos().saturating_add(longest)
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

    /// What is missing from a full bucket.
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

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn bucket(amount: u64, window: Window, burst: u64) -> TokenBucket {
        TokenBucket::new(amount, window, burst).unwrap()
    }

    fn drain(bucket: &TokenBucket, mut tat: Tat, now: Timestamp) -> (Tat, u64) {
        let mut taken = 0;
        while let (next, Verdict { answer: Answer::Fits, .. }) = bucket.settle(tat, Ask::Take(1), now) {
            (tat, taken) = (next, taken + 1);
        }
        (tat, taken)
    }

    #[test]
    fn a_burst_of_b_admits_exactly_b_at_once() {
        for burst in [1, 2, 20, 300] {
            let (_, taken) = drain(&bucket(10, Window::SECOND, burst), Tat::default(), START);
            assert_eq!(taken, burst);
        }
    }

    #[test]
    fn three_per_second_are_three_per_second_for_a_day() {
        let bucket = bucket(3, Window::SECOND, 3);
        let mut tat = drain(&bucket, Tat::default(), START).0;
        for second in 1..=86_400 {
            let (next, taken) = drain(&bucket, tat, START.plus(Nanos::from_secs(second)));
            assert_eq!(taken, 3, "in second {second}");
            tat = next;
        }
    }

    #[test]
    fn a_clock_that_stepped_back_an_hour_leaves_an_empty_bucket_not_a_closed_one() {
        let bucket = bucket(10, Window::SECOND, 20);
        let (tat, _) = drain(&bucket, Tat::default(), START.plus(Nanos::from_secs(3_600)));
        let tat = bucket.mended(tat, START).unwrap();
        let (_, verdict) = bucket.settle(tat, Ask::Take(1), START);
        assert_eq!(verdict.answer, Answer::Wait(Nanos(100_000_000)));
    }

    #[test]
    fn a_thread_that_read_the_clock_earlier_forgives_nothing() {
        let bucket = bucket(10, Window::SECOND, 20);
        let (tat, _) = drain(&bucket, Tat::default(), START.plus(Nanos(1_000)));
        assert_eq!(bucket.mended(tat, START), None);
        let (_, verdict) = bucket.settle(tat, Ask::Take(1), START);
        assert_eq!(verdict.answer, Answer::Wait(Nanos(100_001_000)));
    }

    #[test]
    fn a_limit_that_changes_keeps_the_used_units() {
        let (old, new) = (bucket(10, Window::SECOND, 20), bucket(100, Window::SECOND, 300));
        let (tat, _) = old.settle(Tat::default(), Ask::Take(15), START);
        let (_, verdict) = new.settle(new.carry_over(&old, tat, START), Ask::Look, START);
        assert_eq!(verdict.used, 15);
        let (tat, _) = new.settle(Tat::default(), Ask::Take(250), START);
        let (_, verdict) = old.settle(old.carry_over(&new, tat, START), Ask::Look, START);
        assert_eq!(
            (verdict.used, verdict.reset),
            (20, Nanos::from_secs(20)),
            "ten times the burst at the most"
        );
    }

    #[test]
    fn a_limit_that_is_smaller_for_a_while_forgets_nothing() {
        let whole = bucket(20, Window::DAY, 20);
        for percent in [60, 50, 30, 10] {
            let part = whole.scaled(Percent::new(percent).unwrap());
            let (tat, _) = whole.settle(Tat::default(), Ask::Take(15), START);
            let squeezed = part.carry_over(&whole, tat, START);
            assert_eq!(part.mended(squeezed, START), None);
            let (_, verdict) = part.settle(squeezed, Ask::Take(1), START);
            // What is owed above the smaller burst has to be paid first: a unit takes a day's twentieth, or longer.
            let missing = (15 + 1 - part.burst()) * 86_400 / 20 * 100 / percent;
            let wait = Nanos(missing * 1_000_000_000);
            assert_eq!((verdict.answer, verdict.used), (Answer::Wait(wait), part.burst()));
            let (_, restored) = whole.settle(whole.carry_over(&part, squeezed, START), Ask::Look, START);
            assert_eq!(restored.used, 15, "{percent}%");
        }
    }

    #[test]
    fn a_wait_is_whole_where_debt_and_cost_together_outgrow_64_bits() {
        let bucket = bucket(1_234_567, Window::DAY, 200_000);
        let (tat, _) = bucket.settle(Tat::default(), Ask::Take(150_000), START);
        let (_, verdict) = bucket.settle(tat, Ask::Take(100_000), START);
        // 50,000 units are missing, at 86,400 s for 1,234,567 of them.
        let missing = (50_000 * 86_400_000_000_000_u128).div_ceil(1_234_567);
        assert_eq!(verdict.answer, Answer::Wait(Nanos(u64::try_from(missing).unwrap())));
    }

    #[test]
    fn numbers_out_of_range_make_no_bucket() {
        assert_eq!(TokenBucket::new(0, Window::SECOND, 1), Err(BadBucket::Amount));
        assert_eq!(TokenBucket::new(TokenBucket::AMOUNT_MAX + 1, Window::SECOND, 1), Err(BadBucket::Amount));
        assert_eq!(TokenBucket::new(1, Window::SECOND, 0), Err(BadBucket::Burst));
        assert_eq!(TokenBucket::new(1, Window::MAX, 1_000), Err(BadBucket::FillsTooSlowly));
    }
}
