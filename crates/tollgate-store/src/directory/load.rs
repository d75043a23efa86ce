//! Loading: every account and key that may be used, from the database into memory.

use std::num::NonZeroU32;
use std::sync::Arc;

use rusqlite::{Connection, Row};

use super::account::AccountId;
use super::key::{Key, Previous};
use super::shared::{Shared, StandingText};
use crate::database::DatabaseError;
use crate::database::column::{instant_or_null, whole};
use crate::key_text::{KeyHash, KeyId};

const ACCOUNTS: &str =
    "SELECT serial, id, tier, custom, billing_day, timezone FROM accounts WHERE deleted_at IS NULL";

const KEYS: &str = "SELECT serial, id, account, number, scopes, hash, previous_hash, previous_until, expires_at \
                    FROM keys WHERE revoked_at IS NULL";

/// Enters all of them. The connection reads at one instant.
pub(super) fn load(connection: &mut Connection, shared: &Shared) -> Result<(), DatabaseError> {
    let transaction = connection.transaction()?;
    let mut accounts = transaction.prepare(ACCOUNTS)?;
    let mut rows = accounts.query([])?;
    while let Some(row) = rows.next()? {
        load_account(row, shared)?;
    }
    let mut keys = transaction.prepare(KEYS)?;
    let mut rows = keys.query([])?;
    while let Some(row) = rows.next()? {
        load_key(row, shared)?;
    }
    Ok(())
}

fn load_account(row: &Row<'_>, shared: &Shared) -> Result<(), DatabaseError> {
    let id = AccountId::new(row.get_ref(1)?.as_str()?)
        .map_err(|error| DatabaseError::Nonsense(format!("an account: {error}")))?;
    let standing = shared.standing(StandingText {
        tier: row.get_ref(2)?.as_str()?,
        custom: row.get_ref(3)?.as_str_or_null()?,
        billing_day: row.get(4)?,
        timezone: row.get_ref(5)?.as_str_or_null()?,
    })?;
    shared.index.enter_account(shared.account(whole(row, 0)?, id, standing));
    Ok(())
}

fn load_key(row: &Row<'_>, shared: &Shared) -> Result<(), DatabaseError> {
    let text = row.get_ref(1)?.as_str()?;
    let nonsense = |what: &str| DatabaseError::Nonsense(format!("key {text}: {what}"));
    let id = KeyId::parse(text).ok_or_else(|| nonsense("its id"))?;
    let account = shared.index.account_by_serial(whole(row, 2)?).ok_or_else(|| nonsense("its account"))?;
    let previous = match (row.get::<_, Option<[u8; KeyHash::LENGTH]>>(6)?, instant_or_null(row, 7)?) {
        (Some(hash), Some(until)) => Some(Box::new(Previous { hash: KeyHash::from_bytes(hash), until })),
        _ => None,
    };
    shared.index.enter_key(Arc::new(Key {
        serial: whole(row, 0)?,
        number: NonZeroU32::new(row.get(3)?).ok_or_else(|| nonsense("its number"))?,
        id,
        account,
        scopes: shared.scopes(row.get_ref(4)?.as_str()?)?,
        expires_at: instant_or_null(row, 8)?,
        hash: KeyHash::from_bytes(row.get(5)?),
        previous,
    }));
    Ok(())
}
