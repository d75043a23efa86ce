//! How long things take, counted by length. In integers: a length is put among bounds, never multiplied.
//!
//! The bounds are ten to a power of ten, so a quantile is wrong by a third at most, and by a tenth as a rule. Every one
//! of them that people like to read (1, 2 and 5 times a power of ten) is among them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::time::Nanos;

/// The bounds within a power of ten, in tenths.
const STEPS: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];

/// The powers of ten, from a hundred nanoseconds on: the last bound is eight seconds.
const DECADES: usize = 8;

const BOUNDS: [u64; STEPS.len() * DECADES] = {
    let mut bounds = [0; STEPS.len() * DECADES];
    let (mut place, mut unit) = (0, 10);
    while place < bounds.len() {
        bounds[place] = STEPS[place % STEPS.len()] * unit;
        place += 1;
        if place.is_multiple_of(STEPS.len()) {
            unit *= 10;
        }
    }
    bounds
};

/// What lies above the last bound has a place too.
const PLACES: usize = BOUNDS.len() + 1;

/// How often which length was seen. Whoever reads it while others write sees each count as it was at some moment.
#[derive(Debug)]
pub struct Histogram {
    counts: [AtomicU64; PLACES],
    sum_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: std::array::from_fn(|_| AtomicU64::new(0)), sum_ns: AtomicU64::new(0) }
    }
}

/// A histogram as it was when it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lengths {
    counts: [u64; PLACES],
    /// All lengths together.
    pub sum: Nanos,
}

impl Histogram {
    /// The bounds that are shown: 1, 2 and 5 times a power of ten, from half a microsecond to a second.
    pub const SHOWN_NS: [u64; 20] = {
        let mut shown = [500; 20];
        let factors = [1_000, 2_000, 5_000];
        let (mut place, mut unit) = (1, 1);
        while place < shown.len() {
            shown[place] = factors[(place - 1) % 3] * unit;
            if place.is_multiple_of(3) {
                unit *= 10;
            }
            place += 1;
        }
        shown
    };

    /// Counts one length, for as many as it stands for.
    pub fn add(&self, length: Nanos, weight: u64) {
        let place = BOUNDS.partition_point(|bound| *bound < length.0);
        self.counts[place].fetch_add(weight, Ordering::Relaxed);
        self.sum_ns.fetch_add(length.0.saturating_mul(weight), Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn read(&self) -> Lengths {
        Lengths {
            counts: std::array::from_fn(|place| self.counts[place].load(Ordering::Relaxed)),
            sum: Nanos(self.sum_ns.load(Ordering::Relaxed)),
        }
    }
}

impl Lengths {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many are no longer than this bound, which is one of [`Histogram::SHOWN_NS`].
    pub fn at_most(&self, bound_ns: u64) -> u64 {
        let places = BOUNDS.partition_point(|bound| *bound <= bound_ns);
        self.counts.iter().take(places).sum()
    }

    /// The length that so many in a thousand do not exceed, between the bounds as if all were spread evenly there.
    /// Zero if there are none.
    pub fn per_mille(&self, share: u16) -> Nanos {
        let wanted = self.count().saturating_mul(share.into()).div_ceil(1_000).max(1);
        let mut before = 0;
        for (place, count) in self.counts.iter().enumerate() {
            if before + count >= wanted {
                let low = place.checked_sub(1).map_or(0, |below| BOUNDS[below]);
                let high = BOUNDS.get(place).copied().unwrap_or(low);
                let within =
                    u128::from(high - low) * u128::from(wanted - before) / u128::from((*count).max(1));
                return Nanos(low.saturating_add(u64::try_from(within).unwrap_or(0)));
            }
            before += count;
        }
        Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rise_and_those_that_are_shown_are_among_them() {
        assert!(BOUNDS.is_sorted_by(|a, b| a < b));
        assert_eq!((BOUNDS[0], BOUNDS[BOUNDS.len() - 1]), (100, 8_000_000_000));
        assert!(Histogram::SHOWN_NS.is_sorted_by(|a, b| a < b));
        assert_eq!(Histogram::SHOWN_NS[19], 1_000_000_000);
        for shown in Histogram::SHOWN_NS {
            assert!(BOUNDS.contains(&shown), "{shown}");
        }
    }

    #[test]
    fn a_length_counts_at_its_bound_and_not_below() {
        let histogram = Histogram::default();
        histogram.add(Nanos(1_000), 1);
        histogram.add(Nanos(1_001), 16);
        histogram.add(Nanos::from_secs(60), 1);
        let read = histogram.read();
        assert_eq!([500, 1_000, 2_000, 1_000_000_000].map(|bound| read.at_most(bound)), [0, 1, 17, 17]);
        assert_eq!(read.count(), 18);
        assert_eq!(read.sum, Nanos(1_000 + 16 * 1_001 + 60_000_000_000));
    }

    #[test]
    fn quantiles_lie_within_a_third_of_the_truth() {
        let histogram = Histogram::default();
        let lengths: Vec<u64> = (1..=1_000_u64).map(|number| number * number * 37 + 100).collect();
        lengths.iter().for_each(|length| histogram.add(Nanos(*length), 1));
        let read = histogram.read();
        for share in [1_u16, 500, 900, 990, 999, 1_000] {
            let truth = lengths[usize::from(share) - 1];
            let said = read.per_mille(share).0;
            assert!(said.abs_diff(truth) <= truth / 3, "{share}: {said} is not near {truth}");
        }
    }

    #[test]
    fn nothing_has_no_quantile_and_what_is_beyond_the_bounds_has_the_last() {
        let histogram = Histogram::default();
        assert_eq!(histogram.read().per_mille(990), Nanos::ZERO);
        histogram.add(Nanos(u64::MAX), 1);
        assert_eq!(histogram.read().per_mille(990), Nanos::from_secs(8));
    }
}
