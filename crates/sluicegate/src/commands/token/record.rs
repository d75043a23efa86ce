//! A token as the server tells it, and as people see it.

use serde::Deserialize;

use crate::table::{cell, facts};

/// A token, without its text.
#[derive(Deserialize)]
pub(super) struct TokenRecord {
    id: String,
    name: String,
    role: String,
    may: Vec<String>,
    status: String,
    expires_at: Option<String>,
    created_at: String,
}

/// A token with its text.
#[derive(Deserialize)]
pub(super) struct NewToken {
    #[serde(flatten)]
    record: TokenRecord,
    token: String,
}

/// The columns of a list of tokens.
pub(super) const COLUMNS: [&str; 7] = ["token", "name", "role", "may", "status", "expires", "created"];

impl TokenRecord {
    /// Its line in a list.
    pub(super) fn row(&self) -> [String; COLUMNS.len()] {
        self.values().map(|(_, value)| cell(&value))
    }

    fn values(&self) -> [(&'static str, String); COLUMNS.len()] {
        let may = if self.may.is_empty() { "-".to_owned() } else { self.may.join(", ") };
        let expires = self.expires_at.clone().unwrap_or_else(|| "never".to_owned());
        [
            ("token", self.id.clone()),
            ("name", self.name.clone()),
            ("role", self.role.clone()),
            ("may", may),
            ("status", self.status.clone()),
            ("expires", expires),
            ("created", self.created_at.clone()),
        ]
    }
}

impl NewToken {
    /// All that is known of it, and the token itself.
    pub(super) fn text(&self) -> String {
        let facts = facts(&self.record.values());
        let token = cell(&self.token);
        format!(
            "{facts}\n  {token}\n\nThis is the only time it is shown: put it where only its user can read it.\n"
        )
    }
}
