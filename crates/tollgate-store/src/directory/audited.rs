//! What audit entries say: of each write, what it did and what it changed. Records hold no secret and no hash, so no
//! entry does.

use serde_json::{Value, json};
use tollgate_core::time::Timestamp;

use super::note::Deed;
use super::record::{AccountRecord, KeyRecord};

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    AccountCreate,
    AccountSetTier,
    AccountSetCustom,
    AccountDelete,
    KeyCreate,
    KeyRotate,
    KeyRevoke,
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
            Self::KeyRotate => "key.rotate",
            Self::KeyRevoke => "key.revoke",
            Self::Deed(deed) => deed.as_str(),
        }
    }
}

/// Something that is written about: what it is called, and what is said of it.
pub(crate) trait Audited {
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
