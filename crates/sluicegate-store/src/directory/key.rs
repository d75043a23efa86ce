//! Keys, as the way of a request sees them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sluicegate_core::time::Timestamp;

use super::account::Account;
use super::record::KeyRecord;
use super::restrictions::{ActiveRestrictions, KeyLimits};
use super::scopes::Scopes;
use crate::key_text::{KeyEnv, KeyHash, KeyId};

/// A credential of an account that is not revoked.
#[derive(Debug)]
pub struct Key {
    /// The number under which the ledger knows it. Never given again.
    pub serial: u64,
    /// Its number among the keys of its account, never given again. A key keeps it, and its meters, when its secret
    /// is changed.
    pub number: NonZeroU32,
    /// What it is for.
    pub env: KeyEnv,
    /// What it is called.
    pub id: KeyId,
    /// Whose it is.
    pub account: Arc<Account>,
    /// What it may be used for.
    pub scopes: Scopes,
    /// From when on it is invalid.
    pub expires_at: Option<Timestamp>,
    /// What narrows it; nothing for most keys.
    pub restrictions: Option<Arc<ActiveRestrictions>>,
    /// The minute since 1970 in which it was last used, as far as this process knows.
    pub(crate) used_minute: AtomicU32,
    pub(crate) hash: KeyHash,
    /// Boxed: few keys have one at any time.
    pub(crate) previous: Option<Box<Previous>>,
}

/// The secret that a key had before.
#[derive(Clone, Debug)]
pub(crate) struct Previous {
    pub(crate) hash: KeyHash,
    /// From when on it is invalid.
    pub(crate) until: Timestamp,
}

impl Key {
    /// Its number among the keys of its account together with its environment, as limits and records want it.
    #[inline]
    pub fn tagged_number(&self) -> NonZeroU32 {
        self.env.tag(self.number)
    }

    /// The same key with another secret.
    pub(crate) fn with_secret(&self, hash: KeyHash, previous: Option<Previous>) -> Self {
        Self {
            serial: self.serial,
            number: self.number,
            env: self.env,
            id: self.id,
            account: Arc::clone(&self.account),
            scopes: self.scopes.clone(),
            expires_at: self.expires_at,
            restrictions: self.restrictions.clone(),
            used_minute: AtomicU32::new(self.used_minute.load(Ordering::Relaxed)),
            hash,
            previous: previous.map(Box::new),
        }
    }

    /// The same key as it is in this record, which differs in what can be changed, with these scopes.
    pub(crate) fn updated(&self, record: &KeyRecord, scopes: Scopes) -> Self {
        let previous = self.previous.as_deref().cloned();
        Self {
            scopes,
            expires_at: record.expires_at,
            restrictions: ActiveRestrictions::of(&record.restrictions),
            ..self.with_secret(self.hash, previous)
        }
    }

    /// Its own limits.
    pub fn limits(&self) -> Option<&KeyLimits> {
        self.restrictions.as_ref()?.of.limits.as_ref()
    }
}

/// Whether what was presented is a key that may be used now.
#[derive(Clone, Debug)]
pub enum Verified {
    /// It is.
    Key(Arc<Key>),
    /// It is not. Why is nobody's business: unknown, wrong secret, revoked, expired, rotated out.
    Invalid,
}

/// What a process can say of a key without asking the store.
#[derive(Clone, Debug)]
pub enum Looked {
    /// It is known whether the key may be used now.
    Known(Verified),
    /// It is not: the store has to be asked.
    Ask,
}

impl Verified {
    /// Compares what was presented with the key of its id. A key that is not there, and a secret that is no more, are
    /// compared as well, with nothing: no answer comes sooner than another.
    pub(crate) fn compare(presented: KeyHash, key: Option<Arc<Key>>, now: Timestamp) -> Self {
        const NOTHING: KeyHash = KeyHash::from_bytes([0; KeyHash::LENGTH]);
        let found = key.as_deref();
        let previous = found.and_then(|key| key.previous.as_deref());
        let is_current = presented == found.map_or(NOTHING, |key| key.hash);
        let is_previous = presented == previous.map_or(NOTHING, |previous| previous.hash);
        let overlaps = previous.is_some_and(|previous| now < previous.until);
        let is_alive = found.is_some_and(|key| key.expires_at.is_none_or(|at| now < at));
        match key {
            Some(key) if is_alive & (is_current | (is_previous & overlaps)) => Self::Key(key),
            _ => Self::Invalid,
        }
    }
}
