//! Requests that may be repeated: within a day, one with the same name is not charged again.

use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;

use parking_lot::{Mutex, MutexGuard};
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::Idempotency;

use crate::ids::DecisionId;

/// How long a name is remembered.
pub(crate) const REMEMBERED: Nanos = Nanos::from_secs(24 * 3_600);

/// How many names are remembered at the most, over all shards. Beyond it the oldest is forgotten early.
const NAMES_MAX: usize = 1 << 20;
const SHARDS: usize = 64;

/// What is remembered of a request that was charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Charged {
    pub(crate) decision: DecisionId,
    pub(crate) request: u64,
    pub(crate) at: Timestamp,
}

type Name = (HomeId, u64);

/// The names of one shard, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    charged: HashMap<Name, Charged, RandomState>,
    order: VecDeque<(Timestamp, Name)>,
}

/// Every name that is remembered.
#[derive(Debug)]
pub(crate) struct Repeats(Box<[Mutex<Shard>]>);

impl Default for Repeats {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Repeats {
    /// The shard of a name, held until the request is settled: of two at once, one is charged.
    pub(crate) fn hold(&self, home: HomeId, key: u64) -> MutexGuard<'_, Shard> {
        // Both are keyed hashes: nobody chooses who waits for whom, and one account's names are in all shards.
        self.0[usize::try_from((home.0 ^ u128::from(key)) % SHARDS as u128).unwrap_or(0)].lock()
    }
}

impl Shard {
    /// What is remembered under a name.
    pub(crate) fn find(&self, home: HomeId, key: u64, now: Timestamp) -> Option<Charged> {
        let charged = self.charged.get(&(home, key))?;
        (now.since(charged.at) < REMEMBERED).then_some(*charged)
    }

    /// Remembers a request that was charged.
    pub(crate) fn remember(
        &mut self,
        home: HomeId,
        idempotency: Idempotency,
        decision: DecisionId,
        at: Timestamp,
    ) {
        while let Some((oldest, name)) = self.order.front().copied() {
            let outdated = at.since(oldest) >= REMEMBERED || self.order.len() >= NAMES_MAX / SHARDS;
            if !outdated {
                break;
            }
            self.order.pop_front();
            // A name that was used again since is another entry's to forget.
            if self.charged.get(&name).is_some_and(|charged| charged.at == oldest) {
                self.charged.remove(&name);
            }
        }
        let name = (home, idempotency.key);
        self.charged.insert(name, Charged { decision, request: idempotency.request, at });
        self.order.push_back((at, name));
    }

    /// Forgets a request whose charge was given back: its repeat is charged again.
    pub(crate) fn forget(&mut self, home: HomeId, idempotency: Idempotency, decision: DecisionId) {
        let name = (home, idempotency.key);
        if self.charged.get(&name).is_some_and(|charged| charged.decision == decision) {
            self.charged.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn a_name_is_remembered_for_a_day_and_then_forgotten() {
        let repeats = Repeats::default();
        let home = HomeId(7);
        let mut shard = repeats.hold(home, 1);
        shard.remember(home, Idempotency { key: 1, request: 2 }, DecisionId(3), at(100));
        assert_eq!(shard.find(home, 1, at(86_499)).unwrap().decision, DecisionId(3));
        assert_eq!(shard.find(home, 1, at(86_500)), None);
        shard.remember(home, Idempotency { key: 9, request: 2 }, DecisionId(4), at(86_500));
        assert_eq!(shard.charged.len(), 1);
    }

    #[test]
    fn names_are_bounded_and_the_oldest_goes_first() {
        let mut shard = Shard::default();
        for key in 0..(NAMES_MAX / SHARDS) as u64 + 5 {
            shard.remember(HomeId(1), Idempotency { key, request: 0 }, DecisionId(1), at(1));
        }
        assert_eq!(shard.charged.len(), NAMES_MAX / SHARDS);
        assert_eq!(shard.find(HomeId(1), 4, at(2)), None);
        assert!(shard.find(HomeId(1), 5, at(2)).is_some());
    }
}
