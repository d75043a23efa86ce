//! The five numbers of a reply, rounded as redis-cell rounds them.

use sluicegate_core::time::Nanos;
use sluicegate_engine::{ThrottleAnswer, Throttled};

use super::super::reply::Reply;
use super::asked::Asked;

const NANOS_PER_SEC: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// What stands for "no time to wait": it was admitted, or never will be.
const NO_WAIT: i64 = -1;

/// Writes what a limit said.
#[inline]
pub(in crate::resp) fn write(asked: &Asked, throttled: &Throttled, reply: &mut Reply<'_>) {
    match five(asked, throttled) {
        Some(five) => write_five(five, reply),
        None => reply.error("UNAVAILABLE the store is away, and nothing is decided without it"),
    }
}

/// Limited or not, the limit, what is left of it, seconds until a retry, seconds until all of it is left again.
fn five(asked: &Asked, throttled: &Throttled) -> Option<[i64; 5]> {
    let now = &throttled.limit;
    let (limited, retry) = match throttled.answer {
        // Nothing always fits, unless more is owed than the bucket holds.
        ThrottleAnswer::Fits | ThrottleAnswer::Wait(_) | ThrottleAnswer::Never if asked.quantity == 0 => {
            match now.reset.0.checked_sub(asked.bucket.fill).filter(|owed| *owed > 0) {
                None => (0, NO_WAIT),
                Some(owed) => (1, seconds(Nanos(owed))),
            }
        }
        ThrottleAnswer::Fits => (0, NO_WAIT),
        ThrottleAnswer::Wait(wait) => (1, seconds(wait)),
        ThrottleAnswer::Never => (1, NO_WAIT),
        ThrottleAnswer::Unavailable => return None,
    };
    let remaining = i64::try_from(now.remaining).unwrap_or(i64::MAX);
    Some([limited, asked.bucket.limit, remaining, retry, seconds(now.reset)])
}

/// Whole seconds, and one more for what is left of a second, unless that is less than a millisecond.
fn seconds(time: Nanos) -> i64 {
    let (whole, rest) = (time.0 / NANOS_PER_SEC, time.0 % NANOS_PER_SEC);
    let up = u64::from(rest >= NANOS_PER_MILLI);
    i64::try_from(whole + up).unwrap_or(i64::MAX)
}

#[inline]
pub(super) fn write_five(five: [i64; 5], reply: &mut Reply<'_>) {
    reply.array(5);
    five.into_iter().for_each(|number| reply.integer(number));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_up_from_a_millisecond_on() {
        for (nanos, expected) in [
            (0, 0),
            (999_999, 0),
            (1_000_000, 1),
            (1_000_000_000, 1),
            (1_000_999_999, 1),
            (1_001_000_000, 2),
            (2_500_000_000, 3),
        ] {
            assert_eq!(seconds(Nanos(nanos)), expected, "{nanos}");
        }
    }
}
