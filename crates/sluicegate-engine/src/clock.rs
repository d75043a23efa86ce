//! The one place that reads a clock.
//!
//! Time runs with the monotonic clock, anchored to the wall clock when the process starts, so it never runs backwards.
//! Where the wall clock is ahead, time jumps to it; where it was set back, time goes on as it did until the next start.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sluicegate_core::time::Timestamp;

/// How far ahead of the wall clock the process may start because its records say it was that late already. Beyond
/// it, the old clock was wrong, and waiting for the wall clock to catch up would take too long.
const AHEAD_MAX: Duration = Duration::from_secs(3_600);

/// Where `now` comes from.
#[derive(Debug)]
pub struct Clock(Source);

#[derive(Debug)]
enum Source {
    System { anchor: Instant, at_anchor_ns: AtomicU64 },
    Fixed(AtomicU64),
}

impl Clock {
    /// The system's clock. It starts no earlier than `not_before`, the latest instant on record.
    pub fn system(not_before: Timestamp) -> Self {
        let wall = wall_ns();
        let ahead = not_before.as_nanos().saturating_sub(wall);
        let start = if u128::from(ahead) <= AHEAD_MAX.as_nanos() { wall + ahead } else { wall };
        #[expect(clippy::disallowed_methods, reason = "this is the edge of the process")]
        let anchor = Instant::now();
        Self(Source::System { anchor, at_anchor_ns: AtomicU64::new(start) })
    }

    /// A clock that stands still until it is set: for tests.
    pub fn fixed(at: Timestamp) -> Self {
        Self(Source::Fixed(AtomicU64::new(at.as_nanos())))
    }

    /// Sets a clock that stands still. The system's clock is not touched.
    pub fn set(&self, at: Timestamp) {
        if let Source::Fixed(now) = &self.0 {
            now.store(at.as_nanos(), Ordering::Relaxed);
        }
    }

    /// The instant.
    #[inline]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System { anchor, at_anchor_ns } => {
                Timestamp::from_nanos(at_anchor_ns.load(Ordering::Relaxed).saturating_add(since_ns(*anchor)))
            }
            Source::Fixed(now) => Timestamp::from_nanos(now.load(Ordering::Relaxed)),
        }
    }

    /// Follows the wall clock where that is ahead. Called about once a second.
    pub fn follow(&self) {
        if let Source::System { anchor, at_anchor_ns } = &self.0 {
            at_anchor_ns.fetch_max(wall_ns().saturating_sub(since_ns(*anchor)), Ordering::Relaxed);
        }
    }
}

fn since_ns(anchor: Instant) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this is the edge of the process")]
    let elapsed = anchor.elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn wall_ns() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this is the edge of the process")]
    let wall = SystemTime::now();
    // A clock before 1970 is as good as one at 1970.
    wall.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn following_never_steps_back() {
        let ahead = Timestamp::from_secs(Timestamp::from_nanos(wall_ns()).as_secs() + 600);
        let clock = Clock::system(ahead);
        let before = clock.now();
        clock.follow();
        assert!(before >= ahead && clock.now() >= before);
    }

    #[test]
    fn the_start_is_not_before_what_is_on_record_unless_that_is_absurd() {
        let wall = Timestamp::from_nanos(wall_ns());
        let soon = Timestamp::from_secs(wall.as_secs() + 60);
        assert!(Clock::system(soon).now() >= soon);
        let absurd = Timestamp::from_secs(wall.as_secs() + 86_400);
        assert!(Clock::system(absurd).now() < absurd);
    }

    #[test]
    fn a_fixed_clock_stands_until_it_is_set() {
        let clock = Clock::fixed(Timestamp::from_secs(5));
        assert_eq!(clock.now(), Timestamp::from_secs(5));
        clock.set(Timestamp::from_secs(6));
        clock.follow();
        assert_eq!(clock.now(), Timestamp::from_secs(6));
    }
}
