//! Accounts, keys and audit entries, as people see them.

use sluicegate_core::calendar::BillingDay;
use sluicegate_core::digest::Digest;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;

use super::account::{AccountId, Standing};
use super::field::{CustomBody, DisplayName, ZoneName};
use super::makings::StandingText;
use super::restrictions::{AllowedIps, AllowedOrigins, KeyLimits, KeyRestrictions};
use super::scopes::Scopes;
use crate::key_text::{KeyEnv, KeyId};

/// Who writes, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Writer {
    /// What the audit entry says.
    pub who: String,
    /// The time of the entry.
    pub now: Timestamp,
}

/// An account to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAccount {
    /// Its id; nothing: a random one.
    pub id: Option<AccountId>,
    /// What people call it.
    pub name: DisplayName,
    /// Its tier, which the caller has checked to exist.
    pub tier: TierName,
    /// The day on which its billing months begin; nothing: the first.
    pub billing_day: Option<BillingDay>,
    /// The zone in which its days and months begin; nothing: UTC.
    pub timezone: Option<ZoneName>,
}

/// An account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountRecord {
    /// The unique id under which the ledger knows it.
    pub serial: u64,
    /// Its id.
    pub id: AccountId,
    /// What people call it.
    pub name: DisplayName,
    /// Its tier.
    pub tier: TierName,
    /// The body of its negotiated tier, as it was given.
    pub custom: Option<CustomBody>,
    /// The day on which its billing months begin, if it was given.
    pub billing_day: Option<u8>,
    /// The zone in which its days and months begin, if it was given.
    pub timezone: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was deleted. Only look-ups by serial find such an account.
    pub deleted_at: Option<Timestamp>,
}

impl AccountRecord {
    /// What it has, or had when it was deleted. Nothing if no version of the program wrote that.
    pub fn standing(&self) -> Option<Standing> {
        StandingText::of(self).standing().ok()
    }
}

/// A key to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewKey {
    /// What people call it.
    pub name: DisplayName,
    /// What it is for.
    pub env: KeyEnv,
    /// What it may be used for.
    pub scopes: Scopes,
    /// From when on it is invalid; nothing: never.
    pub expires_at: Option<Timestamp>,
}

/// A key, without its secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRecord {
    /// The number under which the ledger knows it.
    pub serial: u64,
    /// Its number among the keys of its account.
    pub number: u32,
    /// Its id.
    pub id: KeyId,
    /// Whose it is.
    pub account: AccountId,
    /// What people call it.
    pub name: DisplayName,
    /// What it is for.
    pub env: KeyEnv,
    /// What it may be used for.
    pub scopes: Scopes,
    /// From when on it is invalid.
    pub expires_at: Option<Timestamp>,
    /// What narrows it below its account.
    pub restrictions: KeyRestrictions,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its secret was last changed.
    pub rotated_at: Option<Timestamp>,
    /// From when on the secret before that is invalid.
    pub previous_until: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What of a key is changed. Nothing: it stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyUpdate {
    /// What people call it.
    pub name: Option<DisplayName>,
    /// What it may be used for.
    pub scopes: Option<Scopes>,
    /// From when on it is invalid, or that it never is.
    pub expires_at: Option<Option<Timestamp>>,
    /// The addresses that it may be used from.
    pub allowed_ips: Option<AllowedIps>,
    /// The web pages that it may be used from.
    pub allowed_origins: Option<AllowedOrigins>,
    /// Its own limits, or that it has none.
    pub limits: Option<Option<KeyLimits>>,
}

/// One write, as it is kept for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRecord {
    /// Its number; later ones are larger.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub who: String,
    /// What was done, such as `account.create`.
    pub action: String,
    /// To which account or key.
    pub target: String,
    /// What it was before.
    pub before: Option<serde_json::Value>,
    /// What it was afterwards.
    pub after: Option<serde_json::Value>,
    /// The hash of all of this and of the link of the entry before it.
    pub link: Digest,
}
