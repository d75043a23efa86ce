//! Many small rings, each behind a lock of its own.

use std::hash::{BuildHasher as _, RandomState};

use parking_lot::RwLock;

use super::ring::Ring;
use crate::key_text::KeyId;

const SHARDS: usize = 64;

/// A ring in parts. Aligned so that two locks are never in one line of the cache, nor in two that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Shard<V>(RwLock<Ring<V>>);

#[derive(Debug)]
pub(super) struct Shards<V> {
    /// Whoever calls chooses ids: a keyed hash.
    state: RandomState,
    shards: Box<[Shard<V>]>,
}

impl<V: Clone> Shards<V> {
    pub(super) fn new(entries_max: usize) -> Self {
        let each = entries_max.div_ceil(SHARDS);
        let shards = (0..SHARDS).map(|_| Shard(RwLock::new(Ring::new(each)))).collect();
        Self { state: RandomState::new(), shards }
    }

    fn shard(&self, id: KeyId) -> &RwLock<Ring<V>> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let shard = self.state.hash_one(id) as usize % SHARDS;
        &self.shards[shard].0
    }

    pub(super) fn get(&self, id: KeyId) -> Option<V> {
        self.shard(id).read().get(id).cloned()
    }

    /// Enters it if `is_true` says so while nobody else can enter or remove it.
    pub(super) fn insert_if(&self, id: KeyId, value: V, is_true: impl FnOnce() -> bool) {
        let mut shard = self.shard(id).write();
        let replaced = if is_true() { shard.insert(id, value) } else { None };
        // Dropped once the lock is gone.
        drop(shard);
        drop(replaced);
    }

    pub(super) fn remove(&self, id: KeyId) {
        let shard = self.shard(id);
        // Most ids are in one of two maps, or in neither.
        if shard.read().has(id) {
            let removed = shard.write().remove(id);
            drop(removed);
        }
    }

    pub(super) fn retain(&self, is_kept: impl Fn(&V) -> bool) {
        self.shards.iter().for_each(|shard| shard.0.write().retain(&is_kept));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.read().len()).sum()
    }
}
