//! What this node remembers of the directory, for the way of a request.
//!
//! An entry is *fresh* while nothing can have changed that this node has not heard of: for [`FRESH`] while it listens
//! to the news, and for [`FRESH_BLIND`] while it does not. Entries that are not fresh stay, as long as there is room:
//! while Redis is away they are all that is known of a caller.
//!
//! An answer of Redis and the news of a change come by different connections, in any order. So every answer says up to
//! which change it goes, and is not kept if something later was heard of what it is about. An answer that does not go
//! as far as what was known before it was asked for is that of a server that has lost changes, as one that takes over
//! for another may have: then everything is asked for anew.

mod accounts;
mod marks;
mod ring;
mod shards;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sluicegate_core::time::{Nanos, Timestamp};

use super::error::RedisError;
use super::news::{News, Subject};
use super::text::StoredKey;
use crate::directory::account::Account;
use crate::directory::key::Key;
use crate::directory::limited::LimitedKeys;
use crate::directory::makings::Makings;
use crate::directory::record::AccountRecord;
use crate::directory::restrictions::ActiveRestrictions;
use crate::hash::HomeHasher;
use crate::key_text::KeyId;
use accounts::Accounts;
use marks::Marks;
use shards::Shards;

/// How old an entry may be while every change is heard of.
pub(super) const FRESH: Nanos = Nanos::from_secs(30);
/// How old an entry may be while changes are not heard of.
pub(super) const FRESH_BLIND: Nanos = Nanos::from_secs(1);
/// For how long a node vouches for whom it knew, while Redis is away.
pub(super) const VOUCHED: Nanos = Nanos::from_secs(24 * 60 * 60);

/// How much is remembered at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLimits {
    /// Keys that there are.
    pub keys: usize,
    /// Ids that were asked for and that no key has: those who try ids push out each other, and nobody else.
    pub unknown: usize,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { keys: 1_000_000, unknown: 65_536 }
    }
}

/// What Redis says of a key, and up to which change.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) change: u64,
    pub(super) key: Option<(StoredKey, AccountRecord)>,
}

/// When Redis was asked, and what the node had heard by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    at: Timestamp,
    epoch: u64,
    change: u64,
}

/// What is remembered of a key.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// Nothing can have changed: the key, or that there is none.
    Fresh(Option<Arc<Key>>),
    /// It was so once, and no change was heard of.
    Old(Arc<Key>),
    /// Nothing, or nothing that is still true.
    Nothing,
}

/// How long ago, and up to which change, an entry was true.
#[derive(Clone, Copy, Debug)]
struct Read {
    at: Timestamp,
    epoch: u64,
    change: u64,
}

#[derive(Clone, Debug)]
struct Known {
    key: Arc<Key>,
    read: Read,
}

impl Known {
    /// Whether a later change of the account was heard of.
    fn is_changed(&self) -> bool {
        self.read.change < self.key.account.changed.load(Ordering::Acquire)
    }
}

/// Keys, and ids that no key has.
#[derive(Debug)]
pub(super) struct Cache {
    makings: Makings,
    keys: Shards<Known>,
    unknown: Shards<Read>,
    accounts: Accounts,
    limited: LimitedKeys,
    marks: Marks,
    /// Counts up whenever news may have been missed. Odd while the node listens.
    epoch: AtomicU64,
    /// The last change that was heard or read of.
    change: AtomicU64,
}

impl Cache {
    pub(super) fn new(homes: HomeHasher, limits: CacheLimits) -> Self {
        Self {
            makings: Makings::new(homes),
            keys: Shards::new(limits.keys),
            unknown: Shards::new(limits.unknown),
            accounts: Accounts::new(),
            limited: LimitedKeys::default(),
            marks: Marks::new(),
            epoch: AtomicU64::new(0),
            change: AtomicU64::new(0),
        }
    }

    pub(super) fn makings(&self) -> &Makings {
        &self.makings
    }

    /// What is remembered of the key of this id.
    pub(super) fn look(&self, id: KeyId, now: Timestamp) -> Held {
        let epoch = self.epoch.load(Ordering::Acquire);
        if let Some(known) = self.keys.get(id) {
            return match known.is_changed() {
                true => Held::Nothing,
                false if is_fresh(known.read, epoch, now) => Held::Fresh(Some(known.key)),
                false if now.since(known.read.at) < VOUCHED => Held::Old(known.key),
                false => Held::Nothing,
            };
        }
        match self.unknown.get(id) {
            Some(read) if is_fresh(read, epoch, now) => Held::Fresh(None),
            _ => Held::Nothing,
        }
    }

    /// To be called before Redis is asked.
    pub(super) fn asking(&self, now: Timestamp) -> Asked {
        // The epoch first: what is heard after it began anew counts from there.
        let epoch = self.epoch.load(Ordering::Acquire);
        Asked { at: now, epoch, change: self.change.load(Ordering::Acquire) }
    }

    /// Remembers what Redis says of a key, unless it may no longer be true. Gives the key, if it is not revoked.
    pub(super) fn enter(
        &self,
        id: KeyId,
        found: Found,
        asked: Asked,
    ) -> Result<Option<Arc<Key>>, RedisError> {
        self.read(found.change, asked);
        let read = Read { at: asked.at, epoch: asked.epoch, change: found.change };
        let usable = found.key.filter(|(key, _)| key.record.revoked_at.is_none());
        let Some((stored, record)) = usable else {
            self.keys.remove(id);
            self.unknown.insert_if(id, read, || self.is_true(read, id, None));
            return Ok(None);
        };
        let account = self.enter_account(&record, found.change, asked)?;
        let key = self.key(stored, account)?;
        let known = Known { key: Arc::clone(&key), read };
        self.limited.remember(&key);
        self.unknown.remove(id);
        self.keys.insert_if(id, known, || self.is_true(read, id, Some(record.serial)));
        Ok(Some(key))
    }

    /// The account of this record: the one that is known already, brought up to date, or a new one.
    pub(super) fn enter_account(
        &self,
        record: &AccountRecord,
        change: u64,
        asked: Asked,
    ) -> Result<Arc<Account>, RedisError> {
        self.read(change, asked);
        let is_current = || {
            let mark = self.marks.get(Marks::ACCOUNT, &record.serial.to_le_bytes());
            self.epoch.load(Ordering::Acquire) == asked.epoch && change >= mark
        };
        Ok(self.accounts.enter(&self.makings, record, change, is_current)?)
    }

    /// Keys with limits of their own, as this node last saw them.
    pub(super) fn limited(&self) -> &LimitedKeys {
        &self.limited
    }

    /// The account of this serial, if it is known as it is now.
    pub(super) fn account_by_serial(&self, serial: u64) -> Option<Arc<Account>> {
        self.accounts.get(serial)
    }

    /// Takes in that something has changed.
    pub(super) fn hear(&self, news: News) {
        let News { of, change } = news;
        self.change.fetch_max(change, Ordering::AcqRel);
        match of {
            Subject::Key(id) => {
                // The mark first: what is entered after the removal sees it.
                self.marks.raise(Marks::KEY, id.as_bytes(), change);
                self.limited.forget_unlimited();
                self.keys.remove(id);
                self.unknown.remove(id);
            }
            Subject::Tokens => {}
            Subject::Account(serial) => self.account_changed(serial, change),
            Subject::Gone(serial) => {
                self.account_changed(serial, change);
                self.accounts.remove(serial);
            }
        }
    }

    /// Takes in that anything may have changed.
    pub(super) fn hear_of_anything(&self) {
        // Whether the node listens stays as it is.
        self.epoch.fetch_add(2, Ordering::AcqRel);
    }

    fn account_changed(&self, serial: u64, change: u64) {
        self.marks.raise(Marks::ACCOUNT, &serial.to_le_bytes(), change);
        self.accounts.mark(serial, change);
    }

    /// From here on every change is heard of. What was read before may have changed unheard.
    pub(super) fn listen(&self) {
        self.restart(|epoch| Some((epoch + 1) | 1));
    }

    /// Takes in up to which change an answer goes.
    fn read(&self, change: u64, asked: Asked) {
        if change >= asked.change {
            self.change.fetch_max(change, Ordering::AcqRel);
        } else {
            // Once for all answers that were asked for before. Whether the node listens stays as it is.
            self.restart(|epoch| (epoch == asked.epoch).then_some(epoch + 2));
        }
    }

    /// Drops everything, and the numbers of changes with it, unless there is no next epoch to this one.
    fn restart(&self, next: impl Fn(u64) -> Option<u64>) {
        let mut accounts = self.accounts.hold();
        if next(self.epoch.load(Ordering::Acquire)).is_none() {
            return;
        }
        // What is known to have changed must not come back when the numbers start anew.
        self.keys.retain(|known| !known.is_changed());
        accounts.forget_changes();
        self.marks.clear();
        self.change.store(0, Ordering::Release);
        let _ = self.epoch.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    /// From here on changes are not heard of.
    pub(super) fn stop_listening(&self) {
        let _ = self.epoch.fetch_update(Ordering::AcqRel, Ordering::Acquire, |epoch| Some((epoch | 1) + 1));
    }

    pub(super) fn is_listening(&self) -> bool {
        self.epoch.load(Ordering::Acquire) % 2 == 1
    }

    /// How many keys are remembered, and how many ids that no key has.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.keys.len(), self.unknown.len())
    }

    /// Whether no change was heard of that an answer does not go up to.
    fn is_true(&self, read: Read, id: KeyId, account: Option<u64>) -> bool {
        let of_key = self.marks.get(Marks::KEY, id.as_bytes());
        let of_account = account.map_or(0, |serial| self.marks.get(Marks::ACCOUNT, &serial.to_le_bytes()));
        let epoch = self.epoch.load(Ordering::Acquire);
        read.epoch == epoch && read.change >= of_key.max(of_account)
    }

    fn key(&self, stored: StoredKey, account: Arc<Account>) -> Result<Arc<Key>, RedisError> {
        let StoredKey { record, hash, previous } = stored;
        let number = NonZeroU32::new(record.number)
            .ok_or_else(|| RedisError::Nonsense(format!("a key (serial {}): number", record.serial)))?;
        Ok(Arc::new(Key {
            serial: record.serial,
            number,
            env: record.env,
            id: record.id,
            account,
            scopes: self.makings.scopes(&record.scopes.to_text())?,
            expires_at: record.expires_at,
            restrictions: ActiveRestrictions::of(&record.restrictions),
            used_minute: AtomicU32::new(0),
            hash,
            previous: previous.map(Box::new),
        }))
    }
}

fn is_fresh(read: Read, epoch: u64, now: Timestamp) -> bool {
    let lifetime = if epoch % 2 == 1 { FRESH } else { FRESH_BLIND };
    read.epoch == epoch && now.since(read.at) < lifetime
}

#[cfg(test)]
mod tests;
