//! Counting records in memory before they go into the book.

use std::collections::{BTreeMap, HashMap};

use super::row::{Marks, Row, RowKey, RowRules, Sums};
use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::record::{Record, Unit};
use crate::spool::Position;

/// Records that are counted and not in the book yet.
#[derive(Default)]
pub(crate) struct Tally {
    /// The first hour that is not closed.
    open: Hour,
    /// What lies before it is left out.
    floor: Hour,
    rules: RowRules,
    rows: HashMap<RowKey, Sums>,
}

impl Tally {
    pub(crate) fn new(open: Hour, floor: Hour, rules: RowRules) -> Self {
        Self { open, floor, rules, rows: HashMap::default() }
    }

    #[inline]
    pub(crate) fn count(&mut self, position: Position, record: &Record) {
        let sums = Sums::of(record);
        let key = self.rules.key(position, record, self.open);
        // What says only that a permit is held or finished makes no row.
        if key.hour() >= self.floor && sums != Sums::default() {
            *self.rows.entry(key).or_default() += sums;
        }
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Its rows, in the order of the book: every page of it is then written once.
    pub(crate) fn into_rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.into_iter().map(|(key, sums)| Row { key, sums }).collect();
        rows.sort_unstable_by_key(|row| row.key);
        rows
    }
}

/// What rows of an account have in common: the account, the quarter, unit and marks, and the quarter of the charge.
pub(crate) type AccountKey = (u64, Quarter, Unit, Marks, Option<Quarter>);

/// What accounts have used in total, whatever the key, route and tier.
pub(crate) fn by_account(rows: &[Row]) -> BTreeMap<AccountKey, Sums> {
    let mut accounts: BTreeMap<_, Sums> = BTreeMap::new();
    for Row { key, sums } in rows {
        *accounts.entry((key.account, key.quarter, key.unit, key.marks, key.charge)).or_default() += *sums;
    }
    accounts
}
