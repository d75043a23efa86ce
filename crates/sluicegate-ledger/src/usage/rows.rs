//! The rows of the book, for whoever writes them elsewhere.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::Row as SqlRow;

use super::book::{self, Book, whole};
use super::error::BookError;
use super::query::Query;
use super::row::{Marks, Row, RowKey};
use crate::hour::Hour;

/// How many rows are read before others get a turn.
const PAGE_ROWS: u32 = 65_536;

impl Book {
    /// Hands over every row of these hours, in order. Hours that are not closed may change meanwhile.
    pub fn each_row<E: From<BookError>>(
        &self,
        hours: Range<Hour>,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after = None;
        loop {
            let page = self.page(&hours, after)?;
            after = page.last().map(|row| row.key);
            let is_last = page.len() < PAGE_ROWS as usize;
            page.into_iter().try_for_each(&mut each)?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// How many rows there are of what is asked for, whatever its step.
    pub fn count_rows(&self, query: &Query) -> Result<u64, BookError> {
        let sql = "SELECT count(*) FROM hours WHERE hour >= ?1 AND hour < ?2
                   AND (?3 IS NULL OR account = ?3) AND (?4 IS NULL OR key = ?4) AND (?5 IS NULL OR route = ?5)";
        let (start, end) = (query.hours.start.number(), query.hours.end.number());
        let (account, key) = (query.account.map(u64::cast_signed), query.key.map(u64::cast_signed));
        let values = (start, end, account, key, query.route);
        Ok(self.reader.lock().query_row(sql, values, |row| row.get::<_, i64>(0))?.cast_unsigned())
    }

    /// What each account used in each of these hours.
    pub fn totals(&self, hours: Range<Hour>) -> Result<BTreeMap<(u64, Hour), i128>, BookError> {
        let mut totals = BTreeMap::new();
        self.each_row(hours, |row| -> Result<(), BookError> {
            *totals.entry((row.key.account, row.key.hour)).or_default() += row.sums.total();
            Ok(())
        })?;
        Ok(totals)
    }

    fn page(&self, hours: &Range<Hour>, after: Option<RowKey>) -> Result<Vec<Row>, BookError> {
        let from = "SELECT * FROM hours WHERE hour >= ?1 AND hour < ?2";
        let (start, end) = (hours.start.number(), hours.end.number());
        let reader = self.reader.lock();
        let Some(key) = after else {
            let sql = format!("{from} ORDER BY hour, account, key, route, tier, marks LIMIT {PAGE_ROWS}");
            let mut statement = reader.prepare(&sql)?;
            return read(statement.query((start, end))?);
        };
        let sql = format!(
            "{from} AND (hour, account, key, route, tier, marks) > (?1, ?3, ?4, ?5, ?6, ?7)
             ORDER BY hour, account, key, route, tier, marks LIMIT {PAGE_ROWS}"
        );
        let (account, serial) = (key.account.cast_signed(), key.key.cast_signed());
        let (hour, marks) = (key.hour.number(), key.marks.number());
        let mut statement = reader.prepare(&sql)?;
        read(statement.query((hour, end, account, serial, key.route, key.tier, marks))?)
    }
}

fn read(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Row>, BookError> {
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        page.push(Row { key: row_key(row)?, sums: book::sums(row, 6)? });
    }
    Ok(page)
}

fn row_key(row: &SqlRow<'_>) -> Result<RowKey, BookError> {
    let marks = Marks::from_number(row.get(5)?);
    Ok(RowKey {
        hour: book::hour(row.get(0)?)?,
        account: whole(row, 1)?,
        key: whole(row, 2)?,
        route: row.get(3)?,
        tier: row.get(4)?,
        marks: marks.ok_or_else(|| BookError::Damaged("marks that mean nothing".to_owned()))?,
    })
}
