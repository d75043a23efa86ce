//! Instants and durations, in whole nanoseconds.
//!
//! There is no `now()` here, on purpose: the process reads its clock once per request and hands the instant down.

use std::fmt;

const NANOS_PER_SEC: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// An instant: nanoseconds since the Unix epoch, never later than [`Timestamp::MAX`].
///
/// The ceiling leaves headroom below `u64::MAX` for every window and bucket that a policy may describe, so
/// arithmetic on instants cannot overflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);
    /// The last instant whose seconds fit 32 bits, in February 2106. Later ones are clamped to it.
    pub const MAX: Self = Self(u32::MAX as u64 * NANOS_PER_SEC);

    /// The instant `nanos` nanoseconds after the epoch, clamped to [`Timestamp::MAX`].
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        if nanos > Self::MAX.0 { Self::MAX } else { Self(nanos) }
    }

    /// The instant `secs` seconds after the epoch.
    #[inline]
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs as u64 * NANOS_PER_SEC)
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "MAX is u32::MAX seconds")]
    pub const fn as_secs(self) -> u32 {
        (self.0 / NANOS_PER_SEC) as u32
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[inline]
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, clamped to [`Timestamp::MAX`].
    #[inline]
    pub const fn plus(self, span: Nanos) -> Self {
        Self::from_nanos(self.0.saturating_add(span.0))
    }
}

/// A duration in whole nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A duration of whole seconds.
    #[inline]
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs as u64 * NANOS_PER_SEC)
    }

    /// Milliseconds, rounded up: whoever waits that long has waited long enough.
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_MILLI)
    }

    /// Seconds, rounded up: whoever waits that long has waited long enough.
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(NANOS_PER_SEC)
    }
}

/// The length of a window: whole seconds, from one second to [`Window::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Window(u32);

impl Window {
    /// 400 days: longer than a year, so that yearly windows work, and short enough that nothing overflows.
    pub const MAX: Self = Self(400 * 86_400);
    /// One second.
    pub const SECOND: Self = Self(1);
    /// One minute.
    pub const MINUTE: Self = Self(60);
    /// One hour.
    pub const HOUR: Self = Self(3_600);
    /// Twenty-four hours.
    pub const DAY: Self = Self(86_400);

    /// A window of `secs` seconds, or nothing if that is zero or longer than [`Window::MAX`].
    #[inline]
    pub const fn from_secs(secs: u64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "bounded by MAX, which fits")]
        if secs == 0 || secs > Self::MAX.0 as u64 { None } else { Some(Self(secs as u32)) }
    }

    /// Its length in seconds.
    #[inline]
    pub const fn as_secs(self) -> u32 {
        self.0
    }

    /// Its length in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0 as u64 * NANOS_PER_SEC
    }
}

/// The largest unit that divides the window: `1s`, `90s`, `15m`, `1h`, `30d`.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, suffix) in [(86_400, "d"), (3_600, "h"), (60, "m")] {
            if self.0.is_multiple_of(unit) {
                return write!(f, "{}{suffix}", self.0 / unit);
            }
        }
        write!(f, "{}s", self.0)
    }
}
