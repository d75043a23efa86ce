//! Named tokens of people and programs. The text of a token is in the answer that creates it, and in no other.

pub(super) mod create;
pub(super) mod list;
pub(super) mod revoke;

use serde::Serialize;
use sluicegate_core::time::Timestamp;
use sluicegate_store::token::{May, Role, TokenRecord};
use utoipa::ToSchema;

use super::instant;

/// A token, without its text.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
pub(crate) struct TokenBody {
    /// Its id.
    #[schema(pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    id: String,
    /// Its name, which audit entries call its holder.
    #[schema(max_length = 64, example = "prometheus")]
    name: String,
    /// Its role.
    role: RoleWord,
    /// What a token with the role `decide` may do beyond asking for decisions.
    may: Vec<MayWord>,
    /// Whether it can be used.
    status: TokenStatus,
    /// From when on it is invalid; null: never.
    #[schema(required, format = DateTime, example = "2027-11-01T12:00:00.000Z")]
    expires_at: Option<String>,
    /// When it was created.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    created_at: String,
}

/// A token with its text, which is shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenWithSecret)]
pub(crate) struct TokenSecretBody {
    #[serde(flatten)]
    record: TokenBody,
    /// The token itself.
    #[schema(example = "sgt_4fVZ8pQ2mX0c_...")]
    token: String,
}

/// What a token is for.
#[derive(Serialize, ToSchema)]
#[schema(as = Role)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RoleWord {
    /// Reads `/metrics`.
    Metrics,
    /// Reads everything but secrets.
    Read,
    /// Asks for decisions, and opens nothing of the admin API.
    Decide,
    /// Reads, and manages keys.
    Keys,
    /// Manages accounts, keys, blocks and usage.
    Operator,
    /// Everything, tokens included.
    Owner,
}

/// What a token may do beyond asking for decisions.
#[derive(Serialize, ToSchema)]
#[schema(as = May)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MayWord {
    /// Name an account or a tier without its key.
    Vouch,
    /// Give back what was charged, without a permit.
    Refund,
}

/// Whether a token can be used.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TokenStatus {
    /// It can.
    Active,
    /// Not any more: its time is over.
    Expired,
}

impl TokenBody {
    fn of(record: &TokenRecord, now: Timestamp) -> Self {
        Self {
            id: record.id.to_string(),
            name: record.name.to_string(),
            role: match record.role {
                Role::Metrics => RoleWord::Metrics,
                Role::Read => RoleWord::Read,
                Role::Decide => RoleWord::Decide,
                Role::Keys => RoleWord::Keys,
                Role::Operator => RoleWord::Operator,
                Role::Owner => RoleWord::Owner,
            },
            may: record
                .may
                .iter()
                .map(|may| match may {
                    May::Vouch => MayWord::Vouch,
                    May::Refund => MayWord::Refund,
                })
                .collect(),
            status: if record.is_live(now) { TokenStatus::Active } else { TokenStatus::Expired },
            expires_at: record.expires_at.map(instant::text),
            created_at: instant::text(record.created_at),
        }
    }
}
