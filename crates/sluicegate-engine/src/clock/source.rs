//! The clocks of the system.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sluicegate_core::time::{Nanos, Timestamp};

/// Monotonic time since `anchor`.
#[inline]
pub(super) fn since_ns(anchor: Instant) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this is the edge of the process")]
    let elapsed = anchor.elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// The wall clock. One before 1970 is as good as one at 1970.
pub(super) fn wall() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the edge of the process")]
    let wall = SystemTime::now();
    let since = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Timestamp::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
}

/// Time since the machine was started, with the time that it slept.
#[cfg(target_os = "linux")]
pub(super) fn boottime() -> Nanos {
    let at = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let secs = u64::try_from(at.tv_sec).unwrap_or(0);
    Nanos(secs.saturating_mul(1_000_000_000).saturating_add(u64::try_from(at.tv_nsec).unwrap_or(0)))
}

/// Nothing tells how long the machine slept: no sleep confirms a step.
#[cfg(not(target_os = "linux"))]
pub(super) fn boottime() -> Nanos {
    Nanos(0)
}
