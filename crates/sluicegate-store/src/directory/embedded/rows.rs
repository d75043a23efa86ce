//! Rows of the tables to records and back.

use rusqlite::{Connection, OptionalExtension as _, Row, ToSql};
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;

use crate::database::DatabaseError;
use crate::database::column::{instant, instant_or_null, whole};
use crate::directory::account::AccountId;
use crate::directory::error::WriteError;
use crate::directory::field::{CustomBody, DisplayName, FieldError};
use crate::directory::record::{AccountRecord, KeyRecord};
use crate::directory::restrictions::{AllowedIps, AllowedOrigins, KeyLimits, KeyRestrictions};
use crate::directory::scopes::Scopes;
use crate::directory::serial;
use crate::key_text::{KeyEnv, KeyId};

/// What follows is `WHERE …`.
pub(super) const SELECT_ACCOUNT: &str =
    "SELECT serial, id, name, tier, custom, billing_day, timezone, created_at, deleted_at FROM accounts";

/// What follows is `WHERE …`.
pub(super) const SELECT_KEY: &str = concat!(
    "SELECT keys.serial, keys.number, keys.id, accounts.id, keys.name, env, scopes, expires_at, keys.created_at, ",
    "rotated_at, previous_until, revoked_at, allowed_ips, allowed_origins, limits ",
    "FROM keys JOIN accounts ON accounts.serial = keys.account"
);

pub(super) fn account(row: &Row<'_>) -> Result<AccountRecord, DatabaseError> {
    let serial = whole(row, 0)?;
    let nonsense = |what: &str| DatabaseError::Nonsense(format!("account {serial}: {what}"));
    let custom = row.get_ref(4)?.as_str_or_null()?.map(CustomBody::new).transpose();
    Ok(AccountRecord {
        serial,
        id: AccountId::new(row.get_ref(1)?.as_str()?).map_err(|_| nonsense("its id"))?,
        name: DisplayName::new(row.get_ref(2)?.as_str()?).map_err(|_| nonsense("its name"))?,
        tier: TierName::new(row.get_ref(3)?.as_str()?).ok_or_else(|| nonsense("its tier"))?,
        custom: custom.map_err(|_| nonsense("its negotiated tier"))?,
        billing_day: row.get(5)?,
        timezone: row.get(6)?,
        created_at: instant(row, 7)?,
        deleted_at: instant_or_null(row, 8)?,
    })
}

pub(super) fn key(row: &Row<'_>) -> Result<KeyRecord, DatabaseError> {
    let serial = whole(row, 0)?;
    let nonsense = |what: &str| DatabaseError::Nonsense(format!("key {serial}: {what}"));
    let scopes = row.get_ref(6)?.as_str()?.split_ascii_whitespace();
    Ok(KeyRecord {
        serial,
        number: row.get(1)?,
        id: KeyId::parse(row.get_ref(2)?.as_str()?).ok_or_else(|| nonsense("its id"))?,
        account: AccountId::new(row.get_ref(3)?.as_str()?).map_err(|_| nonsense("its account"))?,
        name: DisplayName::new(row.get_ref(4)?.as_str()?).map_err(|_| nonsense("its name"))?,
        env: KeyEnv::parse(row.get_ref(5)?.as_str()?).ok_or_else(|| nonsense("its environment"))?,
        scopes: Scopes::new(scopes).map_err(|_| nonsense("its scopes"))?,
        expires_at: instant_or_null(row, 7)?,
        restrictions: restrictions(row, 12)?,
        created_at: instant(row, 8)?,
        rotated_at: instant_or_null(row, 9)?,
        previous_until: instant_or_null(row, 10)?,
        revoked_at: instant_or_null(row, 11)?,
    })
}

/// What narrows a key, from three columns on.
pub(super) fn restrictions(row: &Row<'_>, first: usize) -> Result<KeyRestrictions, DatabaseError> {
    let nonsense = |error: FieldError| DatabaseError::Nonsense(format!("a key: {error}"));
    let ips = row.get_ref(first)?.as_str()?;
    let origins = row.get_ref(first + 1)?.as_str()?;
    let limits = row.get_ref(first + 2)?.as_str_or_null()?;
    if ips.is_empty() && origins.is_empty() && limits.is_none() {
        return Ok(KeyRestrictions::default());
    }
    Ok(KeyRestrictions {
        allowed_ips: AllowedIps::new(ips.split_ascii_whitespace()).map_err(nonsense)?,
        allowed_origins: AllowedOrigins::new(origins.split_ascii_whitespace()).map_err(nonsense)?,
        limits: limits.map(KeyLimits::new).transpose().map_err(nonsense)?,
    })
}

/// The account of this id that is not deleted.
pub(super) fn find_account(
    connection: &Connection,
    id: &str,
) -> Result<Option<AccountRecord>, DatabaseError> {
    let sql = format!("{SELECT_ACCOUNT} WHERE id = ?1 AND deleted_at IS NULL");
    one(connection, &sql, &[&id], account)
}

/// The key of this id, revoked or not.
pub(super) fn find_key(connection: &Connection, id: KeyId) -> Result<Option<KeyRecord>, DatabaseError> {
    one(connection, &format!("{SELECT_KEY} WHERE keys.id = ?1"), &[&id.as_str()], key)
}

/// The serial of the next row of this table. SQLite keeps the largest that the table ever had.
pub(super) fn next_serial(connection: &Connection, table: &str, now: Timestamp) -> Result<u64, WriteError> {
    let least = serial::least(now)?;
    let sql = "SELECT seq + 1 FROM sqlite_sequence WHERE name = ?1";
    let next = connection.query_row(sql, [table], |row| whole(row, 0)).optional()?;
    Ok(next.map_or(least, |next| least.max(next)))
}

/// The row that this finds, if any.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    read: fn(&Row<'_>) -> Result<T, DatabaseError>,
) -> Result<Option<T>, DatabaseError> {
    connection.query_row(sql, values, |row| Ok(read(row))).optional()?.transpose()
}
