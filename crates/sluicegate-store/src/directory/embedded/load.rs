//! Loading: every account and key that may be used, from the database into memory.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use rusqlite::{Connection, Row};

use super::rows::restrictions;
use super::shared::Shared;
use crate::database::DatabaseError;
use crate::database::column::{instant_or_null, whole};
use crate::directory::account::{Account, AccountId};
use crate::directory::key::{Key, Previous};
use crate::directory::makings::StandingText;
use crate::directory::restrictions::ActiveRestrictions;
use crate::key_text::{KeyEnv, KeyHash, KeyId};

/// Along the table: by an index, every row would be looked up on its own.
const ACCOUNTS: &str = "SELECT serial, id, tier, custom, billing_day, timezone FROM accounts NOT INDEXED \
                        WHERE deleted_at IS NULL ORDER BY serial";

const KEYS: &str = "SELECT serial, id, account, number, scopes, hash, previous_hash, previous_until, expires_at, env, \
                    allowed_ips, allowed_origins, limits FROM keys NOT INDEXED WHERE revoked_at IS NULL";

/// Enters all of them. The connection reads at one instant.
pub(super) fn load(connection: &mut Connection, shared: &Shared) -> Result<(), DatabaseError> {
    let transaction = connection.transaction()?;
    let accounts = read_all(&transaction, ACCOUNTS, |row| account(row, shared))?;
    let keys = read_all(&transaction, KEYS, |row| key(row, shared, &accounts))?;
    shared.index.reserve(accounts.len(), keys.len());
    accounts.into_iter().for_each(|account| shared.index.enter_account(account));
    keys.into_iter().for_each(|key| shared.index.enter_key(key));
    Ok(())
}

fn read_all<T>(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> Result<T, DatabaseError>,
) -> Result<Vec<T>, DatabaseError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

fn account(row: &Row<'_>, shared: &Shared) -> Result<Arc<Account>, DatabaseError> {
    let id = AccountId::new(row.get_ref(1)?.as_str()?)
        .map_err(|error| DatabaseError::Nonsense(format!("an account: {error}")))?;
    let standing = shared.makings.standing(StandingText {
        tier: row.get_ref(2)?.as_str()?,
        custom: row.get_ref(3)?.as_str_or_null()?,
        billing_day: row.get(4)?,
        timezone: row.get_ref(5)?.as_str_or_null()?,
    })?;
    Ok(shared.makings.account(whole(row, 0)?, id, standing))
}

/// The accounts are in the order of their serials.
fn key(row: &Row<'_>, shared: &Shared, accounts: &[Arc<Account>]) -> Result<Arc<Key>, DatabaseError> {
    let text = row.get_ref(1)?.as_str()?;
    let nonsense = |what: &str| DatabaseError::Nonsense(format!("key {text}: {what}"));
    let id = KeyId::parse(text).ok_or_else(|| nonsense("its id"))?;
    let serial = whole(row, 2)?;
    let place = accounts.binary_search_by_key(&serial, |account| account.serial);
    let account = place.map(|place| Arc::clone(&accounts[place])).map_err(|_| nonsense("its account"))?;
    let previous = match (row.get::<_, Option<[u8; KeyHash::LENGTH]>>(6)?, instant_or_null(row, 7)?) {
        (Some(hash), Some(until)) => Some(Box::new(Previous { hash: KeyHash::from_bytes(hash), until })),
        _ => None,
    };
    Ok(Arc::new(Key {
        serial: whole(row, 0)?,
        number: NonZeroU32::new(row.get(3)?).ok_or_else(|| nonsense("its number"))?,
        env: KeyEnv::parse(row.get_ref(9)?.as_str()?).ok_or_else(|| nonsense("its environment"))?,
        id,
        account,
        scopes: shared.makings.scopes(row.get_ref(4)?.as_str()?)?,
        expires_at: instant_or_null(row, 8)?,
        restrictions: ActiveRestrictions::of(&restrictions(row, 10)?),
        used_minute: AtomicU32::new(0),
        hash: KeyHash::from_bytes(row.get(5)?),
        previous,
    }))
}
