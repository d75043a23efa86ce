//! What decisions leave behind for the rules: two counts, and who was refused.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Decisions that are made at once count in different places.
const STRIPES: usize = 16;
/// How many tables there are for addresses that were refused: those who write at once rarely meet.
const SHARDS: usize = 16;
/// How many addresses are told apart within a step: of more, those that come last are not counted.
const ADDRESSES_MAX: usize = 65_536;

/// How many requests were decided on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Observed {
    /// Admitted.
    pub admitted: u64,
    /// Refused, whatever the reason.
    pub refused: u64,
}

impl Observed {
    /// What was counted since `before`.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            admitted: self.admitted.saturating_sub(before.admitted),
            refused: self.refused.saturating_sub(before.refused),
        }
    }
}

/// A cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Stripe {
    admitted: AtomicU64,
    refused: AtomicU64,
}

/// Counts of decisions, since the start.
#[derive(Debug, Default)]
pub(super) struct Counts([Stripe; STRIPES]);

impl Counts {
    /// `place` is any number that differs from decision to decision.
    #[inline]
    pub(super) fn admitted(&self, place: u64) {
        self.stripe(place).admitted.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn refused(&self, place: u64) {
        self.stripe(place).refused.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    fn stripe(&self, place: u64) -> &Stripe {
        &self.0[place as usize % STRIPES]
    }

    pub(super) fn sum(&self) -> Observed {
        let sum = |of: fn(&Stripe) -> &AtomicU64| {
            self.0.iter().map(|stripe| of(stripe).load(Ordering::Relaxed)).sum()
        };
        Observed { admitted: sum(|stripe| &stripe.admitted), refused: sum(|stripe| &stripe.refused) }
    }
}

/// How often each address was refused since it was last asked.
#[derive(Debug, Default)]
pub(super) struct RefusedAddresses([Mutex<HashMap<u64, u32, RandomState>>; SHARDS]);

impl RefusedAddresses {
    /// By the keyed hash of the address: nobody can choose in which shard it lies.
    pub(super) fn note(&self, address: u64) {
        let mut shard = self.0[(address >> 60) as usize % SHARDS].lock();
        if shard.len() >= ADDRESSES_MAX / SHARDS && !shard.contains_key(&address) {
            return;
        }
        let count = shard.entry(address).or_default();
        *count = count.saturating_add(1);
    }

    /// All of them, which are forgotten here.
    pub(super) fn take(&self) -> Vec<(u64, u32)> {
        let mut all = Vec::new();
        for shard in &self.0 {
            all.extend(std::mem::take(&mut *shard.lock()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_is_counted_once_wherever() {
        let counts = Counts::default();
        (0..100).for_each(|place| counts.admitted(place));
        let before = counts.sum();
        (0..7).for_each(|place| counts.refused(place * 3));
        assert_eq!(before, Observed { admitted: 100, refused: 0 });
        assert_eq!(counts.sum().since(before), Observed { admitted: 0, refused: 7 });
    }

    #[test]
    fn addresses_are_counted_until_they_are_taken_and_never_more_than_there_is_room_for() {
        let refused = RefusedAddresses::default();
        (0..3).for_each(|_| refused.note(9 << 60));
        refused.note(1);
        let mut taken = refused.take();
        taken.sort_unstable();
        assert_eq!(taken, [(1, 1), (9 << 60, 3)]);
        assert_eq!(refused.take(), []);
        let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..200_000).for_each(|number| refused.note(spread(number)));
        assert!(refused.take().len() <= ADDRESSES_MAX);
    }
}
