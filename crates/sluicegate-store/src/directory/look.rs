//! Looking up who is calling.

use std::sync::Arc;

use sluicegate_core::time::Timestamp;

use super::account::{Account, LookedAccount};
use super::error::StoreError;
use super::key::{Key, Looked, Verified};
use super::{Directory, Kind};
use crate::key_text::{KeyId, PresentedKey};

/// The way of a request: first [`Directory::verify`]; if that says [`Looked::Ask`], [`Directory::fetch`]; if that
/// fails, or the store is known to be away, [`Directory::known_while_away`]. Who is not known then either cannot be
/// told from a stranger: the request is refused as unavailable, and not as invalid.
impl Directory {
    /// Whether what was presented is a key that may be used now, as far as this process knows. Never waits. Whatever
    /// the answer, it takes the same work.
    #[inline]
    pub fn verify(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Looked {
        let hash = self.keys.hash(presented);
        match &self.kind {
            Kind::Embedded(own) => Looked::Known(Verified::compare(hash, own.key(presented.id), now)),
            Kind::Redis(own) => own.verify(hash, presented.id, now),
        }
    }

    /// Whether what was presented is a key that may be used now, as the store says. Asked once for all who ask
    /// meanwhile, and remembered.
    pub async fn fetch(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Result<Verified, StoreError> {
        let hash = self.keys.hash(presented);
        let key = self.key(presented.id, now).await?;
        Ok(Verified::compare(hash, key, now))
    }

    /// What is known of a key while the store is away. Nothing: it was never seen here, or has changed since.
    pub fn known_while_away(&self, presented: &PresentedKey<'_>, now: Timestamp) -> Option<Verified> {
        let hash = self.keys.hash(presented);
        match &self.kind {
            Kind::Embedded(own) => Some(Verified::compare(hash, own.key(presented.id), now)),
            Kind::Redis(own) => own.known_while_away(hash, presented.id, now),
        }
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
