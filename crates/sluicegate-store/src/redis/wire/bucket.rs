//! Token buckets in numbers below 2^53.
//!
//! Nearly all buckets fit as the core has them, in fractions of a nanosecond. Those that do not are kept in the
//! coarser fraction of a microsecond in which all their charges are whole, and the script divides their products
//! piece by piece. Either way nothing is rounded, except what an edit of the limit carries over: that is rounded up
//! to the next fraction.
//!
//! An overdrawn bucket is marked as in the core: with a microsecond less, and a fraction that has a whole one more.

use sluicegate_core::rule::TokenBucket;
use sluicegate_core::rule::token_bucket::Tat;

use super::number::MICRO;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The fractions in which the script counts a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grid {
    /// As the core counts: a unit takes `unit` parts, of which a nanosecond has `parts`.
    Fine {
        /// The time of one unit, in parts.
        unit: u64,
        /// How many parts a nanosecond has.
        parts: u64,
    },
    /// A unit takes p/q microseconds; a fraction is 1/q of one, which is `scale` of the core's parts.
    Coarse {
        /// The time of q units, in microseconds.
        p: u64,
        /// How many fractions a microsecond has.
        q: u64,
        /// How many parts a nanosecond has in the core.
        parts: u64,
    },
}

impl Grid {
    /// The grid of a bucket.
    pub(crate) fn of(bucket: &TokenBucket) -> Self {
        let (amount, nanos) = (bucket.amount(), bucket.window().as_nanos());
        let divisor = greatest_common_divisor(amount, nanos);
        let (unit, parts) = (nanos / divisor, amount / divisor);
        // The most that is ever added up: ten times the burst that may be owed and a cost of one more, and the second
        // by which clocks may differ.
        let most = (11 * u128::from(bucket.burst()) + 2) * u128::from(unit)
            + 2 * u128::from(NANOS_PER_SEC) * u128::from(parts);
        if most < 1 << 53 {
            return Self::Fine { unit, parts };
        }
        let micros = nanos / MICRO;
        let divisor = greatest_common_divisor(amount, micros);
        Self::Coarse { p: micros / divisor, q: amount / divisor, parts }
    }

    /// How many fractions a microsecond has, and how many parts a nanosecond.
    fn scales(self) -> (u64, u64) {
        match self {
            Self::Fine { parts, .. } => (MICRO * parts, parts),
            Self::Coarse { q, parts, .. } => (q, parts),
        }
    }

    /// The instant that the script has as whole microseconds and a fraction.
    pub(crate) fn tat(self, micros: u64, fraction: u64) -> Tat {
        let (per_micro, parts) = self.scales();
        let overdrawn = fraction >= per_micro;
        // 1000·parts is a multiple of q: what is whole in fractions of a microsecond is so in those of a nanosecond.
        let above = fraction.saturating_mul(MICRO * parts / per_micro);
        let nanos = micros.saturating_mul(MICRO).saturating_add(above / parts);
        let mark = if overdrawn { 1 } else { 0 };
        Tat {
            nanos: nanos.saturating_sub(mark),
            parts: u32::try_from(above % parts + mark * parts).unwrap_or(u32::MAX),
        }
    }

    /// An instant as the script has it. What lies between two fractions is rounded up.
    pub(crate) fn fractions(self, tat: Tat) -> (u64, u64) {
        let (per_micro, parts) = self.scales();
        let mark = u64::from(u64::from(tat.parts) >= parts);
        let (nanos, rest) = (tat.nanos + mark, u64::from(tat.parts) - mark * parts);
        let (micros, above) = (nanos / MICRO, nanos % MICRO * parts + rest);
        let (micros, fraction) = match above.div_ceil(MICRO * parts / per_micro) {
            whole if whole == per_micro => (micros + 1, 0),
            fraction => (micros, fraction),
        };
        (micros - mark, fraction + mark * per_micro)
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_core::time::Window;

    fn grid(amount: u64, window: Window, burst: u64) -> Grid {
        Grid::of(&TokenBucket::new(amount, window, burst).unwrap())
    }

    #[test]
    fn buckets_that_people_write_are_counted_as_the_core_counts_them() {
        for (amount, window, burst) in [
            (10, Window::SECOND, 20),
            (3, Window::SECOND, 3),
            (100, Window::MINUTE, 200),
            (5_000, Window::SECOND, 20_000),
            (1_000_000, Window::DAY, 1_000_000),
            (50_000, Window::HOUR, 100_000),
        ] {
            assert!(matches!(grid(amount, window, burst), Grid::Fine { .. }), "{amount} per {window}");
        }
        assert!(matches!(grid(1_234_567, Window::DAY, 200_000), Grid::Coarse { .. }));
    }

    #[test]
    fn instants_come_back_as_they_were() {
        for grid in [
            grid(7, Window::SECOND, 3),
            grid(1_234_567, Window::DAY, 200_000),
            grid(999_983, Window::MINUTE, 1 << 20),
        ] {
            let (steps, step) = match grid {
                Grid::Fine { parts, .. } => (MICRO * parts, 1),
                Grid::Coarse { q, .. } => (q, q / 1_000 + 1),
            };
            let mut fraction = 0;
            while fraction < steps {
                let tat = grid.tat(1_790_000_000_000_000, fraction);
                assert_eq!(grid.fractions(tat), (1_790_000_000_000_000, fraction), "{grid:?}");
                fraction += step;
            }
        }
    }

    #[test]
    fn an_overdrawn_bucket_is_one_on_the_way_there_and_back() {
        for (amount, window, burst) in [(7, Window::SECOND, 3), (1_234_567, Window::DAY, 200_000)] {
            let bucket = TokenBucket::new(amount, window, burst).unwrap();
            let grid = Grid::of(&bucket);
            for fraction in [0, 1, amount - 1] {
                let tat = grid.tat(1_790_000_000_000_000, fraction);
                let marked = bucket.overdrawn(tat);
                let (micros, above) = grid.fractions(marked);
                assert_eq!((micros, above), (1_789_999_999_999_999, fraction + grid.scales().0));
                assert_eq!(grid.tat(micros, above), marked);
                assert!(bucket.is_overdrawn(marked) && !bucket.is_overdrawn(tat));
            }
        }
    }

    #[test]
    fn what_lies_between_two_fractions_is_rounded_up() {
        let coarse = grid(1_234_567, Window::DAY, 200_000);
        let Grid::Coarse { q, .. } = coarse else { panic!("{coarse:?}") };
        assert_eq!(coarse.fractions(Tat { nanos: 5_000, parts: 1 }), (5, 1));
        assert_eq!(coarse.fractions(Tat { nanos: 5_999, parts: 1_234_566 }), (6, 0), "{q}");
    }
}
