//! Links of audit entries. Redis has no hash that would do for them and keeps none; they follow from the entries, so
//! every node makes the same ones. What this node has made of whole blocks it remembers, by the last of each.

use crate::redis::driver::cmd;
use parking_lot::Mutex;
use sluicegate_core::audit::{Checker, Head};
use sluicegate_core::digest::Digest;

use super::error::RedisError;
use super::layout::AUDIT;
use super::reply::Reply;
use super::{Shared, ask, audit};
use crate::audit::AuditEntry;

/// How many entries a block has, and how many are read at once.
const BLOCK: u64 = 1_000;

/// The link of the last entry of each block, from the first on.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<Vec<Digest>>);

impl Links {
    /// What is known before this block, or else of the last block that is.
    fn before(&self, block: u64) -> Head {
        let known = self.0.lock();
        let blocks = usize::try_from(block).unwrap_or(usize::MAX).min(known.len());
        let link = blocks.checked_sub(1).map_or(Digest::NONE, |last| known[last]);
        Head { seq: blocks as u64 * BLOCK, link }
    }

    /// Remembers the end of a block, if it is the next.
    fn learn(&self, head: Head) {
        let mut known = self.0.lock();
        if known.len() as u64 * BLOCK + BLOCK == head.seq {
            known.push(head.link);
        }
    }

    /// Forgets blocks that are not there: the log was lost, and has begun again.
    fn forget_after(&self, newest: u64) {
        self.0.lock().truncate(usize::try_from(newest / BLOCK).unwrap_or(usize::MAX));
    }
}

impl Shared {
    /// Entries from one number to another, both included, as many as are read at once.
    pub(super) async fn audit_range(&self, from: u64, to: u64) -> Result<Vec<AuditEntry>, RedisError> {
        self.audit_rows(from, to, BLOCK).await
    }

    async fn audit_rows(&self, from: u64, to: u64, rows: u64) -> Result<Vec<AuditEntry>, RedisError> {
        let mut range = cmd("XRANGE");
        range.arg(AUDIT).arg(format!("0-{from}")).arg(format!("0-{to}")).arg("COUNT").arg(rows);
        let entries = Reply::of(ask::command(&self.server.link, &range).await?)?;
        entries.into_parts().map(|entry| audit::entry(&entry?)).collect()
    }

    /// Entries after one number.
    pub(super) async fn audit_after(&self, seq: u64, rows: u16) -> Result<Vec<AuditEntry>, RedisError> {
        let Some(from) = seq.checked_add(1) else { return Ok(Vec::new()) };
        self.audit_rows(from, u64::MAX, rows.into()).await
    }

    /// The links of entries from one number to another, both included.
    pub(super) async fn links(&self, from: u64, to: u64) -> Result<Vec<Head>, RedisError> {
        let mut checker = Checker::after(self.links.before(from.saturating_sub(1) / BLOCK));
        let mut links = Vec::new();
        while checker.head().seq < to {
            let entries = self.audit_range(checker.head().seq + 1, to).await?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                let odd = |_| RedisError::Nonsense(format!("the order of audit entry {}", entry.seq));
                let head = checker.check(&entry.entry(), None).map_err(odd)?;
                if head.seq % BLOCK == 0 {
                    self.links.learn(head);
                }
                if head.seq >= from {
                    links.push(head);
                }
            }
        }
        Ok(links)
    }

    /// The last entry, and its link.
    pub(super) async fn audit_head(&self) -> Result<Head, RedisError> {
        let mut newest = cmd("XREVRANGE");
        newest.arg(AUDIT).arg("+").arg("-").arg("COUNT").arg(1);
        let entries = Reply::of(ask::command(&self.server.link, &newest).await?)?;
        let newest = entries.into_parts().next().map(|entry| audit::entry(&entry?)).transpose()?;
        let newest = newest.map_or(0, |entry| entry.seq);
        self.links.forget_after(newest);
        Ok(self.links(newest, newest).await?.pop().unwrap_or_default())
    }
}
