//! A key as the server tells it, and as people see it.

use serde::Deserialize;
use serde_json::Value;

use crate::table::{cell, facts};

/// A key, without its secret.
#[derive(Deserialize)]
pub(super) struct KeyRecord {
    pub(super) id: String,
    pub(super) account: String,
    pub(super) name: String,
    env: String,
    status: String,
    scopes: Vec<String>,
    expires_at: Option<String>,
    created_at: String,
    rotated_at: Option<String>,
    pub(super) previous_until: Option<String>,
    revoked_at: Option<String>,
    #[serde(default)]
    last_used_at: Option<String>,
    #[serde(default)]
    allowed_ips: Vec<String>,
    #[serde(default)]
    allowed_origins: Vec<String>,
    #[serde(default)]
    limits: Option<Value>,
}

/// A key with its secret.
#[derive(Deserialize)]
pub(super) struct NewSecret {
    #[serde(flatten)]
    pub(super) record: KeyRecord,
    key: String,
}

/// The columns of a list of keys.
pub(super) const COLUMNS: [&str; 8] =
    ["key", "name", "for", "status", "scopes", "expires", "created", "last used"];

impl KeyRecord {
    /// Its line in a list.
    pub(super) fn row(&self) -> [String; COLUMNS.len()] {
        [
            cell(&self.id),
            cell(&self.name),
            cell(&self.env),
            cell(&self.status),
            cell(&self.scopes_text()),
            cell(self.expires_at.as_deref().unwrap_or("never")),
            cell(&self.created_at),
            cell(self.last_used_at.as_deref().unwrap_or("never")),
        ]
    }

    /// All that is known of it.
    pub(super) fn facts(&self) -> String {
        let mut known = vec![
            ("key", self.id.clone()),
            ("account", self.account.clone()),
            ("name", self.name.clone()),
            ("for", self.env.clone()),
            ("status", self.status.clone()),
            ("scopes", self.scopes_text()),
            ("expires", self.expires_at.clone().unwrap_or_else(|| "never".to_owned())),
            ("created", self.created_at.clone()),
            ("last used", self.last_used_at.clone().unwrap_or_else(|| "never".to_owned())),
        ];
        if !self.allowed_ips.is_empty() {
            known.push(("allowed addresses", self.allowed_ips.join(", ")));
        }
        if !self.allowed_origins.is_empty() {
            known.push(("allowed origins", self.allowed_origins.join(", ")));
        }
        if let Some(limits) = &self.limits {
            known.push(("own limits", limits.to_string()));
        }
        let later = [
            ("rotated", &self.rotated_at),
            ("old secret until", &self.previous_until),
            ("revoked", &self.revoked_at),
        ];
        known.extend(later.into_iter().filter_map(|(name, at)| Some((name, at.clone()?))));
        facts(&known)
    }

    fn scopes_text(&self) -> String {
        if self.scopes.is_empty() { "none".to_owned() } else { self.scopes.join(", ") }
    }
}

impl NewSecret {
    /// The secret, and what to do with it.
    pub(super) fn once(&self) -> String {
        format!(
            "  {}\n\nThis is the only time it is shown: put it where only its user can read it.\n",
            cell(&self.key)
        )
    }
}
