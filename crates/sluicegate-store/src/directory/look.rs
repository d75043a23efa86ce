//! Looking up who is calling.

use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::time::Timestamp;

use super::account::{Account, LookedAccount};
use super::error::StoreError;
use super::key::{Key, Looked, Verified};
use super::{Directory, Kind};
use crate::key_text::{KeyHash, KeyId, PresentedKey};

/// Keys with limits of their own, as records and permits name them.
impl Directory {
    /// The key of this number among those of an account, if it has limits of its own and may be used, as far as this
    /// process knows.
    pub fn limited_key(&self, account: u64, number: NonZeroU32) -> Option<Arc<Key>> {
        match &self.kind {
            Kind::Embedded(own) => own.limited_key((account, number)),
            Kind::Redis(own) => own.limited_key((account, number)),
        }
    }

    /// The same, with the store asked for the key of this serial where this process does not know it.
    pub async fn fetch_limited_key(
        &self,
        (account, number): (u64, NonZeroU32),
        serial: u64,
        now: Timestamp,
    ) -> Result<Option<Arc<Key>>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.limited_key((account, number))),
            Kind::Redis(own) => Ok(own.fetch_limited_key((account, number), serial, now).await?),
        }
    }
}

/// The way of a request: first [`Directory::verify`]; if that says [`Looked::Ask`], [`Directory::fetch`]; if that
/// fails, or the store is known to be away, [`Directory::known_while_away`]. Who is not known then either cannot be
/// told from a stranger: the request is refused as unavailable, and not as invalid.
impl Directory {
    /// Whether what was presented is a key that may be used now, as far as this process knows. Never waits. Whatever
    /// the answer, it takes the same work.
    #[inline]
    pub fn verify(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Looked {
        let looked = self.verify_hash(self.keys.hash(presented), presented.id, now);
        if self.keys.has_previous() { self.verify_previous(looked, presented, now) } else { looked }
    }

    #[inline]
    fn verify_hash(&self, hash: KeyHash, id: KeyId, now: Timestamp) -> Looked {
        match &self.kind {
            Kind::Embedded(own) => Looked::Known(Verified::compare(hash, own.key(id), now)),
            Kind::Redis(own) => own.verify(hash, id, now),
        }
    }

    /// The same for keys whose hashes were made under an earlier secret.
    #[cold]
    fn verify_previous(&self, looked: Looked, presented: &PresentedKey<'_>, now: Timestamp) -> Looked {
        if !matches!(looked, Looked::Known(Verified::Invalid)) {
            return looked;
        }
        let earlier = self.keys.previous_hashes(presented);
        let mut earlier = earlier.map(|hash| self.verify_hash(hash, presented.id, now));
        earlier.find(|looked| matches!(looked, Looked::Known(Verified::Key(_)))).unwrap_or(looked)
    }

    /// Whether what was presented is a key that may be used now, as the store says. Asked once for all who ask
    /// meanwhile, and remembered.
    pub async fn fetch(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Result<Verified, StoreError> {
        let key = self.key(presented.id, now).await?;
        let verified = Verified::compare(self.keys.hash(presented), key.clone(), now);
        if matches!(verified, Verified::Key(_)) {
            return Ok(verified);
        }
        let earlier = self.keys.previous_hashes(presented);
        let mut earlier = earlier.map(|hash| Verified::compare(hash, key.clone(), now));
        Ok(earlier.find(|verified| matches!(verified, Verified::Key(_))).unwrap_or(verified))
    }

    /// What is known of a key while the store is away. Nothing: it was never seen here, or has changed since.
    pub fn known_while_away(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Option<Verified> {
        let known = |hash| match &self.kind {
            Kind::Embedded(own) => Some(Verified::compare(hash, own.key(presented.id), now)),
            Kind::Redis(own) => own.known_while_away(hash, presented.id, now),
        };
        let current = known(self.keys.hash(presented));
        if matches!(current, Some(Verified::Key(_))) {
            return current;
        }
        let mut earlier = self.keys.previous_hashes(presented).map(known);
        earlier.find(|known| matches!(known, Some(Verified::Key(_)))).unwrap_or(current)
    }

    /// The key of this id, whether it has expired or not.
    pub async fn key(&self, id: KeyId, now: Timestamp) -> Result<Option<Arc<Key>>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.key(id)),
            Kind::Redis(own) => Ok(own.key(id, now).await?),
        }
    }

    /// The account of this id.
    pub async fn account(&self, id: &str) -> Result<Option<Arc<Account>>, StoreError> {
        match &self.kind {
            Kind::Embedded(own) => Ok(own.account(id)),
            Kind::Redis(own) => Ok(own.account(id).await?),
        }
    }

    /// The account of this id, if nobody has to be asked about it. Never waits.
    pub fn account_here(&self, id: &str) -> LookedAccount {
        match &self.kind {
            Kind::Embedded(own) => own.account(id).into(),
            Kind::Redis(_) => LookedAccount::Ask,
        }
    }

    /// The account of this serial, as far as this process knows. Never waits. One that was deleted is found by
    /// [`Directory::find_account_by_serial`] alone.
    pub fn account_by_serial(&self, serial: u64) -> Option<Arc<Account>> {
        match &self.kind {
            Kind::Embedded(own) => own.account_by_serial(serial),
            Kind::Redis(own) => own.account_by_serial(serial),
        }
    }
}
