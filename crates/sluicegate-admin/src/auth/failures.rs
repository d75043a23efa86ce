//! Wrong tokens, counted, so that guessing is slow. A caller with the right token never waits.
//!
//! One counter for all callers: it also limits guesses from many addresses, and it needs no address, which an
//! application that nests the router may not provide.

use sluicegate_core::time::{Nanos, Timestamp};

/// How many wrong tokens are answered as such within [`WITHIN`].
const FAILURES_MAX: u32 = 20;

/// The time in which they are counted.
const WITHIN: Nanos = Nanos::from_secs(60);

/// The wrong tokens of the current minute, from the first of them on.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    since: Timestamp,
    count: u32,
}

/// How a wrong token is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failed {
    /// As wrong.
    Wrong,
    /// As one of too many.
    TooMany {
        /// When they are forgotten.
        retry_after: Nanos,
    },
}

impl Failures {
    /// Counts a wrong token.
    pub(crate) fn count(&mut self, now: Timestamp) -> Failed {
        if now.since(self.since) >= WITHIN {
            *self = Self { since: now, count: 0 };
        }
        if self.count == FAILURES_MAX {
            return Failed::TooMany { retry_after: self.since.plus(WITHIN).since(now) };
        }
        self.count += 1;
        Failed::Wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twenty_first_within_a_minute_is_too_many_until_the_minute_is_over() {
        let mut failures = Failures::default();
        let at = |secs| Timestamp::from_secs(1_000_000 + secs);
        for secs in 0..FAILURES_MAX {
            assert_eq!(failures.count(at(secs)), Failed::Wrong);
        }
        let too_many = |secs| Failed::TooMany { retry_after: Nanos::from_secs(secs) };
        assert_eq!(failures.count(at(20)), too_many(40));
        assert_eq!(failures.count(at(59)), too_many(1));
        assert_eq!(failures.count(at(60)), Failed::Wrong);
    }
}
