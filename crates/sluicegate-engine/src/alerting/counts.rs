//! What decisions leave behind for the rules: how many there were, and who was refused.

use std::collections::HashMap;
use std::hash::RandomState;

use parking_lot::Mutex;

use super::address_refusals::Refusals;
use crate::pulse::Outcomes;

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
    pub(super) fn of(outcomes: &Outcomes) -> Self {
        let admitted = outcomes.admitted();
        Self { admitted, refused: outcomes.total() - admitted }
    }

    /// What was counted since `before`.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            admitted: self.admitted.saturating_sub(before.admitted),
            refused: self.refused.saturating_sub(before.refused),
        }
    }
}

/// How often each address was refused since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct RefusedAddresses([Mutex<HashMap<u64, u32, RandomState>>; SHARDS]);

impl RefusedAddresses {
    /// By the keyed hash of the address: nobody can choose in which shard it lies.
    pub(crate) fn note(&self, address: u64) {
        let mut shard = self.0[(address >> 60) as usize % SHARDS].lock();
        if shard.len() >= ADDRESSES_MAX / SHARDS && !shard.contains_key(&address) {
            return;
        }
        let count = shard.entry(address).or_default();
        *count = count.saturating_add(1);
    }

    /// All of them, which are forgotten here.
    pub(super) fn take(&self) -> Refusals {
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
