//! When something happens, as headers say it: so many seconds from now, or at an instant.

use std::time::{Duration, SystemTime};

/// When something happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// So long after the answer.
    In(Duration),
    /// At this instant of the server's clock.
    At(SystemTime),
}

/// September 2001. Smaller numbers are too small for an instant, and larger ones too large for a delay.
const INSTANTS_FROM: u64 = 1_000_000_000;

impl Moment {
    /// How long until then; nothing if it has passed.
    pub fn wait(self, now: SystemTime) -> Duration {
        match self {
            Self::In(delay) => delay,
            Self::At(instant) => instant.duration_since(now).unwrap_or_default(),
        }
    }

    /// As in `Retry-After`: seconds, or a date.
    pub(super) fn delay_or_date(text: &str) -> Option<Self> {
        let delay = number(text).map(|seconds| Self::In(Duration::from_secs(seconds)));
        delay.or_else(|| http_date(text).map(Self::At))
    }

    /// As in the `Reset` of a limit: seconds from now, seconds since 1970, or a date.
    pub(super) fn reset(text: &str) -> Option<Self> {
        let Some(seconds) = number(text) else { return http_date(text).map(Self::At) };
        let since = Duration::from_secs(seconds);
        // What no clock can say is far away.
        let instant = SystemTime::UNIX_EPOCH.checked_add(since).filter(|_| seconds >= INSTANTS_FROM);
        Some(instant.map_or(Self::In(since), Self::At))
    }
}

/// Decimal digits and nothing else; the largest number there is if there are too many of them.
pub(super) fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

pub(super) fn http_date(text: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(text).ok()
}
