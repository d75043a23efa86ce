//! What audit entries say: of each write, what it did and what it changed. Records hold no secret and no hash, so no
//! entry does.

use serde_json::{Value, json};
use sluicegate_core::time::Timestamp;

use super::note::Deed;
use super::record::{AccountRecord, KeyRecord};
use super::restrictions::{KeyLimits, KeyRestrictions};

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    AccountCreate,
    AccountSetTier,
    AccountSetCustom,
    AccountDelete,
    KeyCreate,
    KeyUpdate,
    KeyRotate,
    KeyRevoke,
    TokenCreate,
    TokenRevoke,
    Deed(Deed),
}

impl Action {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AccountCreate => "account.create",
            Self::AccountSetTier => "account.set_tier",
            Self::AccountSetCustom => "account.set_custom",
            Self::AccountDelete => "account.delete",
            Self::KeyCreate => "key.create",
            Self::KeyUpdate => "key.update",
            Self::KeyRotate => "key.rotate",
            Self::KeyRevoke => "key.revoke",
            Self::TokenCreate => "token.create",
            Self::TokenRevoke => "token.revoke",
            Self::Deed(deed) => deed.as_str(),
        }
    }
}

/// A record that audit entries describe: its id, and its content as JSON.
pub(crate) trait Audited {
    fn target(&self) -> &str;
    /// As JSON. The members are in a fixed order, whatever `serde_json` does with maps: scripts put numbers into it.
    fn says(&self) -> String;
}

impl Audited for AccountRecord {
    fn target(&self) -> &str {
        self.id.as_str()
    }

    fn says(&self) -> String {
        object(&[
            ("serial", json!(self.serial)),
            ("id", json!(self.id.as_str())),
            ("name", json!(self.name.as_str())),
            ("tier", json!(self.tier.as_str())),
            ("custom", json!(self.custom.as_ref().map(|body| body.as_str()))),
            ("billing_day", json!(self.billing_day)),
            ("timezone", json!(self.timezone)),
            ("created_at", json!(text(self.created_at))),
            ("deleted_at", json!(self.deleted_at.map(text))),
        ])
    }
}

impl Audited for KeyRecord {
    fn target(&self) -> &str {
        self.id.as_str()
    }

    fn says(&self) -> String {
        let mut members = vec![
            ("serial", json!(self.serial)),
            ("id", json!(self.id.as_str())),
            ("account", json!(self.account.as_str())),
            ("number", json!(self.number)),
            ("name", json!(self.name.as_str())),
            ("env", json!(self.env.as_str())),
            ("scopes", json!(self.scopes.iter().collect::<Vec<_>>())),
            ("expires_at", json!(self.expires_at.map(text))),
            ("created_at", json!(text(self.created_at))),
            ("rotated_at", json!(self.rotated_at.map(text))),
            ("previous_until", json!(self.previous_until.map(text))),
            ("revoked_at", json!(self.revoked_at.map(text))),
        ];
        // Entries on most keys stay as earlier versions wrote them.
        let KeyRestrictions { allowed_ips, allowed_origins, limits } = &self.restrictions;
        if !self.restrictions.is_empty() {
            members.push(("allowed_ips", json!(allowed_ips.texts().collect::<Vec<_>>())));
            members.push(("allowed_origins", json!(allowed_origins.iter().collect::<Vec<_>>())));
            members.push(("limits", json!(limits.as_ref().map(KeyLimits::as_str))));
        }
        object(&members)
    }
}

/// A JSON object with its members in this order.
pub(super) fn object(members: &[(&str, Value)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// The instant as people write it, in UTC.
pub(super) fn text(at: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos())).unwrap_or(jiff::Timestamp::MAX).to_string()
}
