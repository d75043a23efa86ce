//! Looking up who is calling: in memory, or in Redis for all who ask meanwhile.

use std::sync::Arc;

use sluicegate_core::time::Timestamp;

use super::ask::{self, Asker};
use super::cache::{Found, Held};
use super::error::RedisError;
use super::reply::Reply;
use super::{RedisDirectory, Shared, scripts, text};
use crate::directory::account::Account;
use crate::directory::key::{Key, Looked, Verified};
use crate::directory::limited::KeyPlace;
use crate::directory::record::AccountRecord;
use crate::key_text::{KeyHash, KeyId};

impl RedisDirectory {
    #[inline]
    pub(crate) fn verify(&self, hash: KeyHash, id: KeyId, now: Timestamp) -> Looked {
        match self.shared.cache.look(id, now) {
            Held::Fresh(key) => Looked::Known(Verified::compare(hash, key, now)),
            Held::Old(_) | Held::Nothing => Looked::Ask,
        }
    }

    pub(crate) fn limited_key(&self, place: KeyPlace) -> Option<Arc<Key>> {
        self.shared.cache.limited().get(place)
    }

    pub(crate) async fn fetch_limited_key(
        &self,
        place: KeyPlace,
        serial: u64,
        now: Timestamp,
    ) -> Result<Option<Arc<Key>>, RedisError> {
        let limited = self.shared.cache.limited();
        if let Some(known) = limited.get(place) {
            return Ok(Some(known));
        }
        if limited.is_unlimited(place) {
            return Ok(None);
        }
        let record = self.find_key_by_serial(serial).await?.filter(|record| record.revoked_at.is_none());
        let key = match record {
            Some(record) => self.key(record.id, now).await?,
            None => None,
        };
        let key = key.filter(|key| key.limits().is_some());
        if key.is_none() {
            limited.set_unlimited(place);
        }
        Ok(key)
    }

    pub(crate) fn known_while_away(&self, hash: KeyHash, id: KeyId, now: Timestamp) -> Option<Verified> {
        match self.shared.cache.look(id, now) {
            Held::Fresh(key) => Some(Verified::compare(hash, key, now)),
            // What does not match may be a secret that is newer than what is remembered.
            Held::Old(key) => match Verified::compare(hash, Some(key), now) {
                Verified::Key(key) => Some(Verified::Key(key)),
                Verified::Invalid => None,
            },
            Held::Nothing => None,
        }
    }

    pub(crate) async fn key(&self, id: KeyId, now: Timestamp) -> Result<Option<Arc<Key>>, RedisError> {
        let Shared { server, cache, flights, .. } = &*self.shared;
        if let Held::Fresh(key) = cache.look(id, now) {
            return Ok(key);
        }
        let ask = || async {
            let asked = cache.asking(now);
            let found = ask::read(server, Asker::Request, &scripts::FIND_KEY, &[id.as_str()]).await?;
            cache.enter(id, found_key(&found)?, asked)
        };
        flights.join(id, ask).await
    }

    pub(crate) async fn account(&self, id: &str) -> Result<Option<Arc<Account>>, RedisError> {
        // Nothing that is remembered of an account grows old: what is old is found by its keys.
        let asked = self.shared.cache.asking(Timestamp::EPOCH);
        let found = self.shared.find_account(id).await?;
        let Some(FoundAccount { change, record, .. }) = found else { return Ok(None) };
        self.shared.cache.enter_account(&record, change, asked).map(Some)
    }

    pub(crate) fn account_by_serial(&self, serial: u64) -> Option<Arc<Account>> {
        self.shared.cache.account_by_serial(serial)
    }
}

/// An account as Redis has it.
pub(super) struct FoundAccount {
    /// Up to which change.
    pub(super) change: u64,
    pub(super) record: AccountRecord,
    /// Its text, which a change replaces.
    pub(super) text: String,
}

impl Shared {
    /// The account of this id that is not deleted.
    pub(super) async fn find_account(&self, id: &str) -> Result<Option<FoundAccount>, RedisError> {
        let found = ask::read(&self.server, Asker::Person, &scripts::FIND_ACCOUNT, &[id]).await?;
        let Some(text) = found.text(1)? else { return Ok(None) };
        let (change, record) = (found.number(0)?, text::account(text)?);
        Ok(Some(FoundAccount { change, record, text: text.to_owned() }))
    }
}

/// What is said of a key.
pub(super) fn found_key(found: &Reply) -> Result<Found, RedisError> {
    let change = found.number(0)?;
    let Some(key) = found.text(1)? else { return Ok(Found { change, key: None }) };
    match found.text(2)? {
        Some(account) => {
            let account = text::account(account)?;
            Ok(Found { change, key: Some((text::key(key, &account)?, account)) })
        }
        None => Err(text::without_account(key)),
    }
}
