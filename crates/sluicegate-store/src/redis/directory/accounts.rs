//! Writes to accounts.

use std::sync::Arc;

use sluicegate_core::time::Timestamp;

use super::error::RedisError;
use super::look::FoundAccount;
use super::news::{News, Subject};
use super::written::{TRIES_MAX, WriteId, Written, arguments};
use super::{RedisDirectory, Shared, ask, audit, scripts, text};
use crate::directory::account::AccountId;
use crate::directory::audited::{Action, Audited as _};
use crate::directory::changes::StandingChange;
use crate::directory::error::{What, WriteError};
use crate::directory::record::{AccountRecord, NewAccount, Writer};
use crate::directory::serial;

impl RedisDirectory {
    pub(crate) async fn create_account(
        &self,
        id: AccountId,
        new: NewAccount,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let (shared, by) = (Arc::clone(&self.shared), by.clone());
        self.done(async move { shared.create_account(id, new, &by).await }).await
    }

    pub(crate) async fn set_standing(
        &self,
        account: &str,
        change: StandingChange,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        self.change_account(account, AccountChange::Standing(change), by).await
    }

    pub(crate) async fn delete_account(
        &self,
        account: &str,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        self.change_account(account, AccountChange::Gone, by).await
    }

    async fn change_account(
        &self,
        account: &str,
        change: AccountChange,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let (shared, account, by) = (Arc::clone(&self.shared), account.to_owned(), by.clone());
        self.done(async move { shared.change_account(&account, &change, &by).await }).await
    }
}

/// What is done to an account.
enum AccountChange {
    Standing(StandingChange),
    Gone,
}

impl AccountChange {
    const fn action(&self) -> Action {
        match self {
            Self::Standing(change) => change.action(),
            Self::Gone => Action::AccountDelete,
        }
    }

    /// What the script calls it.
    const fn name(&self) -> &'static str {
        match self {
            Self::Standing(StandingChange::Tier(_)) => "tier",
            Self::Standing(StandingChange::Custom(..)) => "custom",
            Self::Gone => "gone",
        }
    }

    fn of(&self, before: &AccountRecord, now: Timestamp) -> AccountRecord {
        match self {
            Self::Standing(change) => change.of(before),
            Self::Gone => before.deleted(now),
        }
    }

    const fn news(&self, serial: u64, change: u64) -> News {
        let of = match self {
            Self::Standing(_) => Subject::Account(serial),
            Self::Gone => Subject::Gone(serial),
        };
        News { of, change }
    }
}

impl Shared {
    async fn create_account(
        &self,
        id: AccountId,
        new: NewAccount,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let record = new.record(id, by.now);
        let ([head, tail], [says_head, says_tail]) =
            (text::account_parts(&record), audit::account_parts(&record)?);
        let least = serial::least(by.now)?.to_string();
        let own = [record.id.as_str(), &least, &head, &tail, &says_head, &says_tail];
        let arguments = arguments(by, Action::AccountCreate, own);
        let reply =
            ask::write(&self.server, &scripts::CREATE_ACCOUNT, &WriteId::random()?, &arguments).await?;
        match Written::of(&reply)? {
            Written::Done { given, .. } => {
                let serial = given.first().copied().ok_or_else(Written::odd)?;
                Ok(AccountRecord { serial, ..record })
            }
            Written::Exists => Err(WriteError::Exists(record.id)),
            Written::Changed | Written::NoAccount | Written::TooMany => Err(Written::odd().into()),
        }
    }

    async fn change_account(
        &self,
        account: &str,
        change: &AccountChange,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        for _ in 0..TRIES_MAX {
            let asked = self.cache.asking(by.now);
            let before = self.find_account(account).await?.ok_or(WriteError::NotFound(What::Account))?;
            let after = change.of(&before.record, by.now);
            match self.replace_account(&before, &after, change, by).await? {
                Written::Done { change: number, .. } => {
                    // Before the answer is sent: who has it sees the change here.
                    self.cache.hear(change.news(after.serial, number));
                    self.cache.enter_account(&after, number, asked)?;
                    return Ok(after);
                }
                Written::Changed => {}
                Written::Exists | Written::NoAccount | Written::TooMany => return Err(Written::odd().into()),
            }
        }
        Err(RedisError::Contended.into())
    }

    async fn replace_account(
        &self,
        before: &FoundAccount,
        after: &AccountRecord,
        change: &AccountChange,
        by: &Writer,
    ) -> Result<Written, WriteError> {
        let serial = after.serial.to_string();
        let [head, tail] = text::account_parts(after);
        let (says_before, says_after) = (before.record.says(), after.says());
        let (id, after) = (after.id.as_str(), format!("{head}{serial}{tail}"));
        let own = [change.name(), &serial, id, &before.text, &after, &says_before, &says_after];
        let arguments = arguments(by, change.action(), own);
        let write = WriteId::random()?;
        Ok(Written::of(&ask::write(&self.server, &scripts::CHANGE_ACCOUNT, &write, &arguments).await?)?)
    }
}
