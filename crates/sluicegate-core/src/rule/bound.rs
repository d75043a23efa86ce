//! What a rule admits at most, in the worst case: the promise of its algorithm as a value and in words.
//!
//! The bounds are those of `docs/algorithms.md`. They count units, so a request with a cost of 5 is 5 of
//! them. What is charged beyond a limit on purpose (overage that is billed, a true cost above the reserved
//! one) is not part of a bound.

use std::fmt;

use super::timeline::Grain;
use super::{Amount, Rule};
use crate::calendar::CalendarUnit;
use crate::time::Window;

/// The most that a rule admits, however the requests are timed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bound {
    /// A full bucket, and what flows in meanwhile.
    Refilled {
        /// What a full bucket holds.
        burst: u64,
        /// What flows in per window.
        amount: u64,
        /// The window.
        window: Window,
    },
    /// So much in each aligned window, hence twice that across the edge of two.
    Aligned {
        /// How much per aligned window.
        limit: Amount,
        /// The window.
        window: Window,
    },
    /// The estimate stays within the limit; where the estimate is wrong, at most twice that.
    Estimated {
        /// What the estimate never exceeds.
        limit: Amount,
        /// The window.
        window: Window,
    },
    /// So much in any window, and what was used is forgotten up to one bucket late.
    Bucketed {
        /// How much in any window.
        limit: Amount,
        /// The window.
        window: Window,
        /// The length of a bucket.
        bucket: Window,
    },
    /// Exactly so much in any window.
    Exact {
        /// How much in any window.
        limit: Amount,
        /// The window.
        window: Window,
    },
    /// So much in each period of a calendar.
    PerPeriod {
        /// How much per period.
        limit: Amount,
        /// Which periods.
        unit: CalendarUnit,
    },
    /// So many at the same time.
    InFlight {
        /// How many.
        limit: Amount,
    },
}

impl Rule {
    /// What this rule admits at most.
    pub fn bound(&self) -> Bound {
        match self {
            Self::TokenBucket(bucket) => {
                Bound::Refilled { burst: bucket.burst(), amount: bucket.amount(), window: bucket.window() }
            }
            Self::FixedWindow(rule) => Bound::Aligned { limit: rule.limit, window: rule.window },
            Self::SlidingWindow(rule) => Bound::Estimated { limit: rule.limit, window: rule.window },
            Self::SlidingBuckets(rule) => Bound::Bucketed {
                limit: rule.limit,
                window: rule.window,
                bucket: match Grain::buckets(rule) {
                    Grain::Buckets(secs) => Window::from_secs(secs.into()).unwrap_or(Window::SECOND),
                    Grain::Instants => Window::SECOND,
                },
            },
            Self::SlidingLog(rule) => Bound::Exact { limit: rule.limit, window: rule.window },
            Self::Calendar { limit, calendar } => Bound::PerPeriod { limit: *limit, unit: calendar.unit() },
            Self::Concurrency { limit, .. } => Bound::InFlight { limit: *limit },
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Refilled { burst, amount, window } => {
                write!(f, "{} + {} per {} in any window", grouped(burst), grouped(amount), per(window))
            }
            Self::Aligned { limit, window } => {
                let (limit, twice) = (limit.get(), limit.get() * 2);
                write!(
                    f,
                    "{} per aligned {}, {} in any {}",
                    grouped(limit),
                    per(window),
                    grouped(twice),
                    any(window)
                )
            }
            Self::Estimated { limit, window } => {
                let (limit, twice) = (grouped(limit.get()), grouped(limit.get() * 2));
                write!(f, "estimate never above {limit} per {}, {twice} in any {}", per(window), any(window))
            }
            Self::Bucketed { limit, window, bucket } => {
                write!(f, "{} in any {} (forgotten within {bucket} more)", grouped(limit.get()), any(window))
            }
            Self::Exact { limit, window } => {
                write!(f, "{} in any {}, exactly", grouped(limit.get()), any(window))
            }
            Self::PerPeriod { limit, unit } => {
                let unit = match unit {
                    CalendarUnit::Day => "calendar day",
                    CalendarUnit::Month => "calendar month",
                    CalendarUnit::BillingMonth => "billing month",
                };
                write!(f, "{} per {unit}", grouped(limit.get()))
            }
            Self::InFlight { limit } => write!(f, "{} in flight", grouped(limit.get())),
        }
    }
}

/// A window after the word "per": `hour` rather than `1h`.
pub fn per(window: Window) -> String {
    match window {
        Window::SECOND => "second".to_owned(),
        Window::MINUTE => "minute".to_owned(),
        Window::HOUR => "hour".to_owned(),
        Window::DAY => "day".to_owned(),
        other => other.to_string(),
    }
}

/// A window after the word "any". "Any day" would be read as a date.
fn any(window: Window) -> String {
    match window {
        Window::DAY => "24h".to_owned(),
        other => per(other),
    }
}

/// A number with commas between the thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Calendar;
    use crate::rule::{LEASE_DEFAULT, TokenBucket, Windowed};

    fn amount(amount: u64) -> Amount {
        Amount::new(amount).unwrap()
    }

    fn windowed(limit: u64, secs: u64) -> Windowed {
        Windowed { limit: amount(limit), window: Window::from_secs(secs).unwrap() }
    }

    #[track_caller]
    fn check(rule: &Rule, words: &str) {
        assert_eq!(rule.bound().to_string(), words);
    }

    #[test]
    fn every_algorithm_says_what_it_admits_at_most() {
        let bucket = |amount, secs, burst| {
            Rule::TokenBucket(TokenBucket::new(amount, Window::from_secs(secs).unwrap(), burst).unwrap())
        };
        check(&bucket(10, 1, 20), "20 + 10 per second in any window");
        check(&bucket(5, 10, 1_000), "1,000 + 5 per 10s in any window");
        check(&Rule::FixedWindow(windowed(50, 3_600)), "50 per aligned hour, 100 in any hour");
        check(&Rule::FixedWindow(windowed(50, 86_400)), "50 per aligned day, 100 in any 24h");
        check(&Rule::SlidingWindow(windowed(50, 3_600)), "estimate never above 50 per hour, 100 in any hour");
        check(&Rule::SlidingBuckets(windowed(200, 86_400)), "200 in any 24h (forgotten within 1m more)");
        check(&Rule::SlidingBuckets(windowed(200, 900)), "200 in any 15m (forgotten within 1s more)");
        check(&Rule::SlidingLog(windowed(50, 3_600)), "50 in any hour, exactly");
        let calendar = |unit| Rule::Calendar { limit: amount(50_000), calendar: Calendar::utc(unit) };
        check(&calendar(CalendarUnit::Day), "50,000 per calendar day");
        check(&calendar(CalendarUnit::Month), "50,000 per calendar month");
        check(&calendar(CalendarUnit::BillingMonth), "50,000 per billing month");
        check(&Rule::Concurrency { limit: amount(5), lease: LEASE_DEFAULT }, "5 in flight");
    }

    #[test]
    fn the_largest_limits_have_a_bound_too() {
        let most = windowed(Amount::MAX, Window::MAX.as_secs().into());
        check(
            &Rule::FixedWindow(most),
            "9,007,199,254,740,991 per aligned 400d, 18,014,398,509,481,982 in any 400d",
        );
        check(&Rule::SlidingBuckets(most), "9,007,199,254,740,991 in any 400d (forgotten within 400m more)");
    }

    #[test]
    fn thousands_are_grouped() {
        let pairs = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")];
        for (number, text) in pairs {
            assert_eq!(grouped(number), text);
        }
    }
}
