//! Counting records in memory before they go into the book.

use std::collections::{BTreeMap, HashMap};

use super::row::{Marks, Row, RowKey, Sums};
use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::record::{Record, Unit};

/// Records that are counted and not in the book yet.
#[derive(Default)]
pub(crate) struct Tally {
    /// The first hour that is not closed.
    open: Hour,
    /// What lies before it is left out.
    floor: Hour,
    rows: HashMap<RowKey, Sums>,
}

impl Tally {
    pub(crate) fn new(open: Hour, floor: Hour) -> Self {
        Self { open, floor, rows: HashMap::default() }
    }

    #[inline]
    pub(crate) fn count(&mut self, record: &Record, is_hourly: bool) {
        let sums = Sums::of(record);
        let key = RowKey::of(record, self.open);
        let key = if is_hourly { key.hourly() } else { key };
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

/// What accounts have used in total, whatever the key, route and tier.
pub(crate) fn by_account(rows: &[Row]) -> BTreeMap<(u64, Quarter, Unit, Marks), Sums> {
    let mut accounts: BTreeMap<_, Sums> = BTreeMap::new();
    for Row { key, sums } in rows {
        *accounts.entry((key.account, key.quarter, key.unit, key.marks)).or_default() += *sums;
    }
    accounts
}
