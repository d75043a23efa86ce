//! Counting once more, from the records themselves: the book must say the same.

use std::collections::BTreeMap;
use std::ops::Range;

use sluicegate_core::time::Timestamp;

use super::book::{self, Book, whole};
use super::error::{BookError, RollError};
use super::row::{RowKey, Sums};
use crate::hour::Hour;
use crate::spool::{Position, Spool};

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

/// The first hour that was open when records from a position on were counted.
struct Closing {
    position: Position,
    hour: Hour,
    at: Timestamp,
}

impl Book {
    /// Counts the records of these hours again and compares.
    pub fn recount(&self, spool: &Spool, hours: Range<Hour>) -> Result<Recount, RollError> {
        // Nothing is rolled up or closed meanwhile.
        let writer = self.writer.lock();
        let Some(standing) = book::standing(&writer)? else {
            return Ok(Recount { hours: hours.start..hours.start, miscounted: Vec::new() });
        };
        let closings = closings(&writer)?;
        let first = spool.first();
        let known = if first <= standing.began {
            Hour::FIRST
        } else {
            // What is gone was written before this closing, and lies in the hour of it or in an earlier one.
            let closing = closings.iter().find(|closing| closing.position >= first);
            closing.map_or(standing.open, |closing| Hour::of(closing.at)).next()
        };
        let hours = hours.start.max(known)..hours.end;
        let mut rows: BTreeMap<RowKey, (Sums, Sums)> = BTreeMap::new();
        let mut coming = closings.iter().peekable();
        let mut open = Hour::FIRST;
        spool.read_until(first.max(standing.began), standing.position, |position, record| {
            while let Some(closing) = coming.next_if(|closing| closing.position <= position) {
                open = closing.hour;
            }
            let key = RowKey::of(record, open);
            if hours.contains(&key.hour) {
                rows.entry(key).or_default().1 += Sums::of(record);
            }
        })?;
        self.each_row(hours.clone(), |row| -> Result<(), BookError> {
            rows.entry(row.key).or_default().0 += row.sums;
            Ok(())
        })?;
        let miscounted = rows.into_iter().filter(|(_, (book, records))| book != records);
        let miscounted = miscounted.map(|(key, (book, records))| Miscounted { key, book, records }).collect();
        Ok(Recount { hours, miscounted })
    }
}

fn closings(connection: &rusqlite::Connection) -> Result<Vec<Closing>, BookError> {
    let mut statement = connection.prepare("SELECT position, hour, at FROM closings ORDER BY hour")?;
    let mut rows = statement.query([])?;
    let mut closings = Vec::new();
    while let Some(row) = rows.next()? {
        let (position, hour) = (Position(whole(row, 0)?), book::hour(row.get(1)?)?);
        closings.push(Closing { position, hour, at: Timestamp::from_nanos(whole(row, 2)?) });
    }
    Ok(closings)
}
