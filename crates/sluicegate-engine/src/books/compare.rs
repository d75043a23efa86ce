//! The ledger beside what others say was used: its own records, sealed files, a bill.

use std::ops::Range;
use std::sync::Arc;

use sluicegate_ledger::Hour;
use sluicegate_ledger::reconcile::{Difference, Totals, compare};
use sluicegate_ledger::seal::Sealed;
use sluicegate_ledger::usage::{Marks, Recount, RowKey};

use super::Books;
use super::error::CompareError;
use super::quota::blocking;

/// What sealed files say beside the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedComparison {
    /// How many files were read.
    pub objects: u64,
    /// What they do not agree on.
    pub differences: Vec<Difference>,
    /// Hours whose files are not there.
    pub missing: Vec<Hour>,
    /// Hours whose files are not what was sealed.
    pub damaged: Vec<Hour>,
}

impl Books {
    /// Counts the records of these hours once more.
    pub async fn compare_records(self: &Arc<Self>, hours: Range<Hour>) -> Result<Recount, CompareError> {
        let books = Arc::clone(self);
        blocking(move || Ok(books.ledger.recount(books.engine.spool(), hours)?)).await
    }

    /// Counts the records of these hours once more, and writes the rows that differ as the records have them.
    pub async fn repair_records(self: &Arc<Self>, hours: Range<Hour>) -> Result<Recount, CompareError> {
        let books = Arc::clone(self);
        blocking(move || books.ledger.repair(books.engine.spool(), hours).map_err(CompareError::Repair)).await
    }

    /// Reads the sealed files of these hours.
    pub async fn compare_sealed(
        self: &Arc<Self>,
        hours: Range<Hour>,
    ) -> Result<SealedComparison, CompareError> {
        let sealer = self.sealer().map_err(CompareError::Destination)?.ok_or(CompareError::NoExport)?;
        let read = sealer.read_back(hours.clone()).await.map_err(CompareError::Seal)?;
        let books = Arc::clone(self);
        let totals = read.totals;
        let (missing, damaged) = (read.missing, read.damaged);
        let left_out = [missing.clone(), damaged.clone()].concat();
        let differences = blocking(move || {
            let mut ledger = Totals::default();
            // Only hours that are sealed can be there.
            for sealed in books.ledger.book().sealed(hours)? {
                if left_out.contains(&sealed.hour) {
                    continue;
                }
                let (book, hours) = (books.ledger.book(), sealed.hour..sealed.hour.next());
                let hour = Totals::recorded(book, hours, books.names());
                ledger.merge(hour.map_err(CompareError::Export)?);
            }
            Ok(compare(&ledger, &totals))
        });
        Ok(SealedComparison { objects: read.objects, differences: differences.await?, missing, damaged })
    }

    /// Writes the files of these hours anew: they were lost, or changed.
    pub async fn seal_again(self: &Arc<Self>, hours: &[Hour]) -> Result<Sealed, CompareError> {
        let sealer = self.sealer().map_err(CompareError::Destination)?.ok_or(CompareError::NoExport)?;
        sealer.seal_again(hours, self.engine.now()).await.map_err(CompareError::Seal)
    }

    /// Compares these hours with a bill. Nobody is billed for callers without a key, nor for test keys.
    pub async fn compare_bill(
        self: &Arc<Self>,
        hours: Range<Hour>,
        bill: Totals,
    ) -> Result<Vec<Difference>, CompareError> {
        let books = Arc::clone(self);
        blocking(move || {
            let spool = books.engine.spool();
            spool.flush().map_err(CompareError::Flush)?;
            books.ledger.roll(spool)?;
            let is_billed = |row: &RowKey| !row.marks.contains(Marks::TEST);
            let ledger = Totals::charged(books.ledger.book(), hours, books.names(), is_billed);
            Ok(compare(&ledger.map_err(CompareError::Export)?.of_accounts(), &bill))
        })
        .await
    }
}
