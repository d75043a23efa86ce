//! Counting once more, from the records themselves: the book must say the same.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::Connection;

use super::book::{self, Book};
use super::closings;
use super::error::{BookError, RollError};
use super::row::{RowKey, Sums};
use crate::hour::Hour;
use crate::quarter::quarters_of;
use crate::spool::Spool;

/// A row of which the book says something else than the records do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Miscounted {
    /// Which row.
    pub key: RowKey,
    /// What the book says.
    pub book: Sums,
    /// What the records say.
    pub records: Sums,
}

/// What counting once more came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recount {
    /// The hours that could be checked: all records of earlier ones are not there any more.
    pub hours: Range<Hour>,
    /// Rows that differ, in order.
    pub miscounted: Vec<Miscounted>,
}

impl Book {
    /// Counts the records of these hours again and compares.
    pub fn recount(&self, spool: &Spool, hours: Range<Hour>) -> Result<Recount, RollError> {
        // Nothing is rolled up or closed meanwhile.
        let writer = self.writer.lock();
        self.recount_with(&writer, spool, hours)
    }

    pub(super) fn recount_with(
        &self,
        writer: &Connection,
        spool: &Spool,
        hours: Range<Hour>,
    ) -> Result<Recount, RollError> {
        let Some(standing) = book::standing(writer)? else {
            return Ok(Recount { hours: hours.start..hours.start, miscounted: Vec::new() });
        };
        let (closings, rules) = (closings::all(writer)?, book::row_rules(writer)?);
        let first = spool.first();
        let known = if first <= standing.began {
            Hour::FIRST
        } else {
            // What is gone was written before this closing, and lies in the hour of it or in an earlier one.
            let closing = closings.iter().find(|closing| closing.position >= first);
            closing.map_or(standing.open, |closing| Hour::of(closing.at)).next()
        };
        let hours = hours.start.max(known).max(book::floor(writer)?)..hours.end;
        let mut rows: BTreeMap<RowKey, (Sums, Sums)> = BTreeMap::new();
        let mut coming = closings.iter().peekable();
        let mut open = Hour::FIRST;
        spool.read_until(first.max(standing.began), standing.position, |position, record| {
            while let Some(closing) = coming.next_if(|closing| closing.position <= position) {
                open = closing.hour;
            }
            let key = rules.key(position, record, open);
            if hours.contains(&key.hour()) {
                rows.entry(key).or_default().1 += Sums::of(record);
            }
        })?;
        self.each_row(quarters_of(&hours), |row| -> Result<(), BookError> {
            rows.entry(row.key).or_default().0 += row.sums;
            Ok(())
        })?;
        let miscounted = rows.into_iter().filter(|(_, (book, records))| book != records);
        let miscounted = miscounted.map(|(key, (book, records))| Miscounted { key, book, records }).collect();
        Ok(Recount { hours, miscounted })
    }
}
