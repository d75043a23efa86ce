//! Writes to keys.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use rusqlite::Connection;
use sluicegate_core::time::{Nanos, Timestamp};

use super::accounts::find as find_account;
use super::shared::Shared;
use super::{Embedded, audit, rows};
use crate::database::DatabaseError;
use crate::database::column::nanos;
use crate::directory::Scopes;
use crate::directory::audited::Action;
use crate::directory::error::{What, WriteError};
use crate::directory::key::{Key, Previous};
use crate::directory::record::{KeyRecord, KeyUpdate, NewKey, Writer};
use crate::directory::restrictions::{ActiveRestrictions, KeyLimits, KeyRestrictions};
use crate::key_text::{KeyHash, KeyId};

/// Each write is durable when it returns, and is done even if nobody waits for it any more.
impl Embedded {
    pub(crate) async fn create_key(
        &self,
        account: &str,
        (id, hash): (KeyId, KeyHash),
        new: (NewKey, KeyRestrictions),
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        let (account, by) = (account.to_owned(), by.clone());
        let (shared, seen) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let run = move |connection: &Connection| create(connection, &shared, &account, (id, hash), new, &by);
        Ok(self.database.write(run, move |made: &Made| made.enter(&seen)).await?.record)
    }

    pub(crate) async fn rotate_key(
        &self,
        (id, hash): (KeyId, KeyHash),
        overlap: Nanos,
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        let (by, seen) = (by.clone(), Arc::clone(&self.shared));
        let run = move |connection: &Connection| rotate(connection, id, hash, overlap, &by);
        let swap = move |(_, previous): &(_, Option<Previous>)| {
            if let Some(key) = seen.index.key(id) {
                seen.index.enter_key(Arc::new(key.with_secret(hash, previous.clone())));
            }
        };
        Ok(self.database.write(run, swap).await?.0)
    }

    pub(crate) async fn update_key(
        &self,
        id: KeyId,
        change: KeyUpdate,
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        let (by, shared, seen) = (by.clone(), Arc::clone(&self.shared), Arc::clone(&self.shared));
        let run = move |connection: &Connection| update(connection, &shared, id, &change, &by);
        let swap = move |(record, scopes): &(KeyRecord, Scopes)| {
            if let Some(key) = seen.index.key(id) {
                seen.index.enter_key(Arc::new(key.updated(record, scopes.clone())));
            }
        };
        Ok(self.database.write(run, swap).await?.0)
    }

    pub(crate) async fn revoke_key(&self, id: KeyId, by: &Writer) -> Result<KeyRecord, WriteError> {
        let (by, seen) = (by.clone(), Arc::clone(&self.shared));
        let run = move |connection: &Connection| revoke(connection, id, &by);
        self.database.write(run, move |_| seen.index.remove_key(id)).await
    }
}

/// A key that was made, up to the account it is of: that may have been made in the same transaction.
struct Made {
    record: KeyRecord,
    account: u64,
    number: NonZeroU32,
    hash: KeyHash,
    scopes: Scopes,
}

impl Made {
    fn enter(&self, shared: &Shared) {
        let Some(account) = shared.index.account_by_serial(self.account) else { return };
        shared.index.enter_key(Arc::new(Key {
            serial: self.record.serial,
            number: self.number,
            env: self.record.env,
            id: self.record.id,
            account,
            scopes: self.scopes.clone(),
            expires_at: self.record.expires_at,
            restrictions: ActiveRestrictions::of(&self.record.restrictions),
            used_minute: AtomicU32::new(0),
            hash: self.hash,
            previous: None,
        }));
    }
}

fn find(connection: &Connection, id: KeyId) -> Result<KeyRecord, WriteError> {
    rows::find_key(connection, id)?.ok_or(WriteError::NotFound(What::Key))
}

fn create(
    connection: &Connection,
    shared: &Shared,
    account: &str,
    (id, hash): (KeyId, KeyHash),
    (new, restrictions): (NewKey, KeyRestrictions),
    by: &Writer,
) -> Result<Made, WriteError> {
    let account = find_account(connection, account)?;
    let number = next_number(connection, account.serial)?;
    let scopes = new.scopes.to_text();
    let serial = rows::next_serial(connection, "keys", by.now)?;
    let sql = "INSERT INTO keys (serial, id, account, number, name, env, scopes, hash, expires_at, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let of = (account.serial.cast_signed(), number.get());
    let at = (new.expires_at.map(nanos), nanos(by.now));
    let (name, env) = (new.name.as_str(), new.env.as_str());
    let values =
        (serial.cast_signed(), id.as_str(), of.0, of.1, name, env, &scopes, hash.as_bytes(), at.0, at.1);
    connection.execute(sql, values)?;
    let record = new.record(id, account.id, restrictions, by.now);
    let record = KeyRecord { serial, number: number.get(), ..record };
    if !record.restrictions.is_empty() {
        write_restrictions(connection, &record)?;
    }
    audit::enter(connection, by, Action::KeyCreate, None, &record)?;
    let scopes = shared.makings.scopes(&scopes).map_err(DatabaseError::from)?;
    Ok(Made { record, account: account.serial, number, hash, scopes })
}

/// Writes what narrows a key.
fn write_restrictions(connection: &Connection, record: &KeyRecord) -> Result<(), DatabaseError> {
    let KeyRestrictions { allowed_ips, allowed_origins, limits } = &record.restrictions;
    let sql = "UPDATE keys SET allowed_ips = ?2, allowed_origins = ?3, limits = ?4 WHERE id = ?1";
    let limits = limits.as_ref().map(KeyLimits::as_str);
    connection
        .execute(sql, (record.id.as_str(), allowed_ips.to_text(), allowed_origins.to_text(), limits))?;
    Ok(())
}

fn update(
    connection: &Connection,
    shared: &Shared,
    id: KeyId,
    change: &KeyUpdate,
    by: &Writer,
) -> Result<(KeyRecord, Scopes), WriteError> {
    let before = find(connection, id)?;
    let after = change.of(&before)?;
    let is_changed = after.is_some();
    let after = after.unwrap_or_else(|| before.clone());
    let scopes = after.scopes.to_text();
    if is_changed {
        let sql = "UPDATE keys SET name = ?2, scopes = ?3, expires_at = ?4 WHERE id = ?1";
        connection.execute(sql, (id.as_str(), after.name.as_str(), &scopes, after.expires_at.map(nanos)))?;
        write_restrictions(connection, &after)?;
        audit::enter(connection, by, Action::KeyUpdate, Some(&before), &after)?;
    }
    Ok((after, shared.makings.scopes(&scopes).map_err(DatabaseError::from)?))
}

fn next_number(connection: &Connection, account: u64) -> Result<NonZeroU32, WriteError> {
    let sql = "UPDATE accounts SET keys_made = keys_made + 1 WHERE serial = ?1 RETURNING keys_made";
    let number: i64 = connection.query_row(sql, [account.cast_signed()], |row| row.get(0))?;
    u32::try_from(number).ok().and_then(NonZeroU32::new).ok_or(WriteError::TooManyKeys)
}

fn rotate(
    connection: &Connection,
    id: KeyId,
    hash: KeyHash,
    overlap: Nanos,
    by: &Writer,
) -> Result<(KeyRecord, Option<Previous>), WriteError> {
    let before = find(connection, id)?;
    let after = before.rotated(overlap, by.now)?;
    let until = after.previous_until;
    let sql = "UPDATE keys SET hash = ?2, previous_hash = CASE WHEN ?3 IS NULL THEN NULL ELSE hash END, \
               previous_until = ?3, rotated_at = ?4 WHERE id = ?1 RETURNING previous_hash";
    let values = (id.as_str(), hash.as_bytes(), until.map(nanos), nanos(by.now));
    let old: Option<[u8; KeyHash::LENGTH]> = connection.query_row(sql, values, |row| row.get(0))?;
    audit::enter(connection, by, Action::KeyRotate, Some(&before), &after)?;
    let previous = |(hash, until): (_, Timestamp)| Previous { hash: KeyHash::from_bytes(hash), until };
    Ok((after, old.zip(until).map(previous)))
}

fn revoke(connection: &Connection, id: KeyId, by: &Writer) -> Result<KeyRecord, WriteError> {
    let before = find(connection, id)?;
    let Some(after) = before.revoked(by.now) else { return Ok(before) };
    connection.execute("UPDATE keys SET revoked_at = ?2 WHERE id = ?1", (id.as_str(), nanos(by.now)))?;
    audit::enter(connection, by, Action::KeyRevoke, Some(&before), &after)?;
    Ok(after)
}
