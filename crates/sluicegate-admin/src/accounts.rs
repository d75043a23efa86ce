//! Accounts: who pays, and under which tier.

mod change;
pub(super) mod create;
pub(super) mod custom;
pub(super) mod delete;
pub(super) mod limits;
pub(super) mod list;
pub(super) mod show;
pub(super) mod tier;

use serde::Serialize;
use serde_json::value::RawValue;
use sluicegate_core::file::closest;
use sluicegate_core::policy::{Policy, TierName};
use sluicegate_store::directory::AccountRecord;
use utoipa::ToSchema;

use super::instant;
use super::problem::{Error, Problem};

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(as = Account)]
pub(crate) struct AccountBody {
    /// Its id.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", example = "acme")]
    id: String,
    /// Its unique id: what it used is counted under it, and no other account ever has it.
    #[schema(pattern = "^[0-9]+$", example = "3763536543744000")]
    uid: String,
    /// What people call it.
    #[schema(max_length = 200, example = "Acme Ltd.")]
    name: String,
    /// Its tier; `custom:<id>` if it has negotiated limits.
    #[schema(example = "pro")]
    tier: String,
    /// Its negotiated limits, as they were given.
    #[schema(required, value_type = Option<Object>)]
    custom: Option<Box<RawValue>>,
    /// The day on which its billing months begin, if it was given; otherwise the first.
    #[schema(required, minimum = 1, maximum = 31, example = 15)]
    billing_day: Option<u8>,
    /// The zone in which its days and months begin, if it was given; otherwise UTC.
    #[schema(required, example = "Europe/Berlin")]
    timezone: Option<String>,
    /// When it was made.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    created_at: String,
}

impl From<AccountRecord> for AccountBody {
    fn from(record: AccountRecord) -> Self {
        Self {
            id: record.id.to_string(),
            uid: record.serial.to_string(),
            name: record.name.as_str().to_owned(),
            tier: record.tier.to_string(),
            custom: record.custom.and_then(|body| serde_json::from_str(body.as_str()).ok()),
            billing_day: record.billing_day,
            timezone: record.timezone,
            created_at: instant::text(record.created_at),
        }
    }
}

/// The tier of this name, if the policy in force has it.
fn defined_tier(name: &str, policy: &Policy) -> Result<TierName, Problem> {
    if let Some(tier) = policy.tiers.get(name) {
        return Ok(tier.name.clone());
    }
    let known = || policy.tiers.iter().map(|tier| tier.name.as_str());
    let help = match closest(name, known()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("defined are {}.", known().collect::<Vec<_>>().join(", ")),
    };
    let shown: String = name.chars().take(80).collect();
    Err(Problem::new(Error::UndefinedTier, format!("No tier is called \"{shown}\"; {help}")).field("tier"))
}
