//! Setting rows right: the records are the truth, for as long as they are kept.

use std::ops::Range;

use rusqlite::{Transaction, TransactionBehavior};

use super::book::{self, Book};
use super::error::{BookError, RollError};
use super::recount::Recount;
use super::row::{RowKey, Sums};
use crate::hour::Hour;
use crate::quarter::{Quarter, quarters_of};
use crate::spool::Spool;

impl Book {
    /// Counts the records of these hours again, and writes the rows that differ as the records have them. Rows of hours
    /// whose records are not all there any more stay as they are.
    pub fn repair(&self, spool: &Spool, hours: Range<Hour>) -> Result<Recount, RollError> {
        // Nothing is rolled up or closed meanwhile.
        let mut writer = self.writer.lock();
        let recount = self.recount_with(&writer, spool, hours)?;
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for row in &recount.miscounted {
            replace(&transaction, &row.key, &row.records)?;
        }
        add_up_accounts(&transaction, &quarters_of(&recount.hours))?;
        transaction.commit()?;
        Ok(recount)
    }
}

fn replace(transaction: &Transaction<'_>, key: &RowKey, sums: &Sums) -> Result<(), BookError> {
    let (account, serial) = (key.account.cast_signed(), key.key.cast_signed());
    let (quarter, unit, marks) = (key.quarter.number(), key.unit.number(), key.marks.number());
    let charge = key.charge.map_or(0, Quarter::number);
    transaction.execute(
        "DELETE FROM quarters WHERE quarter = ?1 AND account = ?2 AND key = ?3 AND route = ?4 AND tier = ?5
         AND unit = ?6 AND marks = ?7 AND charge_quarter = ?8",
        (quarter, account, serial, key.route, key.tier, unit, marks, charge),
    )?;
    if *sums != Sums::default() {
        let [a, b, c, d, e, f] = book::columns(sums)?;
        transaction.execute(
            "INSERT INTO quarters VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            (quarter, account, serial, key.route, key.tier, unit, marks, a, b, c, d, e, f, charge),
        )?;
    }
    Ok(())
}

/// The rows of accounts follow from the others.
fn add_up_accounts(transaction: &Transaction<'_>, quarters: &Range<Quarter>) -> Result<(), BookError> {
    let range = (quarters.start.number(), quarters.end.number());
    transaction.execute("DELETE FROM account_quarters WHERE quarter >= ?1 AND quarter < ?2", range)?;
    transaction.execute(
        "INSERT INTO account_quarters
         SELECT account, quarter, unit, marks, sum(requests), sum(charged), sum(corrected), sum(refunded),
                sum(overage), sum(overage_refunded), charge_quarter
         FROM quarters WHERE quarter >= ?1 AND quarter < ?2
         GROUP BY account, quarter, unit, marks, charge_quarter",
        range,
    )?;
    Ok(())
}
