//! Counting records in memory before they go into the book.

use std::collections::{BTreeMap, HashMap};

use super::row::{Marks, Row, RowKey, Sums};
use crate::hour::Hour;
use crate::record::Record;

/// Records that are counted and not in the book yet.
#[derive(Default)]
pub(crate) struct Tally {
    /// The first hour that is not closed.
    open: Hour,
    rows: HashMap<RowKey, Sums>,
}

impl Tally {
    pub(crate) fn new(open: Hour) -> Self {
        Self { open, rows: HashMap::default() }
    }

    #[inline]
    pub(crate) fn count(&mut self, record: &Record) {
        let sums = Sums::of(record);
        // What says only that a permit is held or finished makes no row.
        if sums != Sums::default() {
            *self.rows.entry(RowKey::of(record, self.open)).or_default() += sums;
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

/// What accounts have used in total, whatever the key, route and tier.
pub(crate) fn by_account(rows: &[Row]) -> BTreeMap<(u64, Hour, Marks), Sums> {
    let mut accounts: BTreeMap<_, Sums> = BTreeMap::new();
    for Row { key, sums } in rows {
        *accounts.entry((key.account, key.hour, key.marks)).or_default() += *sums;
    }
    accounts
}
