//! Accounts and keys in memory, for the way of a request: many small maps, each behind a lock of its own.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use parking_lot::RwLock;

use super::account::Account;
use super::key::Key;
use crate::key_text::KeyId;

const SHARDS: usize = 64;

/// What an entry is found by, and which shard it lies in. Nobody but the server and its administrators choose what is
/// entered, so a shard may go by a few bytes; within it the standard library's keyed hash finds the place.
pub(super) trait Name: Hash + Eq {
    fn spread(&self) -> usize;
}

impl Name for KeyId {
    fn spread(&self) -> usize {
        let bytes = self.as_bytes();
        usize::from(bytes[0]) + 31 * usize::from(bytes[KeyId::LENGTH - 1])
    }
}

impl Name for str {
    fn spread(&self) -> usize {
        self.bytes().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)))
    }
}

impl Name for u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are all that count")]
    fn spread(&self) -> usize {
        *self as usize
    }
}

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
struct Shard<E>(RwLock<HashSet<E>>);

#[derive(Debug)]
struct Shards<E>(Box<[Shard<E>; SHARDS]>);

impl<E: Hash + Eq> Shards<E> {
    fn new() -> Self {
        Self(Box::new(std::array::from_fn(|_| Shard(RwLock::default()))))
    }

    fn shard<N: Name + ?Sized>(&self, name: &N) -> &RwLock<HashSet<E>> {
        &self.0[name.spread() % SHARDS].0
    }

    fn get<N: Name + ?Sized>(&self, name: &N) -> Option<E>
    where
        E: Borrow<N> + Clone,
    {
        self.shard(name).read().get(name).cloned()
    }

    /// Enters it, in the place of one with the same name.
    fn enter<N: Name + ?Sized>(&self, entry: E)
    where
        E: Borrow<N>,
    {
        let replaced = self.shard(entry.borrow()).write().replace(entry);
        // Dropped once the lock is gone.
        drop(replaced);
    }

    fn remove<N: Name + ?Sized>(&self, name: &N)
    where
        E: Borrow<N>,
    {
        let removed = self.shard(name).write().take(name);
        drop(removed);
    }

    fn filter(&self, wanted: impl Fn(&E) -> bool) -> Vec<E>
    where
        E: Clone,
    {
        let mut found = Vec::new();
        for shard in self.0.iter() {
            found.extend(shard.0.read().iter().filter(|entry| wanted(entry)).cloned());
        }
        found
    }

    fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.0.read().len()).sum()
    }
}

/// All accounts and keys that may be used.
#[derive(Debug)]
pub(super) struct Index {
    keys: Shards<ByKeyId>,
    by_id: Shards<ByAccountId>,
    by_serial: Shards<BySerial>,
}

impl Index {
    /// The accounts for which this holds, in no order. Looks at all of them.
    pub(super) fn accounts_where(&self, wanted: impl Fn(&Account) -> bool) -> Vec<Arc<Account>> {
        self.by_serial.filter(|entry| wanted(&entry.0)).into_iter().map(|entry| entry.0).collect()
    }

    pub(super) fn new() -> Self {
        Self { keys: Shards::new(), by_id: Shards::new(), by_serial: Shards::new() }
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
        self.keys.enter::<KeyId>(ByKeyId(key));
    }

    pub(super) fn enter_account(&self, account: Arc<Account>) {
        self.by_serial.enter::<u64>(BySerial(Arc::clone(&account)));
        self.by_id.enter::<str>(ByAccountId(account));
    }

    pub(super) fn remove_key(&self, id: KeyId) {
        self.keys.remove(&id);
    }

    pub(super) fn remove_account(&self, serial: u64) {
        if let Some(account) = self.account_by_serial(serial) {
            self.by_id.remove(account.id.as_str());
            self.by_serial.remove(&serial);
        }
    }

    pub(super) fn account_count(&self) -> usize {
        self.by_serial.len()
    }

    pub(super) fn key_count(&self) -> usize {
        self.keys.len()
    }
}
