//! Token bucket as GCRA: the state is one instant, and a unit takes an exact fraction of a nanosecond.
//!
//! Debts are kept in *parts*: 1/q of a nanosecond, where p/q is the time of one unit in lowest terms. In parts every
//! quantity is a whole number, so 3 per second is exactly 3 per second however long it runs.

use super::{Answer, Ask, Verdict};
use crate::time::{Nanos, Timestamp, Window};

/// `amount` units per `window`, `burst` of them at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenBucket {
    amount: u64,
    window: Window,
    burst: u64,
    /// The time of one unit, in parts.
    unit: u64,
    /// How many parts a nanosecond has.
    parts: u32,
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

/// How far a clock must have stepped back before a bucket is set right. Less is no step: threads that read the clock just
/// before others.
const STEP_BACK_MIN: u64 = 1_000_000_000;

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
        Ok(Self { amount, window, burst, unit: window.as_nanos() / divisor, parts })
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
        self.nanos_ceil(self.full())
    }

    /// What `tat` becomes when `ask` is done at `now`, and what the bucket says then.
    pub fn settle(&self, tat: Tat, ask: Ask, now: Timestamp) -> (Tat, Verdict) {
        let (full, debt) = (self.full(), self.debt(tat, now));
        let (answer, debt) = match ask {
            Ask::Look => (Answer::Fits, debt),
            Ask::Take(cost) if cost > self.burst => (Answer::Never, debt),
            Ask::Take(cost) => {
                let wanted = debt + self.parts_of(cost);
                if wanted <= full {
                    (Answer::Fits, wanted)
                } else {
                    (Answer::Wait(self.nanos_ceil(wanted - full)), debt)
                }
            }
            Ask::Force(cost) => (Answer::Fits, (debt + self.parts_of(cost)).min(full.max(debt))),
            Ask::Give { .. } if debt == 0 => return (tat, self.verdict(Answer::Fits, debt)),
            Ask::Give { cost, .. } => (Answer::Fits, debt.saturating_sub(self.parts_of(cost))),
        };
        let tat = match (ask, answer) {
            (Ask::Look, _) | (_, Answer::Wait(_) | Answer::Never) => tat,
            _ => self.tat_of(debt, now),
        };
        (tat, self.verdict(answer, debt))
    }

    /// The instant under this rule that leaves as many units used at `now` as `tat` does under `old`, fractions included and
    /// rounded up, but no more than the burst.
    pub fn carry_over(&self, old: &Self, tat: Tat, now: Timestamp) -> Tat {
        let debt = old.debt(tat, now);
        let (units, rest) = (debt / u128::from(old.unit), debt % u128::from(old.unit));
        let fraction = (rest * u128::from(self.unit)).div_ceil(u128::from(old.unit));
        self.tat_of((units * u128::from(self.unit) + fraction).min(self.full()), now)
    }

    fn verdict(&self, answer: Answer, debt: u128) -> Verdict {
        let full = self.full();
        let remaining = divide(full.saturating_sub(debt), self.unit);
        let next = debt + self.parts_of(remaining + 1) - full;
        let (next, reset) = (self.nanos_ceil(next), self.nanos_ceil(debt));
        Verdict { answer, used: self.burst - remaining, next, reset }
    }

    /// An empty bucket's instant instead of `tat`, if that is further ahead than an empty bucket explains: a clock stepped
    /// back, and without this the bucket would refuse until the clock had caught up.
    #[inline]
    pub fn mended(&self, tat: Tat, now: Timestamp) -> Option<Tat> {
        let ahead = tat.nanos.saturating_sub(now.as_nanos());
        if ahead <= STEP_BACK_MIN {
            return None;
        }
        let excess = u128::from(ahead - STEP_BACK_MIN) * u128::from(self.parts) + u128::from(tat.parts);
        (excess > self.full()).then(|| self.tat_of(self.full(), now))
    }

    /// What is missing from a full bucket.
    fn debt(&self, tat: Tat, now: Timestamp) -> u128 {
        match tat.nanos.checked_sub(now.as_nanos()) {
            Some(ahead) => u128::from(ahead) * u128::from(self.parts) + u128::from(tat.parts),
            None => 0,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a remainder is below its divisor, which is a u32")]
    fn tat_of(&self, debt: u128, now: Timestamp) -> Tat {
        if self.parts == 1 {
            return Tat { nanos: now.as_nanos() + debt as u64, parts: 0 };
        }
        let parts = u128::from(self.parts);
        Tat { nanos: now.as_nanos() + (debt / parts) as u64, parts: (debt % parts) as u32 }
    }

    fn full(&self) -> u128 {
        self.parts_of(self.burst)
    }

    fn parts_of(&self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.unit)
    }

    fn nanos_ceil(&self, parts: u128) -> Nanos {
        if self.parts == 1 {
            return Nanos(u64::try_from(parts).unwrap_or(u64::MAX));
        }
        Nanos(u64::try_from(parts.div_ceil(u128::from(self.parts))).unwrap_or(u64::MAX))
    }
}

/// 128-bit division is a call of many cycles; nearly always both numbers fit 64 bits, where it is one instruction.
#[expect(clippy::cast_possible_truncation, reason = "a full bucket divided by its unit is at most the burst")]
fn divide(parts: u128, unit: u64) -> u64 {
    match u64::try_from(parts) {
        Ok(parts) => parts / unit,
        Err(_) => (parts / u128::from(unit)) as u64,
    }
}

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
        assert_eq!((verdict.used, verdict.reset), (20, Nanos::from_secs(2)));
    }

    #[test]
    fn numbers_out_of_range_make_no_bucket() {
        assert_eq!(TokenBucket::new(0, Window::SECOND, 1), Err(BadBucket::Amount));
        assert_eq!(TokenBucket::new(TokenBucket::AMOUNT_MAX + 1, Window::SECOND, 1), Err(BadBucket::Amount));
        assert_eq!(TokenBucket::new(1, Window::SECOND, 0), Err(BadBucket::Burst));
        assert_eq!(TokenBucket::new(1, Window::MAX, 1_000), Err(BadBucket::FillsTooSlowly));
    }
}
