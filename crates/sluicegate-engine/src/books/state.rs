//! How the books are doing: what metrics and people see.

use std::sync::Arc;

use sluicegate_core::time::Timestamp;
use sluicegate_ledger::Hour;
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::usage::BookError;

use super::baseline::Baseline;
use super::error::CompareError;
use super::quota::Counts;
use super::{Books, Measure, QuotaCount};

/// What the last comparison of meters and records came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastCheck {
    /// When.
    pub at: Timestamp,
    /// How many records were read for it: those that are new since the check before.
    pub records: u64,
    /// How many quotas were compared: those with new records, and those that did not agree.
    pub quotas: u64,
    /// How many of them do not agree.
    pub drifting: u64,
    /// By how much, whichever side says more.
    pub units: u128,
}

/// How the books are doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BooksState {
    /// Records that were counted.
    pub records: u64,
    /// Records that are not counted yet.
    pub behind: u64,
    /// Slots that hold no whole record, and are in no sum.
    pub torn: u64,
    /// The first hour that is not closed.
    pub open: Hour,
    /// Hours that lie in object storage.
    pub sealed: u64,
    /// The first closed hour that does not.
    pub unsealed: Option<Hour>,
    /// The last comparison of meters and records.
    pub check: Option<LastCheck>,
}

impl Books {
    /// How they are doing. Blocking.
    pub fn state(&self) -> Result<BooksState, BookError> {
        let book = self.ledger.book();
        let standing = book.standing()?.unwrap_or_default();
        let tail = self.engine.spool().tail();
        Ok(BooksState {
            records: standing.records,
            behind: tail.0.saturating_sub(standing.position.0.max(self.engine.spool().first().0)),
            torn: standing.torn,
            open: standing.open,
            sealed: book.sealed_count(ALL_HOURS)?,
            unsealed: book.next_unsealed()?,
            check: *self.last_check.lock(),
        })
    }

    /// Compares meters and records, and remembers what came of it. The first time, all records are read that a quota
    /// still counts; from then on those that are new, and the quotas are compared that they are of. A quota that does
    /// not agree is compared again until it does.
    ///
    /// Where several nodes share the meters, each has records of its own, which can only be compared in one direction:
    /// a meter that says less than the records of a single node has lost something.
    pub async fn check(self: &Arc<Self>) -> Result<LastCheck, CompareError> {
        self.expect_same_time().await?;
        let base = self.baseline.lock().clone();
        let (Counts { counts, read, .. }, progress) =
            self.count_quotas(None, &super::Others::new(), base).await?;
        let alone = self.engine.shared.is_none();
        // What one node records beyond a quota, another may give back.
        let is_told = |measure: Measure| match measure {
            Measure::Used | Measure::Billed => true,
            Measure::Overage => alone,
            Measure::BilledUnder(_) | Measure::BilledUnclear => false,
        };
        let compared: Vec<_> = counts.iter().filter(|count| is_told(count.measure)).collect();
        // Where the recorded overage is beside the rule, the records of this node are all there are.
        let is_complete = |count: &QuotaCount| alone || count.measure == Measure::Billed;
        let differs = |count: &QuotaCount| count.drift() > 0 || (is_complete(count) && count.drift() < 0);
        let drifting: Vec<_> = compared.iter().filter(|count| differs(count)).collect();
        let check = LastCheck {
            at: self.engine.now(),
            records: read,
            quotas: compared.len() as u64,
            drifting: drifting.len() as u64,
            units: drifting.iter().map(|count| count.drift().unsigned_abs()).sum(),
        };
        let accounts = drifting.iter().map(|count| count.quota.account).collect();
        Baseline::advance(&mut self.baseline.lock(), progress, accounts);
        *self.last_check.lock() = Some(check);
        self.engine.note_drift(&check);
        Ok(check)
    }
}
