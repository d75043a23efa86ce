//! An account as the server tells it, and as people see it.

use serde::Deserialize;
use serde_json::Value;

use crate::table::{cell, facts};

/// An account.
#[derive(Deserialize)]
pub(super) struct AccountRecord {
    pub(super) id: String,
    /// Servers of earlier versions say none.
    uid: Option<String>,
    pub(super) name: String,
    pub(super) tier: String,
    custom: Option<Value>,
    billing_day: Option<u8>,
    timezone: Option<String>,
    created_at: String,
}

/// The columns of a list of accounts.
pub(super) const COLUMNS: [&str; 4] = ["id", "name", "tier", "created"];

impl AccountRecord {
    /// Its line in a list.
    pub(super) fn row(&self) -> [String; COLUMNS.len()] {
        [cell(&self.id), cell(&self.name), cell(&self.tier), cell(&self.created_at)]
    }

    /// All that is known of it.
    pub(super) fn facts(&self) -> String {
        let mut known = vec![
            ("account", self.id.clone()),
            ("name", self.name.clone()),
            ("tier", self.tier.clone()),
            ("billing day", self.billing_day.map_or_else(|| "1".to_owned(), |day| day.to_string())),
            ("time zone", self.timezone.clone().unwrap_or_else(|| "UTC".to_owned())),
            ("created", self.created_at.clone()),
        ];
        known.extend(self.uid.clone().map(|uid| ("unique id", uid)));
        if let Some(limits) = &self.custom {
            known.push(("negotiated", limits.to_string()));
        }
        facts(&known)
    }
}
