//! Writes to accounts.

use std::sync::Arc;

use rusqlite::Connection;
use tollgate_core::policy::TierName;

use super::account::{Account, AccountId, Standing};
use super::audit::{self, Action};
use super::error::{What, WriteError};
use super::field::{CustomBody, FieldError, ZoneName};
use super::record::{AccountRecord, NewAccount, Writer};
use super::shared::{Shared, StandingText};
use super::{Directory, rows};
use crate::database::DatabaseError;
use crate::database::column::{nanos, whole};
use crate::key_text::KeyId;

/// Writes to accounts. Each is durable when it returns, seen by the next request, and one audit entry. It is done even
/// if nobody waits for it any more.
impl Directory {
    /// Makes an account.
    pub async fn create_account(&self, new: NewAccount, by: &Writer) -> Result<AccountRecord, WriteError> {
        refuse_custom(&new.tier)?;
        let id = match &new.id {
            Some(id) => id.clone(),
            None => AccountId::random()?,
        };
        let (by, shared, seen) = (by.clone(), Arc::clone(&self.shared), Arc::clone(&self.shared));
        let run = move |connection: &Connection| create(connection, &shared, id, new, &by);
        let enter = move |(_, account): &(_, Arc<Account>)| seen.index.enter_account(Arc::clone(account));
        Ok(self.database.write(run, enter).await?.0)
    }

    /// Gives an account a tier that the caller has checked to exist. Nothing of a negotiated tier stays in force.
    pub async fn set_tier(
        &self,
        account: &str,
        tier: TierName,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        refuse_custom(&tier)?;
        self.set_standing(account, Action::AccountSetTier, by, |record| {
            record.tier = tier;
            record.custom = None;
        })
        .await
    }

    /// Gives an account a tier of its own, `custom:<id>`.
    pub async fn set_custom(
        &self,
        account: &str,
        body: CustomBody,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let tier = TierName::new(&format!("{}{account}", TierName::CUSTOM_PREFIX));
        // What is no name of a tier is no account's id either.
        let tier = tier.ok_or(WriteError::NotFound(What::Account))?;
        self.set_standing(account, Action::AccountSetCustom, by, |record| {
            record.tier = tier;
            record.custom = Some(body);
        })
        .await
    }

    async fn set_standing(
        &self,
        account: &str,
        action: Action,
        by: &Writer,
        change: impl FnOnce(&mut AccountRecord) + Send + 'static,
    ) -> Result<AccountRecord, WriteError> {
        let (account, by) = (account.to_owned(), by.clone());
        let (shared, seen) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let run = move |connection: &Connection| {
            let before = find(connection, &account)?;
            let mut after = before.clone();
            change(&mut after);
            update(connection, &after)?;
            audit::enter(connection, &by, action, Some(&before), &after)?;
            let standing = shared.standing(standing_text(&after))?;
            Ok::<_, WriteError>((after, standing))
        };
        let swap = move |(record, standing): &(AccountRecord, Arc<Standing>)| {
            if let Some(account) = seen.index.account_by_serial(record.serial) {
                account.standing.store(Arc::clone(standing));
            }
        };
        Ok(self.database.write(run, swap).await?.0)
    }

    /// Deletes an account and revokes its keys. The id may be given again; the serial is not, and the meters stay.
    pub async fn delete_account(&self, account: &str, by: &Writer) -> Result<AccountRecord, WriteError> {
        let (account, by, seen) = (account.to_owned(), by.clone(), Arc::clone(&self.shared));
        let run = move |connection: &Connection| delete(connection, &account, &by);
        let remove = move |(record, keys): &(AccountRecord, Vec<KeyId>)| {
            keys.iter().for_each(|key| seen.index.remove_key(*key));
            seen.index.remove_account(record.serial);
        };
        Ok(self.database.write(run, remove).await?.0)
    }
}

/// A negotiated tier without its body would mean nothing.
fn refuse_custom(tier: &TierName) -> Result<(), WriteError> {
    if tier.is_custom() {
        let problem = "is a negotiated one, which is set by its limits";
        return Err(FieldError::new("tier", problem).into());
    }
    Ok(())
}

/// The account of this id, or the error that there is none.
pub(super) fn find(connection: &Connection, id: &str) -> Result<AccountRecord, WriteError> {
    rows::find_account(connection, id)?.ok_or(WriteError::NotFound(What::Account))
}

fn standing_text(record: &AccountRecord) -> StandingText<'_> {
    StandingText {
        tier: record.tier.as_str(),
        custom: record.custom.as_ref().map(CustomBody::as_str),
        billing_day: record.billing_day,
        timezone: record.timezone.as_deref(),
    }
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
    let mut record = AccountRecord {
        serial: 0,
        id,
        name: new.name,
        tier: new.tier,
        custom: None,
        billing_day: new.billing_day.map(|day| day.get()),
        timezone: new.timezone.map(ZoneName::into_text),
        created_at: by.now,
        deleted_at: None,
    };
    let sql = "INSERT INTO accounts (id, name, tier, billing_day, timezone, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING serial";
    let (id, name, tier) = (record.id.as_str(), record.name.as_str(), record.tier.as_str());
    let values = (id, name, tier, record.billing_day, &record.timezone, nanos(by.now));
    record.serial = connection.query_row(sql, values, |row| whole(row, 0))?;
    audit::enter(connection, by, Action::AccountCreate, None, &record)?;
    let standing = shared.standing(standing_text(&record))?;
    let account = shared.account(record.serial, record.id.clone(), standing);
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
    let after = AccountRecord { deleted_at: Some(by.now), ..before.clone() };
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
