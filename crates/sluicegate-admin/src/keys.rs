//! Keys: the credentials of accounts. A secret is in the answer that makes it, and in no other.

pub(super) mod create;
pub(super) mod list;
mod restrictions;
pub(super) mod revoke;
pub(super) mod revoke_many;
pub(super) mod rotate;
pub(super) mod show;
pub(super) mod update;

use serde::Serialize;
use serde_json::Value;
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::KeyRecord;
use sluicegate_store::key_text::{KeyEnv, SecretText};
use utoipa::ToSchema;

use super::Admin;
use super::instant;
use super::problem::Problem;

/// A key, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyBody {
    /// Its id.
    #[schema(pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    id: String,
    /// Whose it is.
    #[schema(example = "acme")]
    account: String,
    /// What people call it.
    #[schema(max_length = 200, example = "production")]
    name: String,
    /// What it is for.
    env: Env,
    /// Whether it can be used.
    status: KeyStatus,
    /// What it may be used for.
    #[schema(max_items = 50, example = json!(["convert:write"]))]
    scopes: Vec<String>,
    /// From when on it is invalid; null: never.
    #[schema(required, format = DateTime, example = "2027-11-01T12:00:00.000Z")]
    expires_at: Option<String>,
    /// When it was made.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    created_at: String,
    /// When its secret was last changed.
    #[schema(required, format = DateTime)]
    rotated_at: Option<String>,
    /// From when on the secret before that is invalid.
    #[schema(required, format = DateTime)]
    previous_until: Option<String>,
    /// When it was revoked.
    #[schema(required, format = DateTime)]
    revoked_at: Option<String>,
    /// When it was last used, by the minute, as far as that was written: within 10 seconds. null: never, or before that
    /// was kept.
    #[schema(required, format = DateTime, example = "2026-11-02T12:00:00.000Z")]
    last_used_at: Option<String>,
    /// The networks that it may be used from; empty: every address.
    #[schema(max_items = 50, example = json!(["192.0.2.0/24"]))]
    allowed_ips: Vec<String>,
    /// The origins of web pages that it may be used from; empty: every one, and callers that are no browsers.
    #[schema(max_items = 50, example = json!(["https://app.example.com"]))]
    allowed_origins: Vec<String>,
    /// Its own limits below those of its account; null: none.
    #[schema(required, value_type = Option<Object>, example = json!({"rate": "5/s"}))]
    limits: Option<Value>,
}

/// A key with its secret, which is shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = KeyWithSecret)]
pub(crate) struct SecretBody {
    #[serde(flatten)]
    record: KeyBody,
    /// The secret: what callers send.
    #[schema(example = "sg_live_4fVZ8pQ2mX0c_...")]
    key: String,
}

/// What a key is for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Env {
    /// Production.
    Live,
    /// Trying things out.
    Test,
}

/// Whether a key can be used.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyStatus {
    /// It can.
    Active,
    /// Not any more: its time is over.
    Expired,
    /// Not any more: it was revoked.
    Revoked,
}

impl KeyBody {
    /// The key, with when it was last used.
    async fn read(record: &KeyRecord, admin: &Admin, now: Timestamp) -> Result<Self, Problem> {
        let used = admin.engine.directory().last_used(&[record.serial]).await?;
        Ok(Self::of(record, used.first().copied().flatten(), now))
    }

    fn of(record: &KeyRecord, last_used: Option<Timestamp>, now: Timestamp) -> Self {
        let text = |at: Option<Timestamp>| at.map(instant::text);
        Self {
            id: record.id.to_string(),
            account: record.account.to_string(),
            name: record.name.as_str().to_owned(),
            env: match record.env {
                KeyEnv::Live => Env::Live,
                KeyEnv::Test => Env::Test,
            },
            status: match (record.revoked_at, record.expires_at) {
                (Some(_), _) => KeyStatus::Revoked,
                (None, Some(end)) if end <= now => KeyStatus::Expired,
                (None, _) => KeyStatus::Active,
            },
            scopes: record.scopes.iter().map(str::to_owned).collect(),
            expires_at: text(record.expires_at),
            created_at: instant::text(record.created_at),
            rotated_at: text(record.rotated_at),
            previous_until: text(record.previous_until),
            revoked_at: text(record.revoked_at),
            last_used_at: text(last_used),
            allowed_ips: record.restrictions.allowed_ips.texts().collect(),
            allowed_origins: record.restrictions.allowed_origins.iter().map(str::to_owned).collect(),
            limits: record
                .restrictions
                .limits
                .as_ref()
                .and_then(|limits| serde_json::from_str(limits.as_str()).ok()),
        }
    }
}

impl SecretBody {
    fn of(record: KeyBody, secret: &SecretText) -> Self {
        Self { record, key: secret.expose().to_owned() }
    }
}
