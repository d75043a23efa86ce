//! Accounts and keys as Redis keeps them: JSON on one line, the version first, then the numbers.
//!
//! A record that is new has holes where the script that writes it puts the numbers it gives.

use serde_json::{Map, Value, json};
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;

use super::error::RedisError;
use super::layout::{VERSION, VERSION_NARROWED, VERSION_UNIQUE};
use crate::directory::account::AccountId;
use crate::directory::field::{CustomBody, DisplayName};
use crate::directory::key::Previous;
use crate::directory::record::{AccountRecord, KeyRecord};
use crate::directory::restrictions::{AllowedIps, AllowedOrigins, KeyLimits, KeyRestrictions};
use crate::directory::scopes::Scopes;
use crate::directory::serial::FIRST_UNIQUE;
use crate::key_text::{KeyEnv, KeyHash, KeyId};

/// A key, with what only the directory may see.
#[derive(Clone, Debug)]
pub(super) struct StoredKey {
    /// Revoked, also if that is because its account is deleted.
    pub(super) record: KeyRecord,
    pub(super) hash: KeyHash,
    pub(super) previous: Option<Previous>,
}

/// The text of an account, around its serial.
pub(super) fn account_parts(record: &AccountRecord) -> [String; 2] {
    let rest = json!({
        "id": record.id.as_str(),
        "name": record.name.as_str(),
        "tier": record.tier.as_str(),
        "custom": record.custom.as_ref().map(CustomBody::as_str),
        "billing_day": record.billing_day,
        "timezone": record.timezone,
        "created_at": record.created_at.as_nanos(),
        "deleted_at": record.deleted_at.map(Timestamp::as_nanos),
    });
    // A new account has its serial from the script: that is a unique one.
    let is_counted = (1..FIRST_UNIQUE).contains(&record.serial);
    let version = if is_counted { VERSION } else { VERSION_UNIQUE };
    [format!("{{\"v\":{version},\"serial\":"), after_numbers(&rest)]
}

/// The text of a key, around its serial, the serial of its account, and its number.
pub(super) fn key_parts(key: &StoredKey) -> [String; 4] {
    let StoredKey { record, hash, previous } = key;
    let mut rest = json!({
        "id": record.id.as_str(),
        "name": record.name.as_str(),
        "env": record.env.as_str(),
        "scopes": record.scopes.to_text(),
        "hash": hex(hash),
        "previous_hash": previous.as_ref().map(|previous| hex(&previous.hash)),
        "previous_until": record.previous_until.map(Timestamp::as_nanos),
        "expires_at": record.expires_at.map(Timestamp::as_nanos),
        "created_at": record.created_at.as_nanos(),
        "rotated_at": record.rotated_at.map(Timestamp::as_nanos),
        "revoked_at": record.revoked_at.map(Timestamp::as_nanos),
    });
    let KeyRestrictions { allowed_ips, allowed_origins, limits } = &record.restrictions;
    if !record.restrictions.is_empty() {
        rest["allowed_ips"] = json!(allowed_ips.to_text());
        rest["allowed_origins"] = json!(allowed_origins.to_text());
        rest["limits"] = json!(limits.as_ref().map(KeyLimits::as_str));
    }
    let version = if record.restrictions.is_empty() { VERSION } else { VERSION_NARROWED };
    let head = format!("{{\"v\":{version},\"serial\":");
    [head, ",\"account\":".to_owned(), ",\"number\":".to_owned(), after_numbers(&rest)]
}

/// An object without its brace, to follow the numbers.
fn after_numbers(rest: &Value) -> String {
    format!(",{}", &rest.to_string()[1..])
}

fn hex(hash: &KeyHash) -> String {
    blake3::Hash::from_bytes(*hash.as_bytes()).to_hex().to_string()
}

/// The account of this text.
pub(super) fn account(text: &str) -> Result<AccountRecord, RedisError> {
    let fields = Fields::of("an account", text, &[VERSION, VERSION_UNIQUE])?;
    let custom = fields.text_or_null("custom")?.map(CustomBody::new).transpose();
    Ok(AccountRecord {
        serial: fields.number("serial")?,
        id: AccountId::new(fields.text("id")?).map_err(|_| fields.nonsense("id"))?,
        name: DisplayName::new(fields.text("name")?).map_err(|_| fields.nonsense("name"))?,
        tier: TierName::new(fields.text("tier")?).ok_or_else(|| fields.nonsense("tier"))?,
        custom: custom.map_err(|_| fields.nonsense("custom"))?,
        billing_day: match fields.number_or_null("billing_day")? {
            Some(day) => Some(u8::try_from(day).map_err(|_| fields.nonsense("billing_day"))?),
            None => None,
        },
        timezone: fields.text_or_null("timezone")?.map(str::to_owned),
        created_at: Timestamp::from_nanos(fields.number("created_at")?),
        deleted_at: fields.instant_or_null("deleted_at")?,
    })
}

/// The key of this text, which is of that account.
pub(super) fn key(text: &str, account: &AccountRecord) -> Result<StoredKey, RedisError> {
    let fields = Fields::of("a key", text, &[VERSION, VERSION_NARROWED])?;
    if fields.number("account")? != account.serial {
        return Err(fields.nonsense("account"));
    }
    let scopes = Scopes::new(fields.text("scopes")?.split_ascii_whitespace());
    let number = u32::try_from(fields.number("number")?).map_err(|_| fields.nonsense("number"))?;
    let previous_until = fields.instant_or_null("previous_until")?;
    let previous_hash = fields.text_or_null("previous_hash")?;
    let previous_hash = previous_hash.map(|text| fields.hash("previous_hash", text)).transpose()?;
    let record = KeyRecord {
        serial: fields.number("serial")?,
        number,
        id: KeyId::parse(fields.text("id")?).ok_or_else(|| fields.nonsense("id"))?,
        account: account.id.clone(),
        name: DisplayName::new(fields.text("name")?).map_err(|_| fields.nonsense("name"))?,
        env: KeyEnv::parse(fields.text("env")?).ok_or_else(|| fields.nonsense("env"))?,
        scopes: scopes.map_err(|_| fields.nonsense("scopes"))?,
        expires_at: fields.instant_or_null("expires_at")?,
        restrictions: restrictions(&fields)?,
        created_at: Timestamp::from_nanos(fields.number("created_at")?),
        rotated_at: fields.instant_or_null("rotated_at")?,
        previous_until,
        revoked_at: fields.instant_or_null("revoked_at")?.or(account.deleted_at),
    };
    let previous = previous_hash.zip(previous_until).map(|(hash, until)| Previous { hash, until });
    Ok(StoredKey { record, hash: fields.hash("hash", fields.text("hash")?)?, previous })
}

/// What narrows a key; nothing in one of the first version.
fn restrictions(fields: &Fields) -> Result<KeyRestrictions, RedisError> {
    if fields.number("v")? == VERSION {
        return Ok(KeyRestrictions::default());
    }
    let ips = AllowedIps::new(fields.text("allowed_ips")?.split_ascii_whitespace());
    let origins = AllowedOrigins::new(fields.text("allowed_origins")?.split_ascii_whitespace());
    let limits = fields.text_or_null("limits")?.map(KeyLimits::new).transpose();
    Ok(KeyRestrictions {
        allowed_ips: ips.map_err(|_| fields.nonsense("allowed_ips"))?,
        allowed_origins: origins.map_err(|_| fields.nonsense("allowed_origins"))?,
        limits: limits.map_err(|_| fields.nonsense("limits"))?,
    })
}

/// What is wrong with a key whose account was not found.
pub(super) fn without_account(text: &str) -> RedisError {
    match Fields::of("a key", text, &[VERSION, VERSION_NARROWED]) {
        Ok(fields) => fields.nonsense("account"),
        Err(error) => error,
    }
}

/// The fields of a record whose version is known.
struct Fields {
    what: String,
    fields: Map<String, Value>,
}

impl Fields {
    fn of(what: &str, text: &str, known: &[u64]) -> Result<Self, RedisError> {
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else {
            return Err(RedisError::Nonsense(what.to_owned()));
        };
        let what = match fields.get("serial").and_then(Value::as_u64) {
            Some(serial) => format!("{what} (serial {serial})"),
            None => what.to_owned(),
        };
        match fields.get("v").and_then(Value::as_u64) {
            Some(found) if known.contains(&found) => Ok(Self { what, fields }),
            Some(found) => Err(RedisError::Newer { what, found }),
            None => Err(RedisError::Nonsense(what)),
        }
    }

    fn nonsense(&self, field: &str) -> RedisError {
        RedisError::Nonsense(format!("{}: {field}", self.what))
    }

    fn text_or_null(&self, field: &str) -> Result<Option<&str>, RedisError> {
        match self.fields.get(field) {
            Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            _ => Err(self.nonsense(field)),
        }
    }

    fn text(&self, field: &str) -> Result<&str, RedisError> {
        self.text_or_null(field)?.ok_or_else(|| self.nonsense(field))
    }

    fn number_or_null(&self, field: &str) -> Result<Option<u64>, RedisError> {
        match self.fields.get(field) {
            Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| self.nonsense(field)),
            None => Err(self.nonsense(field)),
        }
    }

    fn number(&self, field: &str) -> Result<u64, RedisError> {
        self.number_or_null(field)?.ok_or_else(|| self.nonsense(field))
    }

    fn instant_or_null(&self, field: &str) -> Result<Option<Timestamp>, RedisError> {
        Ok(self.number_or_null(field)?.map(Timestamp::from_nanos))
    }

    fn hash(&self, field: &str, text: &str) -> Result<KeyHash, RedisError> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| self.nonsense(field))?;
        Ok(KeyHash::from_bytes(*hash.as_bytes()))
    }
}

#[cfg(test)]
mod tests;
