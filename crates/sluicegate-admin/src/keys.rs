//! Keys: the credentials of accounts. A secret is in the answer that makes it, and in no other.

pub(super) mod create;
pub(super) mod list;
pub(super) mod revoke;
pub(super) mod rotate;
pub(super) mod show;

use serde::Serialize;
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::KeyRecord;
use sluicegate_store::key_text::{KeyEnv, SecretText};
use utoipa::ToSchema;

use super::instant;

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
    fn of(record: &KeyRecord, now: Timestamp) -> Self {
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
        }
    }
}

impl SecretBody {
    fn of(record: &KeyRecord, secret: &SecretText, now: Timestamp) -> Self {
        Self { record: KeyBody::of(record, now), key: secret.expose().to_owned() }
    }
}
