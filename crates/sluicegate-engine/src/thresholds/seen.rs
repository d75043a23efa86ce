//! What was announced lately, as far as this process remembers: a table of fixed size that forgets when it is full.
//!
//! Forgetting does no harm: it is asked again what was announced, where that is kept.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::limit::LimitName;
use sluicegate_core::plan::{HomeId, Sharer};

use super::Level;

/// How many quotas are remembered: 8 bytes for each.
const SPOTS: usize = 1 << 16;
/// In how many places of the table one may be.
const WAYS: usize = 4;
/// The bits of an entry that are its level.
const LEVEL: u64 = 7;

/// Where a quota in one period is remembered: a hash of what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot(u64);

impl Spot {
    pub(super) fn of(home: HomeId, sharer: Sharer, limit: &LimitName, amount: u64, turn: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "both halves of a keyed hash")]
        let (low, high) = (home.0 as u64, (home.0 >> 64) as u64);
        let name = limit.as_str().bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)));
        // Nobody can choose what a home is, so nobody can choose with whom to share a spot.
        let parts = [high, u64::from(sharer.get()), name, amount, turn];
        Self(parts.into_iter().fold(mix(low), |hash, part| mix(hash ^ part)))
    }

    fn entry(self, level: Level) -> u64 {
        self.0 & !LEVEL | level as u64
    }

    fn ways(self) -> std::ops::Range<usize> {
        let set = (self.0 >> 32) as usize % (SPOTS / WAYS);
        set * WAYS..(set + 1) * WAYS
    }
}

/// Spreads every bit over all others.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    let number = (number ^ (number >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d);
    number ^ (number >> 33)
}

#[derive(Debug)]
pub(super) struct Seen(Box<[AtomicU64]>);

impl Default for Seen {
    fn default() -> Self {
        Self((0..SPOTS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Seen {
    /// Whether this level of it, or a higher one, is known to be announced.
    pub(super) fn has(&self, spot: Spot, level: Level) -> bool {
        self.at(spot).any(|way| is_of(way.load(Ordering::Relaxed), spot, level))
    }

    /// Remembers that it is.
    pub(super) fn put(&self, spot: Spot, level: Level) {
        let known = |way: &&AtomicU64| way.load(Ordering::Relaxed) & !LEVEL == spot.0 & !LEVEL;
        let free = |way: &&AtomicU64| way.load(Ordering::Relaxed) == 0;
        let way = self.at(spot).find(known).or_else(|| self.at(spot).find(free));
        // Any other will do when all are taken.
        let way = way.or_else(|| self.at(spot).nth((spot.0 >> 16) as usize % WAYS));
        if let Some(way) = way {
            way.store(spot.entry(level), Ordering::Relaxed);
        }
    }

    /// Forgets it: it was not announced after all.
    pub(super) fn forget(&self, spot: Spot) {
        for way in self.at(spot) {
            let entry = way.load(Ordering::Relaxed);
            if entry & !LEVEL == spot.0 & !LEVEL {
                // If another came there meanwhile, it stays.
                let _ = way.compare_exchange(entry, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
    }

    fn at(&self, spot: Spot) -> impl Iterator<Item = &AtomicU64> {
        self.0[spot.ways()].iter()
    }
}

fn is_of(entry: u64, spot: Spot, level: Level) -> bool {
    entry & !LEVEL == spot.0 & !LEVEL && entry & LEVEL >= level as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(home: u128, turn: u64) -> Spot {
        Spot::of(HomeId(home << 64 | home), Sharer::ALL, &LimitName::new("quota").unwrap(), 100, turn)
    }

    #[test]
    fn a_level_is_known_with_all_below_it_until_it_is_forgotten() {
        let seen = Seen::default();
        assert!(!seen.has(spot(1, 1), Level::Half));
        seen.put(spot(1, 1), Level::Most);
        assert!(seen.has(spot(1, 1), Level::Half) && seen.has(spot(1, 1), Level::Most));
        assert!(!seen.has(spot(1, 1), Level::NearlyAll));
        assert!(!seen.has(spot(1, 2), Level::Half), "another period");
        assert!(!seen.has(spot(2, 1), Level::Half), "another home");
        seen.put(spot(1, 1), Level::All);
        assert!(seen.has(spot(1, 1), Level::All));
        seen.forget(spot(1, 1));
        assert!(!seen.has(spot(1, 1), Level::Half));
    }

    #[test]
    fn a_table_that_is_full_knows_the_latest() {
        let seen = Seen::default();
        for home in 0..400_000 {
            seen.put(spot(home, 1), Level::Half);
            assert!(seen.has(spot(home, 1), Level::Half));
        }
    }
}
