//! Audit entries as they are kept, to the byte: what their links are made of.

use serde_json::Value;
use sluicegate_core::audit::Entry;
use sluicegate_core::digest::Digest;
use sluicegate_core::time::Timestamp;

use crate::directory::AuditRecord;

/// One write, as its store keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditEntry {
    /// Its number; later ones are larger.
    pub seq: u64,
    /// When, in nanoseconds since 1970.
    pub at: u64,
    /// By whom.
    pub who: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub target: String,
    /// What it was before, as JSON.
    pub before: Option<String>,
    /// What it was afterwards, as JSON.
    pub after: Option<String>,
    /// Its link, where the store keeps one.
    pub link: Option<Digest>,
}

impl AuditEntry {
    /// What its link is made of.
    pub fn entry(&self) -> Entry<'_> {
        Entry {
            seq: self.seq,
            at: self.at,
            who: &self.who,
            action: &self.action,
            target: &self.target,
            before: self.before.as_deref(),
            after: self.after.as_deref(),
        }
    }

    /// The same for people; nothing if what it says is not JSON.
    pub(crate) fn record(self, link: Digest) -> Option<AuditRecord> {
        let value = |text: Option<String>| -> Option<Option<Value>> {
            text.map(|text| serde_json::from_str(&text)).transpose().ok()
        };
        Some(AuditRecord {
            seq: self.seq,
            at: Timestamp::from_nanos(self.at),
            who: self.who,
            action: self.action,
            target: self.target,
            before: value(self.before)?,
            after: value(self.after)?,
            link,
        })
    }
}
