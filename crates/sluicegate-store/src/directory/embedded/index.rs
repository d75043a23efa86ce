//! Accounts and keys in memory, for the way of a request: many small maps, each behind a lock of its own.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;

use parking_lot::RwLock;

use crate::directory::account::Account;
use crate::directory::key::Key;
use crate::directory::limited::LimitedKeys;
use crate::key_text::KeyId;

const SHARDS: usize = 64;

/// The hash of names that nobody but the server chooses: serials, and the random ids of keys. Who presents another
/// can only miss. It keeps nobody from colliding on purpose, and need not.
#[derive(Default)]
pub(super) struct OwnNames(u64);

impl Hasher for OwnNames {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // An odd number without a pattern: two to the 64th, divided by the golden ratio.
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn write_usize(&mut self, _: usize) {
        // The length of an array, which is the same for all.
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 32)
    }
}

type OwnState = BuildHasherDefault<OwnNames>;

/// An entry, found by a part of itself: the pointer is all that the map holds.
#[derive(Clone, Debug)]
struct ByKeyId(Arc<Key>);

#[derive(Clone, Debug)]
struct ByAccountId(Arc<Account>);

#[derive(Clone, Debug)]
struct BySerial(Arc<Account>);

impl Borrow<KeyId> for ByKeyId {
    fn borrow(&self) -> &KeyId {
        &self.0.id
    }
}

impl Borrow<str> for ByAccountId {
    fn borrow(&self) -> &str {
        self.0.id.as_str()
    }
}

impl Borrow<u64> for BySerial {
    fn borrow(&self) -> &u64 {
        &self.0.serial
    }
}

macro_rules! compared_by {
    ($entry:ty, $name:ty) => {
        impl Hash for $entry {
            fn hash<H: Hasher>(&self, state: &mut H) {
                Borrow::<$name>::borrow(self).hash(state);
            }
        }

        impl PartialEq for $entry {
            fn eq(&self, other: &Self) -> bool {
                Borrow::<$name>::borrow(self) == Borrow::<$name>::borrow(other)
            }
        }

        impl Eq for $entry {}
    };
}

compared_by!(ByKeyId, KeyId);
compared_by!(ByAccountId, str);
compared_by!(BySerial, u64);

/// A map in parts. Aligned so that two locks are never in one line of the cache, nor in two that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Shard<E, S>(RwLock<HashSet<E, S>>);

#[derive(Debug)]
struct Shards<E, S> {
    /// Picks the shard; within it the set hashes once more.
    state: S,
    shards: Box<[Shard<E, S>; SHARDS]>,
}

impl<E: Hash + Eq, S: BuildHasher + Default> Shards<E, S> {
    fn new() -> Self {
        let shard = |_| Shard(RwLock::default());
        Self { state: S::default(), shards: Box::new(std::array::from_fn(shard)) }
    }

    fn shard<N: Hash + ?Sized>(&self, name: &N) -> &RwLock<HashSet<E, S>> {
        // Bits of the middle: the set goes by the lowest and the highest.
        &self.shards[(self.state.hash_one(name) >> 40) as usize % SHARDS].0
    }

    fn get<N: Hash + Eq + ?Sized>(&self, name: &N) -> Option<E>
    where
        E: Borrow<N> + Clone,
    {
        self.shard(name).read().get(name).cloned()
    }

    /// Enters it, in the place of one with the same name.
    fn enter(&self, entry: E) {
        let replaced = self.shard(&entry).write().replace(entry);
        // Dropped once the lock is gone.
        drop(replaced);
    }

    fn remove<N: Hash + Eq + ?Sized>(&self, name: &N)
    where
        E: Borrow<N>,
    {
        let removed = self.shard(name).write().take(name);
        drop(removed);
    }

    /// Makes room for as many more, spread evenly.
    fn reserve(&self, entries: usize) {
        // A sixteenth more: no spreading is perfectly even.
        let each = entries.div_ceil(SHARDS) * 17 / 16;
        self.shards.iter().for_each(|shard| shard.0.write().reserve(each));
    }

    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.read().len()).sum()
    }
}

/// All accounts and keys that may be used.
#[derive(Debug)]
pub(super) struct Index {
    keys: Shards<ByKeyId, OwnState>,
    /// Administrators choose these, perhaps at a customer's wish: a keyed hash.
    by_id: Shards<ByAccountId, RandomState>,
    by_serial: Shards<BySerial, OwnState>,
    /// Those of the keys that have limits of their own.
    pub(super) limited: LimitedKeys,
}

impl Index {
    pub(super) fn new() -> Self {
        let limited = LimitedKeys::default();
        Self { keys: Shards::new(), by_id: Shards::new(), by_serial: Shards::new(), limited }
    }

    /// Makes room for what is about to be loaded.
    pub(super) fn reserve(&self, accounts: usize, keys: usize) {
        self.by_id.reserve(accounts);
        self.by_serial.reserve(accounts);
        self.keys.reserve(keys);
    }

    pub(super) fn key(&self, id: KeyId) -> Option<Arc<Key>> {
        self.keys.get(&id).map(|entry| entry.0)
    }

    pub(super) fn account(&self, id: &str) -> Option<Arc<Account>> {
        self.by_id.get(id).map(|entry| entry.0)
    }

    pub(super) fn account_by_serial(&self, serial: u64) -> Option<Arc<Account>> {
        self.by_serial.get(&serial).map(|entry| entry.0)
    }

    pub(super) fn enter_key(&self, key: Arc<Key>) {
        self.limited.enter(&key);
        self.keys.enter(ByKeyId(key));
    }

    pub(super) fn enter_account(&self, account: Arc<Account>) {
        self.by_serial.enter(BySerial(Arc::clone(&account)));
        self.by_id.enter(ByAccountId(account));
    }

    pub(super) fn remove_key(&self, id: KeyId) {
        if let Some(key) = self.key(id) {
            self.limited.remove(&key);
        }
        self.keys.remove(&id);
    }

    pub(super) fn remove_account(&self, serial: u64) {
        if let Some(account) = self.account_by_serial(serial) {
            self.by_id.remove(account.id.as_str());
            self.by_serial.remove(&serial);
        }
    }

    /// The accounts of which this is true, in the order of their serials.
    pub(super) fn accounts_where(&self, is_wanted: impl Fn(&Account) -> bool) -> Vec<Arc<Account>> {
        let mut found = Vec::new();
        for shard in self.by_serial.shards.iter() {
            let shard = shard.0.read();
            found.extend(shard.iter().filter(|entry| is_wanted(&entry.0)).map(|entry| Arc::clone(&entry.0)));
        }
        found.sort_unstable_by_key(|account| account.serial);
        found
    }

    pub(super) fn account_count(&self) -> usize {
        self.by_serial.len()
    }

    pub(super) fn key_count(&self) -> usize {
        self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_and_key_ids_are_spread_evenly() {
        let shard = |hash: u64| (hash >> 40) as usize % SHARDS;
        let (mut by_shard, mut by_place, mut by_tag) = ([0; SHARDS], [0; 128], [0; 128]);
        let ids = (0..64_000).map(|_| OwnState::default().hash_one(KeyId::random().unwrap()));
        // Half of them counted, half of them unique: a few in each millisecond.
        let unique = (0..32_000_u64).map(|number| ((1_790_000_000_000 + number / 4) << 11) + number % 4);
        let serials = (0..32_000_u64).chain(unique);
        for hash in serials.map(|serial| OwnState::default().hash_one(serial)).chain(ids) {
            by_shard[shard(hash)] += 1;
            by_place[(hash % 128) as usize] += 1;
            by_tag[(hash >> 57) as usize] += 1;
        }
        // 2,000 or 1,000 expected of each.
        assert!(by_shard.iter().all(|count| (1_700..2_300).contains(count)), "{by_shard:?}");
        assert!(by_place.iter().chain(&by_tag).all(|count| (800..1_200).contains(count)), "{by_place:?}");
    }
}
