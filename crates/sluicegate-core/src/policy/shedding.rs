//! The settings of load shedding.

use super::percent::Percent;
use crate::time::Nanos;

/// What is refused while the upstream cannot keep up, the lowest priorities first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shedding {
    /// How long requests may wait for the upstream beyond what it takes unloaded.
    pub target: Nanos,
    /// The share of what is served that each priority below the highest gets, whatever the higher ones ask for.
    pub floor: Percent,
}

impl Shedding {
    /// Long enough to keep an upstream busy, short enough that nobody notices.
    pub const TARGET_DEFAULT: Nanos = Nanos(20_000_000);
    /// The longest that may be asked for: nobody waits longer for an answer that may not come.
    pub const TARGET_MAX: Nanos = Nanos::from_secs(60);
    /// Enough that the lowest plan is slow, and not away.
    pub const FLOOR_DEFAULT: Percent = match Percent::new(5) {
        Some(floor) => floor,
        None => Percent::FULL,
    };
    /// The most that may be asked for: with more, the highest priority would have less than the lowest.
    pub const FLOOR_MAX: u8 = 50;
}

impl Default for Shedding {
    fn default() -> Self {
        Self { target: Self::TARGET_DEFAULT, floor: Self::FLOOR_DEFAULT }
    }
}
