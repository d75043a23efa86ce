//! Following the audit log: what is new in it is linked to what was seen before, and kept by the ledger.

use std::fmt;

use sluicegate_core::audit::{Checker, Head};
use sluicegate_ledger::Ledger;
use sluicegate_ledger::chain::ChainError;
use sluicegate_store::directory::{Directory, PageLimit, StoreError};

/// Why the audit log could not be followed to its end. What was seen so far is kept, and may be signed.
#[derive(Debug)]
pub enum FollowError {
    /// The log could not be read.
    Store(StoreError),
    /// What was seen could not be kept, or is not what was signed before.
    Chain(ChainError),
    /// An entry is not what it was when it was seen, is gone, or does not fit its link.
    Entry {
        /// Its number.
        seq: u64,
    },
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Chain(error) => error.fmt(f),
            Self::Entry { seq } => ChainError::Audit { seq: *seq }.fmt(f),
        }
    }
}

impl std::error::Error for FollowError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Chain(error) => Some(error),
            Self::Entry { .. } => None,
        }
    }
}

impl From<StoreError> for FollowError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ChainError> for FollowError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

/// Sees every entry that is new since the last time, and gives the last: what a checkpoint is to sign.
///
/// It waits for the store, so it is not for a thread that serves. After an error [`Ledger::audit_head`] is what may
/// still be signed.
pub fn follow(directory: &Directory, ledger: &Ledger) -> Result<Head, FollowError> {
    let mut seen = ledger.audit_head()?;
    loop {
        let page = PageLimit::new(PageLimit::MAX.into()).unwrap_or_default();
        // The last one again: who finds it as it was has lost nothing.
        let entries = directory.audit_after(seen.seq.saturating_sub(1), page).wait()?;
        let mut entries = entries.iter();
        if seen.seq > 0 {
            let last = entries.next().filter(|last| last.seq == seen.seq);
            let is_same = last.is_some_and(|last| last.link.is_none_or(|link| link == seen.link));
            if !is_same {
                return Err(FollowError::Entry { seq: seen.seq });
            }
        }
        let mut checker = Checker::after(seen);
        let links = entries.map(|entry| checker.check(&entry.entry(), entry.link.as_ref()));
        let links = links.collect::<Result<Vec<Head>, _>>();
        let links = links.map_err(|bad| FollowError::Entry { seq: bad.seq })?;
        let Some(last) = links.last() else { return Ok(seen) };
        ledger.see_audit(&links)?;
        seen = *last;
    }
}
