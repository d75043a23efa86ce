//! Which decisions are looked at more closely: all of them while there are few, one in so many when there are more.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One decision in so many is looked at when there are many, and counts for as many.
pub const ONE_IN: u64 = 32;

/// From so many decisions in a second on there are many.
pub const MANY: u32 = 1_000;

/// An odd number near the golden ratio of what a word holds: its multiples are spread evenly, and go round with no
/// pattern that callers may have.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Which decisions are looked at.
#[derive(Debug)]
pub(crate) struct Sampling {
    /// Those whose number, spread out, is not above this.
    most: AtomicU64,
    /// How many were looked at in this second, while all are.
    looked: AtomicU32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { most: AtomicU64::new(u64::MAX), looked: AtomicU32::new(0) }
    }
}

impl Sampling {
    /// Whether the decision of this number is looked at.
    #[inline]
    pub(crate) fn is_chosen(&self, number: u64) -> bool {
        number.wrapping_mul(SPREAD) <= self.most.load(Ordering::Relaxed)
    }

    /// For how many a decision counts that is looked at.
    pub(crate) fn weight(&self) -> u64 {
        if self.most.load(Ordering::Relaxed) != u64::MAX {
            return ONE_IN;
        }
        if self.looked.fetch_add(1, Ordering::Relaxed) >= MANY {
            self.set(false);
        }
        1
    }

    /// Another second begins, after one with so many decisions.
    pub(crate) fn turn(&self, decisions: u64) {
        self.looked.store(0, Ordering::Relaxed);
        self.set(decisions < MANY.into());
    }

    fn set(&self, all: bool) {
        self.most.store(if all { u64::MAX } else { u64::MAX / ONE_IN }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_chosen_until_there_are_many_and_again_after_a_quiet_second() {
        let sampling = Sampling::default();
        let chosen = |from: u64| (from..from + 3_200).filter(|number| sampling.is_chosen(*number)).count();
        assert_eq!(chosen(0), 3_200);
        let weights: u64 = (0..=MANY).map(|_| sampling.weight()).sum();
        assert_eq!(weights, u64::from(MANY) + 1);
        assert_eq!(sampling.weight(), ONE_IN);
        assert!((98..=102).contains(&chosen(1_000_000)), "{}", chosen(1_000_000));
        sampling.turn(5_000);
        assert_eq!(sampling.weight(), ONE_IN);
        sampling.turn(999);
        assert_eq!((chosen(7), sampling.weight()), (3_200, 1));
    }

    #[test]
    fn callers_that_take_turns_are_chosen_alike() {
        let sampling = Sampling::default();
        sampling.turn(u64::MAX);
        for callers in [2_u64, 3, 8, 32, 64, 100] {
            let mut chosen = vec![0_u64; usize::try_from(callers).unwrap()];
            for number in (0..callers * 32 * 100).filter(|number| sampling.is_chosen(*number)) {
                chosen[usize::try_from(number % callers).unwrap()] += 1;
            }
            for count in chosen {
                assert!((80..=120).contains(&count), "{callers} callers: {count}");
            }
        }
    }
}
