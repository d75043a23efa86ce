//! Keys with limits of their own, by account and number: the end of a request and the replay of records know a key by
//! those alone.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::key::Key;

/// How many are remembered where others can be asked for. Beyond them all are forgotten, and asked for again.
const REMEMBERED_MAX: usize = 100_000;

/// The serial of an account, and the number of a key among those of the account.
pub(crate) type KeyPlace = (u64, NonZeroU32);

/// Keys with limits of their own.
#[derive(Debug, Default)]
pub(crate) struct LimitedKeys {
    count: AtomicUsize,
    keys: RwLock<HashMap<KeyPlace, Arc<Key>>>,
    /// Keys that were asked for and have none, where the store can be asked.
    unlimited: RwLock<HashSet<KeyPlace>>,
}

impl LimitedKeys {
    /// Takes in a key as it is now.
    pub(crate) fn enter(&self, key: &Arc<Key>) {
        if key.limits().is_none() {
            return self.remove(key);
        }
        let mut keys = self.keys.write();
        keys.insert((key.account.serial, key.number), Arc::clone(key));
        self.count.store(keys.len(), Ordering::Release);
    }

    /// The same where a key that is not remembered can be asked for.
    pub(crate) fn remember(&self, key: &Arc<Key>) {
        if self.count.load(Ordering::Acquire) >= REMEMBERED_MAX {
            self.keys.write().clear();
        }
        self.enter(key);
    }

    pub(crate) fn remove(&self, key: &Key) {
        // Most directories have none: nothing is locked for them.
        if self.count.load(Ordering::Acquire) > 0 {
            let mut keys = self.keys.write();
            keys.remove(&(key.account.serial, key.number));
            self.count.store(keys.len(), Ordering::Release);
        }
    }

    pub(crate) fn get(&self, place: KeyPlace) -> Option<Arc<Key>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.keys.read().get(&place).cloned()
    }

    /// Whether the store was asked for a key, which had no limits of its own, and nothing has changed since.
    pub(crate) fn is_unlimited(&self, place: KeyPlace) -> bool {
        self.unlimited.read().contains(&place)
    }

    pub(crate) fn set_unlimited(&self, place: KeyPlace) {
        let mut unlimited = self.unlimited.write();
        if unlimited.len() >= REMEMBERED_MAX {
            unlimited.clear();
        }
        unlimited.insert(place);
    }

    /// Takes in that any key may have changed.
    pub(crate) fn forget_unlimited(&self) {
        if !self.unlimited.read().is_empty() {
            self.unlimited.write().clear();
        }
    }
}
