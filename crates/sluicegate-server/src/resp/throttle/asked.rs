//! What is asked of a limit, and what is wrong with it, in redis-cell's words where it has some.

use std::fmt;

use sluicegate_core::limit::LimitName;
use sluicegate_core::rule::{Amount, Rule, TokenBucket};
use sluicegate_core::time::Window;
use sluicegate_engine::ThrottleAsk;

use super::super::reply::shown;

/// The name of the limit, whatever its numbers: when they change for a key, what was used stays used.
const LIMIT: &str = "throttle";

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// The arguments of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read<'b> {
    pub(super) key: &'b [u8],
    pub(super) numbers: Numbers,
    pub(super) quantity: i64,
}

/// The numbers of a limit, as they were given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    max_burst: i64,
    count: i64,
    period: i64,
}

/// What answers are made from: the numbers of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket {
    /// The most that fits at once.
    pub(super) limit: i64,
    /// How long an empty bucket takes to fill, in nanoseconds.
    pub(super) fill: u64,
}

/// What is asked of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::resp) struct Asked {
    pub(super) bucket: Bucket,
    pub(super) quantity: i64,
}

/// Why a command asks for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wrong<'b> {
    /// Too few arguments, or too many.
    Count,
    /// An argument is no number.
    Number(&'b [u8]),
    /// The rate is nothing per time, or everything at once.
    Zero,
    /// The rate is below nothing.
    Negative,
    /// A number is larger than is counted with here.
    TooLarge,
}

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str(
                "Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> \
                 [<quantity>]",
            ),
            Self::Number(text) => {
                write!(f, "Cell error: Store error: Couldn't parse as integer: {}", shown(text))
            }
            Self::Zero => f.write_str("Cell error: Store error: Zero rates are not supported"),
            Self::Negative => f.write_str("ERR count per period and period must be above zero"),
            Self::TooLarge => write!(
                f,
                "ERR the limit is too large: max_burst is below {}, count per period at most {} in lowest terms, \
                 period at most {} seconds, and an empty bucket fills within {} years",
                TokenBucket::BURST_MAX,
                TokenBucket::AMOUNT_MAX,
                Window::MAX.as_secs(),
                TokenBucket::FILL_YEARS_MAX,
            ),
        }
    }
}

/// Reads the arguments.
#[inline]
pub(super) fn read<'b>(args: &[&'b [u8]]) -> Result<Read<'b>, Wrong<'b>> {
    let (key, max_burst, count, period, quantity) = match *args {
        [key, max_burst, count, period] => (key, max_burst, count, period, None),
        [key, max_burst, count, period, quantity] => (key, max_burst, count, period, Some(quantity)),
        _ => return Err(Wrong::Count),
    };
    let numbers =
        Numbers { max_burst: integer(max_burst)?, count: integer(count)?, period: integer(period)? };
    let quantity = quantity.map_or(Ok(1), integer)?;
    numbers.check_rate()?;
    Ok(Read { key, numbers, quantity })
}

fn integer(text: &[u8]) -> Result<i64, Wrong<'_>> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Wrong::Number(text))
}

impl Numbers {
    #[inline]
    fn check_rate(&self) -> Result<(), Wrong<'static>> {
        match (self.count, self.period) {
            (0, _) | (_, 0) => Err(Wrong::Zero),
            (count, period) if count < 0 || period < 0 => Err(Wrong::Negative),
            // A unit that takes no nanosecond takes no time at all.
            (count, period) if period.saturating_mul(NANOS_PER_SEC) < count => Err(Wrong::Zero),
            _ => Ok(()),
        }
    }

    /// The answer of a limit that holds nothing, of which nothing is kept.
    #[inline]
    pub(super) fn without_burst(&self, quantity: i64) -> Option<[i64; 5]> {
        (self.max_burst < 0).then(|| {
            let limit = self.max_burst + 1;
            [i64::from(quantity > limit), limit, 0, -1, 0]
        })
    }

    /// The limit with these numbers, and what answers are made from.
    pub(super) fn limit(&self) -> Result<(Bucket, LimitName, Rule), Wrong<'static>> {
        let (bucket, rule) = self.bucket()?;
        let name = LimitName::new(LIMIT).ok_or(Wrong::TooLarge)?;
        Ok((bucket, name, rule))
    }

    /// The bucket with these numbers, in lowest terms: 60 per 60 seconds are 1 per second.
    fn bucket(&self) -> Result<(Bucket, Rule), Wrong<'static>> {
        let positive = |number: i64| u64::try_from(number).map_err(|_| Wrong::TooLarge);
        let (count, period) = (positive(self.count)?, positive(self.period)?);
        let divisor = greatest_common_divisor(count, period);
        let limit = self.max_burst.checked_add(1).ok_or(Wrong::TooLarge)?;
        let window = Window::from_secs(period / divisor).ok_or(Wrong::TooLarge)?;
        let bucket =
            TokenBucket::new(count / divisor, window, positive(limit)?).map_err(|_| Wrong::TooLarge)?;
        let fill = bucket.fill_time().0;
        Ok((Bucket { limit, fill }, Rule::TokenBucket(bucket)))
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl Asked {
    /// The same for the engine. What is larger than any amount is larger than every limit.
    #[inline]
    pub(super) fn ask(&self) -> ThrottleAsk {
        let most = self.quantity.unsigned_abs().clamp(1, Amount::MAX);
        let amount = Amount::new(most).unwrap_or(Amount::ONE);
        match self.quantity {
            0 => ThrottleAsk::Peek(amount),
            1.. => ThrottleAsk::Take(amount),
            _ => ThrottleAsk::Give(amount),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_has_a_name_whatever_its_numbers() {
        for max_burst in [0, 9] {
            let limit = Numbers { max_burst, count: 1, period: 1 }.limit();
            assert_eq!(limit.unwrap().1.as_str(), LIMIT);
        }
    }

    #[test]
    fn limits_are_compared_in_lowest_terms() {
        let bucket = |count, period| Numbers { max_burst: 9, count, period }.bucket().unwrap();
        assert_eq!(bucket(60, 60), bucket(1, 1));
        assert_eq!(bucket(6_000_000_000, 60), bucket(100_000_000, 1));
        assert_ne!(bucket(60, 61), bucket(1, 1));
    }

    #[test]
    fn numbers_beyond_what_is_counted_with_are_refused() {
        let wrong = |max_burst, count, period| Numbers { max_burst, count, period }.bucket().unwrap_err();
        assert_eq!(wrong(i64::MAX, 1, 1), Wrong::TooLarge);
        assert_eq!(wrong(u32::MAX.into(), 1, 1), Wrong::TooLarge);
        assert_eq!(wrong(0, 1_000_000_001, 2), Wrong::TooLarge);
        assert_eq!(wrong(0, 1, 34_560_001), Wrong::TooLarge);
        assert_eq!(wrong(1_000, 1, 34_560_000), Wrong::TooLarge);
    }
}
