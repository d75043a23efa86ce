//! Writes to keys.

use std::sync::Arc;

use sluicegate_core::time::Nanos;

use super::ask::{self, Asker};
use super::error::RedisError;
use super::news::{News, Subject};
use super::reply::Reply;
use super::text::StoredKey;
use super::written::{TRIES_MAX, WriteId, Written, arguments};
use super::{RedisDirectory, Shared, audit, look, scripts, text};
use crate::directory::account::AccountId;
use crate::directory::audited::{Action, Audited as _};
use crate::directory::error::{What, WriteError};
use crate::directory::key::Previous;
use crate::directory::record::{KeyRecord, KeyUpdate, NewKey, Writer};
use crate::directory::restrictions::KeyRestrictions;
use crate::directory::serial;
use crate::key_text::{KeyHash, KeyId};

impl RedisDirectory {
    pub(crate) async fn create_key(
        &self,
        account: &str,
        (id, hash): (KeyId, KeyHash),
        (new, restrictions): (NewKey, KeyRestrictions),
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        let account = AccountId::new(account).map_err(|_| WriteError::NotFound(What::Account))?;
        let key = StoredKey { record: new.record(id, account, restrictions, by.now), hash, previous: None };
        let (shared, by) = (Arc::clone(&self.shared), by.clone());
        self.done(async move { shared.create_key(key, &by).await }).await
    }

    pub(crate) async fn rotate_key(
        &self,
        (id, hash): (KeyId, KeyHash),
        overlap: Nanos,
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        self.change_key(id, KeyChange::Rotated(hash, overlap), by).await
    }

    pub(crate) async fn update_key(
        &self,
        id: KeyId,
        change: KeyUpdate,
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        self.change_key(id, KeyChange::Updated(Box::new(change)), by).await
    }

    pub(crate) async fn revoke_key(&self, id: KeyId, by: &Writer) -> Result<KeyRecord, WriteError> {
        self.change_key(id, KeyChange::Revoked, by).await
    }

    async fn change_key(&self, id: KeyId, change: KeyChange, by: &Writer) -> Result<KeyRecord, WriteError> {
        let (shared, by) = (Arc::clone(&self.shared), by.clone());
        self.done(async move { shared.change_key(id, &change, &by).await }).await
    }
}

/// What is done to a key.
enum KeyChange {
    /// It has a secret of this hash; the one before lives for so long.
    Rotated(KeyHash, Nanos),
    /// It is called so, and may be used for that.
    Updated(Box<KeyUpdate>),
    Revoked,
}

impl KeyChange {
    const fn action(&self) -> Action {
        match self {
            Self::Rotated(..) => Action::KeyRotate,
            Self::Updated(_) => Action::KeyUpdate,
            Self::Revoked => Action::KeyRevoke,
        }
    }

    /// What the script calls it.
    const fn name(&self) -> &'static str {
        match self {
            Self::Rotated(..) => "rotated",
            Self::Updated(_) => "updated",
            Self::Revoked => "revoked",
        }
    }

    /// The key with the change; nothing if it is as it should be already.
    fn of(&self, before: &StoredKey, by: &Writer) -> Result<Option<StoredKey>, WriteError> {
        match self {
            Self::Rotated(hash, overlap) => {
                let record = before.record.rotated(*overlap, by.now)?;
                let previous = record.previous_until.map(|until| Previous { hash: before.hash, until });
                Ok(Some(StoredKey { record, hash: *hash, previous }))
            }
            Self::Updated(change) => {
                let updated = change.of(&before.record)?;
                Ok(updated.map(|record| StoredKey { record, ..before.clone() }))
            }
            Self::Revoked => {
                let revoked = before.record.revoked(by.now);
                Ok(revoked.map(|record| StoredKey { record, ..before.clone() }))
            }
        }
    }
}

impl Shared {
    async fn create_key(&self, key: StoredKey, by: &Writer) -> Result<KeyRecord, WriteError> {
        let record = &key.record;
        let ([head, of, number, tail], [says_head, says_middle, says_tail]) =
            (text::key_parts(&key), audit::key_parts(record)?);
        let (id, account) = (record.id.as_str(), record.account.as_str());
        let least = serial::least(by.now)?.to_string();
        let own = [id, account, &least, &head, &of, &number, &tail, &says_head, &says_middle, &says_tail];
        let arguments = arguments(by, Action::KeyCreate, own);
        let reply = ask::write(&self.server, &scripts::CREATE_KEY, &WriteId::random()?, &arguments).await?;
        match Written::of(&reply)? {
            Written::Done { change, given } => {
                let [serial, number] = given[..] else { return Err(Written::odd().into()) };
                let number = u32::try_from(number).map_err(|_| Written::odd())?;
                self.cache.hear(News { of: Subject::Key(record.id), change });
                Ok(KeyRecord { serial, number, ..key.record })
            }
            Written::NoAccount => Err(WriteError::NotFound(What::Account)),
            Written::TooMany => Err(WriteError::TooManyKeys),
            // Of all ids just this one: another is as good.
            Written::Exists | Written::Changed => Err(RedisError::Contended.into()),
        }
    }

    async fn change_key(&self, id: KeyId, change: &KeyChange, by: &Writer) -> Result<KeyRecord, WriteError> {
        for _ in 0..TRIES_MAX {
            let found = self.find_key(id).await?;
            let Some(before) = found.key()? else { return Err(WriteError::NotFound(What::Key)) };
            let Some(after) = change.of(&before, by)? else { return Ok(before.record) };
            match self.replace_key(&found, &before, &after, change, by).await? {
                Written::Done { change, .. } => {
                    // Before the answer is sent: who has it sees the change here.
                    self.cache.hear(News { of: Subject::Key(id), change });
                    return Ok(after.record);
                }
                Written::Changed => {}
                Written::Exists | Written::NoAccount | Written::TooMany => return Err(Written::odd().into()),
            }
        }
        Err(RedisError::Contended.into())
    }

    async fn replace_key(
        &self,
        found: &FoundKey,
        before: &StoredKey,
        after: &StoredKey,
        change: &KeyChange,
        by: &Writer,
    ) -> Result<Written, WriteError> {
        let (record, account) = (&after.record, found.account()?);
        let [head, of, number, tail] = text::key_parts(after);
        let text = format!("{head}{}{of}{account}{number}{}{tail}", record.serial, record.number);
        let (says_before, says_after) = (before.record.says(), record.says());
        let own = [
            change.name(),
            record.id.as_str(),
            &account.to_string(),
            found.text()?,
            &text,
            &says_before,
            &says_after,
        ];
        let arguments = arguments(by, change.action(), own);
        let write = WriteId::random()?;
        Ok(Written::of(&ask::write(&self.server, &scripts::CHANGE_KEY, &write, &arguments).await?)?)
    }

    /// The key of this id, revoked or not.
    pub(super) async fn find_key(&self, id: KeyId) -> Result<FoundKey, RedisError> {
        ask::read(&self.server, Asker::Person, &scripts::FIND_KEY, &[id.as_str()]).await.map(FoundKey)
    }
}

/// What Redis says of a key, and as what text it keeps it.
pub(super) struct FoundKey(Reply);

impl FoundKey {
    pub(super) fn key(&self) -> Result<Option<StoredKey>, RedisError> {
        Ok(look::found_key(&self.0)?.key.map(|(key, _)| key))
    }

    /// The serial of its account.
    fn account(&self) -> Result<u64, RedisError> {
        let found = look::found_key(&self.0)?.key;
        found.map(|(_, account)| account.serial).ok_or_else(Written::odd)
    }

    fn text(&self) -> Result<&str, RedisError> {
        self.0.text(1)?.ok_or_else(Written::odd)
    }
}
