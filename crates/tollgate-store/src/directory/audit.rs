//! Audit entries: what each write changed, in the same transaction. Records hold no secret and no hash, so none does.

use rusqlite::{Connection, Row};
use serde_json::{Value, json};
use tollgate_core::time::Timestamp;

use super::record::{AccountRecord, AuditRecord, KeyRecord, Writer};
use crate::database::DatabaseError;
use crate::database::column::{instant, nanos, whole};

/// What follows is `WHERE …`.
pub(super) const SELECT: &str = "SELECT seq, at, who, action, target, before, after FROM audit";

/// What was written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    AccountCreate,
    AccountSetTier,
    AccountSetCustom,
    AccountDelete,
    KeyCreate,
    KeyRotate,
    KeyRevoke,
}

impl Action {
    const fn as_str(self) -> &'static str {
        match self {
            Self::AccountCreate => "account.create",
            Self::AccountSetTier => "account.set_tier",
            Self::AccountSetCustom => "account.set_custom",
            Self::AccountDelete => "account.delete",
            Self::KeyCreate => "key.create",
            Self::KeyRotate => "key.rotate",
            Self::KeyRevoke => "key.revoke",
        }
    }
}

/// Something that is written about: what it is called, and what is said of it.
pub(super) trait Audited {
    fn target(&self) -> &str;
    fn says(&self) -> Value;
}

impl Audited for AccountRecord {
    fn target(&self) -> &str {
        self.id.as_str()
    }

    fn says(&self) -> Value {
        json!({
            "serial": self.serial,
            "id": self.id.as_str(),
            "name": self.name.as_str(),
            "tier": self.tier.as_str(),
            "custom": self.custom.as_ref().map(|body| body.as_str()),
            "billing_day": self.billing_day,
            "timezone": self.timezone,
            "created_at": text(self.created_at),
            "deleted_at": self.deleted_at.map(text),
        })
    }
}

impl Audited for KeyRecord {
    fn target(&self) -> &str {
        self.id.as_str()
    }

    fn says(&self) -> Value {
        json!({
            "serial": self.serial,
            "id": self.id.as_str(),
            "account": self.account.as_str(),
            "number": self.number,
            "name": self.name.as_str(),
            "env": self.env.as_str(),
            "scopes": self.scopes.iter().collect::<Vec<_>>(),
            "expires_at": self.expires_at.map(text),
            "created_at": text(self.created_at),
            "rotated_at": self.rotated_at.map(text),
            "previous_until": self.previous_until.map(text),
            "revoked_at": self.revoked_at.map(text),
        })
    }
}

/// The instant as people write it, in UTC.
fn text(at: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos())).unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// Enters what a write changed.
pub(super) fn enter<R: Audited>(
    connection: &Connection,
    by: &Writer,
    action: Action,
    before: Option<&R>,
    after: &R,
) -> Result<(), DatabaseError> {
    let before = before.map(|record| record.says().to_string());
    let sql = "INSERT INTO audit (at, who, action, target, before, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let after = (after.target(), after.says().to_string());
    connection.execute(sql, (nanos(by.now), &by.who, action.as_str(), after.0, before, after.1))?;
    Ok(())
}

pub(super) fn record(row: &Row<'_>) -> Result<AuditRecord, DatabaseError> {
    let seq = whole(row, 0)?;
    let value = |column| -> Result<Option<Value>, DatabaseError> {
        let Some(text) = row.get_ref(column)?.as_str_or_null()? else { return Ok(None) };
        let nonsense = |_| DatabaseError::Nonsense(format!("audit entry {seq}"));
        serde_json::from_str(text).map(Some).map_err(nonsense)
    };
    Ok(AuditRecord {
        seq,
        at: instant(row, 1)?,
        who: row.get(2)?,
        action: row.get(3)?,
        target: row.get(4)?,
        before: value(5)?,
        after: value(6)?,
    })
}
