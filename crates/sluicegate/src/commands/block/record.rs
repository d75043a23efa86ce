//! A block as the server tells it, and as people see it.

use serde::Deserialize;

use crate::table::{cell, facts};

/// A block.
#[derive(Deserialize)]
pub(in crate::commands) struct BlockRecord {
    id: String,
    since: String,
    pub(in crate::commands) until: String,
    origin: String,
    reason: Option<String>,
}

/// The columns of a list of blocks.
pub(super) const COLUMNS: [&str; 5] = ["caller", "until", "since", "by", "reason"];

impl BlockRecord {
    /// Its line in a list.
    pub(super) fn row(&self) -> [String; COLUMNS.len()] {
        [self.id.as_str(), &self.until, &self.since, self.by(), self.why()].map(cell)
    }

    /// All that is known of it.
    pub(super) fn facts(&self) -> String {
        facts(&[
            ("caller", self.id.clone()),
            ("blocked until", self.until.clone()),
            ("since", self.since.clone()),
            ("by", self.by().to_owned()),
            ("reason", self.why().to_owned()),
        ])
    }

    fn by(&self) -> &str {
        match self.origin.as_str() {
            "automatic" => "its own doing",
            "manual" => "an administrator",
            other => other,
        }
    }

    fn why(&self) -> &str {
        self.reason.as_deref().unwrap_or("-")
    }
}
