//! Writes to accounts.

use std::sync::Arc;

use rusqlite::Connection;

use super::shared::Shared;
use super::{Embedded, audit, rows};
use crate::database::DatabaseError;
use crate::database::column::nanos;
use crate::directory::account::{Account, AccountId, Standing};
use crate::directory::audited::Action;
use crate::directory::changes::StandingChange;
use crate::directory::error::{What, WriteError};
use crate::directory::field::CustomBody;
use crate::directory::makings::StandingText;
use crate::directory::record::{AccountRecord, NewAccount, Writer};
use crate::key_text::KeyId;

/// Each write is durable when it returns, and is done even if nobody waits for it any more.
impl Embedded {
    pub(crate) async fn create_account(
        &self,
        id: AccountId,
        new: NewAccount,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let (by, shared, seen) = (by.clone(), Arc::clone(&self.shared), Arc::clone(&self.shared));
        let run = move |connection: &Connection| create(connection, &shared, id, new, &by);
        let enter = move |(_, account): &(_, Arc<Account>)| seen.index.enter_account(Arc::clone(account));
        Ok(self.database.write(run, enter).await?.0)
    }

    pub(crate) async fn set_standing(
        &self,
        account: &str,
        change: StandingChange,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let (account, by) = (account.to_owned(), by.clone());
        let (shared, seen) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let run = move |connection: &Connection| {
            let before = find(connection, &account)?;
            let after = change.of(&before);
            update(connection, &after)?;
            audit::enter(connection, &by, change.action(), Some(&before), &after)?;
            let standing = shared.makings.standing(StandingText::of(&after)).map_err(DatabaseError::from)?;
            Ok::<_, WriteError>((after, standing))
        };
        let swap = move |(record, standing): &(AccountRecord, Arc<Standing>)| {
            if let Some(account) = seen.index.account_by_serial(record.serial) {
                account.standing.store(Arc::clone(standing));
            }
        };
        Ok(self.database.write(run, swap).await?.0)
    }

    pub(crate) async fn delete_account(
        &self,
        account: &str,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let (account, by, seen) = (account.to_owned(), by.clone(), Arc::clone(&self.shared));
        let run = move |connection: &Connection| delete(connection, &account, &by);
        let remove = move |(record, keys): &(AccountRecord, Vec<KeyId>)| {
            keys.iter().for_each(|key| seen.index.remove_key(*key));
            seen.index.remove_account(record.serial);
        };
        Ok(self.database.write(run, remove).await?.0)
    }
}

/// The account of this id, or the error that there is none.
pub(super) fn find(connection: &Connection, id: &str) -> Result<AccountRecord, WriteError> {
    rows::find_account(connection, id)?.ok_or(WriteError::NotFound(What::Account))
}

fn create(
    connection: &Connection,
    shared: &Shared,
    id: AccountId,
    new: NewAccount,
    by: &Writer,
) -> Result<(AccountRecord, Arc<Account>), WriteError> {
    if rows::find_account(connection, id.as_str())?.is_some() {
        return Err(WriteError::Exists(id));
    }
    let mut record = new.record(id, by.now);
    record.serial = rows::next_serial(connection, "accounts", by.now)?;
    let sql = "INSERT INTO accounts (serial, id, name, tier, billing_day, timezone, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (id, name, tier) = (record.id.as_str(), record.name.as_str(), record.tier.as_str());
    let serial = record.serial.cast_signed();
    let values = (serial, id, name, tier, record.billing_day, &record.timezone, nanos(by.now));
    connection.execute(sql, values)?;
    audit::enter(connection, by, Action::AccountCreate, None, &record)?;
    let standing = shared.makings.standing(StandingText::of(&record)).map_err(DatabaseError::from)?;
    let account = shared.makings.account(record.serial, record.id.clone(), standing);
    Ok((record, account))
}

fn update(connection: &Connection, record: &AccountRecord) -> Result<(), DatabaseError> {
    let sql = "UPDATE accounts SET tier = ?2, custom = ?3, deleted_at = ?4 WHERE serial = ?1";
    let custom = record.custom.as_ref().map(CustomBody::as_str);
    let values = (record.serial.cast_signed(), record.tier.as_str(), custom, record.deleted_at.map(nanos));
    connection.execute(sql, values)?;
    Ok(())
}

fn delete(
    connection: &Connection,
    account: &str,
    by: &Writer,
) -> Result<(AccountRecord, Vec<KeyId>), WriteError> {
    let before = find(connection, account)?;
    let after = before.deleted(by.now);
    update(connection, &after)?;
    let sql = "UPDATE keys SET revoked_at = ?2 WHERE account = ?1 AND revoked_at IS NULL RETURNING id";
    let mut statement = connection.prepare(sql)?;
    let values = (after.serial.cast_signed(), nanos(by.now));
    let ids = statement.query_map(values, |row| row.get::<_, String>(0))?;
    let mut keys = Vec::new();
    for id in ids {
        keys.extend(KeyId::parse(&id?));
    }
    audit::enter(connection, by, Action::AccountDelete, Some(&before), &after)?;
    Ok((after, keys))
}
