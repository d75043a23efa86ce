//! A time in a header: a delay in seconds, or a date.

use std::time::{Duration, SystemTime};

/// A time in a header.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderTime {
    /// This long after the response.
    After(Duration),
    /// At this time of the server's clock.
    At(SystemTime),
}

/// September 2001 as seconds since 1970. Smaller numbers are delays, larger ones dates.
const DATES_FROM: u64 = 1_000_000_000;

impl HeaderTime {
    /// How long until then; zero if it has passed.
    pub fn wait(self, now: SystemTime) -> Duration {
        match self {
            Self::After(delay) => delay,
            Self::At(instant) => instant.duration_since(now).unwrap_or_default(),
        }
    }

    /// Parses `Retry-After`: seconds, or a date.
    pub(super) fn delay_or_date(text: &str) -> Option<Self> {
        let delay = number(text).map(|seconds| Self::After(Duration::from_secs(seconds)));
        delay.or_else(|| http_date(text).map(Self::At))
    }

    /// Parses the reset of a limit: seconds from now, seconds since 1970, or a date.
    pub(super) fn reset(text: &str) -> Option<Self> {
        let Some(seconds) = number(text) else { return http_date(text).map(Self::At) };
        let since = Duration::from_secs(seconds);
        // A date beyond the range of the clock is read as a long delay.
        let instant = SystemTime::UNIX_EPOCH.checked_add(since).filter(|_| seconds >= DATES_FROM);
        Some(instant.map_or(Self::After(since), Self::At))
    }
}

/// Parses decimal digits; `u64::MAX` if there are too many of them.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

pub(super) fn http_date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text).ok()
}
