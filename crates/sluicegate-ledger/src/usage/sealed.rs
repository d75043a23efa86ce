//! Which hours lie in object storage: the list from which sealing goes on, and against which it is checked.

use std::ops::Range;

use rusqlite::{Connection, Row as SqlRow};
use sluicegate_core::time::Timestamp;

use super::book::{self, Book, whole};
use super::error::BookError;
use crate::hour::Hour;

/// An hour that lies in object storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedHour {
    /// The hour.
    pub hour: Hour,
    /// The name of its object.
    pub object: String,
    /// BLAKE3 of the object's bytes.
    pub digest: [u8; 32],
    /// How many rows it has.
    pub rows: u64,
    /// How many requests they count.
    pub requests: i128,
    /// What they come to.
    pub total: i128,
    /// When it was sealed.
    pub at: Timestamp,
}

impl Book {
    /// The first closed hour with usage that is not sealed. Hours are sealed in order.
    pub fn next_unsealed(&self) -> Result<Option<Hour>, BookError> {
        next_unsealed(&self.reader.lock())
    }

    /// Remembers that an hour is sealed, or sealed anew.
    pub fn remember_sealed(&self, sealed: &SealedHour) -> Result<(), BookError> {
        let SealedHour { hour, object, digest, rows, requests, total, at } = sealed;
        let (rows, at) = (rows.cast_signed(), at.as_nanos().cast_signed());
        let (requests, total) = (requests.to_string(), total.to_string());
        self.writer.lock().execute(
            "INSERT OR REPLACE INTO sealed VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (hour.number(), object, digest, rows, requests, total, at),
        )?;
        Ok(())
    }

    /// How many of these hours are sealed.
    pub fn sealed_count(&self, hours: Range<Hour>) -> Result<u64, BookError> {
        let sql = "SELECT count(*) FROM sealed WHERE hour >= ?1 AND hour < ?2";
        let (from, until) = (hours.start.number(), hours.end.number());
        Ok(self.reader.lock().query_row(sql, (from, until), |row| row.get::<_, i64>(0))?.cast_unsigned())
    }

    /// Which of these hours are sealed, in order.
    pub fn sealed(&self, hours: Range<Hour>) -> Result<Vec<SealedHour>, BookError> {
        let reader = self.reader.lock();
        let sql = "SELECT * FROM sealed WHERE hour >= ?1 AND hour < ?2 ORDER BY hour";
        let mut statement = reader.prepare(sql)?;
        let mut rows = statement.query((hours.start.number(), hours.end.number()))?;
        let mut sealed = Vec::new();
        while let Some(row) = rows.next()? {
            sealed.push(read(row)?);
        }
        Ok(sealed)
    }
}

pub(super) fn next_unsealed(connection: &Connection) -> Result<Option<Hour>, BookError> {
    let open = book::standing(connection)?.map_or(Hour::FIRST, |standing| standing.open);
    let sql = "SELECT min(quarter) / 4 FROM quarters
               WHERE quarter >= coalesce((SELECT max(hour) FROM sealed WHERE hour < ?1), -1) * 4 + 4
               AND quarter < ?1 * 4";
    let next: Option<u32> = connection.prepare(sql)?.query_row([open.number()], |row| row.get(0))?;
    next.map(book::hour).transpose()
}

fn read(row: &SqlRow<'_>) -> Result<SealedHour, BookError> {
    let number = |column: usize| -> Result<i128, BookError> {
        let text: String = row.get(column)?;
        text.parse().map_err(|_| BookError::Damaged(format!("`{text}` is no number")))
    };
    Ok(SealedHour {
        hour: book::hour(row.get(0)?)?,
        object: row.get(1)?,
        digest: row.get(2)?,
        rows: whole(row, 3)?,
        requests: number(4)?,
        total: number(5)?,
        at: Timestamp::from_nanos(whole(row, 6)?),
    })
}
