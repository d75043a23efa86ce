//! Accounts and keys, for an application that manages its own customers.

use std::time::Duration;

use sluicegate_core::policy::TierName;
use sluicegate_core::time::Nanos;
use sluicegate_engine::Engine;
use sluicegate_node::Node;
use sluicegate_store::directory::{
    self, AccountId, AccountRecord, DisplayName, Page, PageLimit, Scopes, WriteError, Writer,
};
use sluicegate_store::key_text::KeyId;

use super::AccountError;
use super::key::{ApiKey, EnsuredKey, Key, NewKey, timestamp};

/// Who the audit log says has written.
const ACTOR: &str = "library";

/// An account: who pays.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Account {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The name of its tier; `custom:<id>` where its limits were negotiated.
    pub tier: String,
}

/// Accounts and keys. Every write is an entry of the audit log.
#[derive(Clone, Copy, Debug)]
pub struct Accounts<'g> {
    node: &'g Node,
    engine: &'g Engine,
}

impl<'g> Accounts<'g> {
    pub(super) fn new(node: &'g Node) -> Self {
        Self { node, engine: node.engine() }
    }

    /// The account with this id. If there is none it is created, in this tier. One that exists keeps its tier: an
    /// upgrade is not undone by the next start.
    pub async fn ensure(&self, id: &str, tier: &str) -> Result<Account, AccountError> {
        let tier = self.tier(tier)?;
        let account = AccountId::new(id).map_err(AccountError::Invalid)?;
        let name = DisplayName::new(id).map_err(AccountError::Invalid)?;
        let new = directory::NewAccount { id: Some(account), name, tier, billing_day: None, timezone: None };
        match self.engine.directory().create_account(new, &self.writer()).await {
            Ok(record) => Ok(record.into()),
            Err(WriteError::Exists(_)) => {
                self.find(id).await?.ok_or_else(|| AccountError::NoAccount(id.to_owned()))
            }
            Err(error) => Err(AccountError::of_write(error, id)),
        }
    }

    /// The account with this id, if there is one.
    pub async fn find(&self, id: &str) -> Result<Option<Account>, AccountError> {
        let found = self.engine.directory().find_account(id).await.map_err(AccountError::Unavailable)?;
        Ok(found.map(Into::into))
    }

    /// Moves an account to another tier of the policy, for its next request on.
    pub async fn set_tier(&self, id: &str, tier: &str) -> Result<Account, AccountError> {
        let tier = self.tier(tier)?;
        let set = self.engine.directory().set_tier(id, tier, &self.writer()).await;
        set.map(Into::into).map_err(|error| AccountError::of_write(error, id))
    }

    /// Deletes an account. Its keys are refused from now on; its usage stays on record.
    pub async fn delete(&self, id: &str) -> Result<(), AccountError> {
        let deleted = self.engine.directory().delete_account(id, &self.writer()).await;
        deleted.map(drop).map_err(|error| AccountError::of_write(error, id))
    }

    /// The keys of an account, revoked ones included.
    pub async fn keys(&self, account: &str) -> Result<Vec<Key>, AccountError> {
        let (mut keys, mut cursor) = (Vec::new(), None);
        loop {
            let page = Page { limit: PageLimit::default(), cursor };
            let page = self.engine.directory().list_keys(account, page).await;
            let page = page.map_err(|error| AccountError::of_read(error, account))?;
            keys.extend(page.items.into_iter().map(Key::from));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(keys),
            }
        }
    }

    /// A key of this name that is neither revoked nor expired. If the account has none it is created: at the first
    /// start, and not again at each further one. Calls of one process wait for each other; two processes that share a
    /// Redis and start at the same moment may create one each.
    pub async fn ensure_key(
        &self,
        account: &str,
        key: impl Into<NewKey>,
    ) -> Result<EnsuredKey, AccountError> {
        let (key, now) = (key.into(), self.engine.now());
        // As it is stored: without blanks around it.
        let name = DisplayName::new(&key.name).map_err(AccountError::Invalid)?;
        let _one_at_a_time = self.node.lock_ensuring_key().await;
        let is_usable = |found: &Key| {
            found.name == name.as_str()
                && found.revoked_at.is_none()
                && found.expires_at.is_none_or(|at| timestamp(at) > now)
        };
        match self.keys(account).await?.into_iter().find(is_usable) {
            Some(found) => Ok(EnsuredKey::Existing(found)),
            None => self.create_key(account, key).await.map(|(key, text)| EnsuredKey::Created(key, text)),
        }
    }

    /// Creates a key. Its text is shown here and never again.
    pub async fn create_key(
        &self,
        account: &str,
        key: impl Into<NewKey>,
    ) -> Result<(Key, ApiKey), AccountError> {
        let key = key.into();
        let new = directory::NewKey {
            name: DisplayName::new(&key.name).map_err(AccountError::Invalid)?,
            env: key.env.stored(),
            scopes: Scopes::new(key.scopes.iter().map(String::as_str)).map_err(AccountError::Invalid)?,
            expires_at: key.expires_at.map(timestamp),
        };
        let created = self.engine.directory().create_key(account, new, &self.writer()).await;
        let (record, text) = created.map_err(|error| AccountError::of_write(error, account))?;
        Ok((record.into(), ApiKey::new(text)))
    }

    /// Gives a key a new secret. The old one is accepted for `overlap` from now on.
    pub async fn rotate_key(&self, id: &str, overlap: Duration) -> Result<(Key, ApiKey), AccountError> {
        let key = key_id(id)?;
        let overlap = Nanos(u64::try_from(overlap.as_nanos()).unwrap_or(u64::MAX));
        let rotated = self.engine.directory().rotate_key(key, overlap, &self.writer()).await;
        let (record, text) = rotated.map_err(|error| AccountError::of_write(error, id))?;
        Ok((record.into(), ApiKey::new(text)))
    }

    /// Revokes a key, for good and from the next request on.
    pub async fn revoke_key(&self, id: &str) -> Result<Key, AccountError> {
        let revoked = self.engine.directory().revoke_key(key_id(id)?, &self.writer()).await;
        revoked.map(Into::into).map_err(|error| AccountError::of_write(error, id))
    }

    fn tier(&self, name: &str) -> Result<TierName, AccountError> {
        let policy = self.engine.policy();
        let tiers = &policy.policy().tiers;
        let known = || tiers.iter().map(|tier| tier.name.to_string()).collect();
        let found = tiers.get(name).map(|tier| tier.name.clone());
        found.ok_or_else(|| AccountError::NoTier { tier: name.to_owned(), known: known() })
    }

    fn writer(&self) -> Writer {
        Writer { who: ACTOR.to_owned(), now: self.engine.now() }
    }
}

impl From<AccountRecord> for Account {
    fn from(record: AccountRecord) -> Self {
        Self {
            id: record.id.as_str().to_owned(),
            name: record.name.as_str().to_owned(),
            tier: record.tier.as_str().to_owned(),
        }
    }
}

fn key_id(text: &str) -> Result<KeyId, AccountError> {
    KeyId::parse(text).ok_or_else(|| AccountError::NoKey(text.to_owned()))
}
