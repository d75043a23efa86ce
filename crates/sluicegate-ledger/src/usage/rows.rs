//! The rows of the book, for whoever writes them elsewhere.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::Row as SqlRow;

use super::book::{self, Book, whole};
use super::error::BookError;
use super::query::Query;
use super::row::{Marks, Row, RowKey};
use crate::hour::Hour;
use crate::quarter::{Quarter, quarters_of};
use crate::record::Unit;

/// How many rows are read before others get a turn.
const PAGE_ROWS: u32 = 65_536;

impl Book {
    /// Hands over every row of these quarters, in order. Hours that are not closed may change meanwhile.
    pub fn each_row<E: From<BookError>>(
        &self,
        quarters: Range<Quarter>,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after = None;
        loop {
            let page = self.page(&quarters, after)?;
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
        let sql = "SELECT count(*) FROM quarters WHERE quarter >= ?1 AND quarter < ?2
                   AND (?3 IS NULL OR account = ?3) AND (?4 IS NULL OR key = ?4) AND (?5 IS NULL OR route = ?5)";
        let (start, end) = (query.quarters.start.number(), query.quarters.end.number());
        let (account, key) = (query.account.map(u64::cast_signed), query.key.map(u64::cast_signed));
        let values = (start, end, account, key, query.route);
        Ok(self.reader.lock().query_row(sql, values, |row| row.get::<_, i64>(0))?.cast_unsigned())
    }

    /// What each account used in each of these hours.
    pub fn totals(&self, hours: Range<Hour>) -> Result<BTreeMap<(u64, Hour), i128>, BookError> {
        let mut totals = BTreeMap::new();
        self.each_row(quarters_of(&hours), |row| -> Result<(), BookError> {
            *totals.entry((row.key.account, row.key.hour())).or_default() += row.sums.total();
            Ok(())
        })?;
        Ok(totals)
    }

    fn page(&self, quarters: &Range<Quarter>, after: Option<RowKey>) -> Result<Vec<Row>, BookError> {
        let from = "SELECT * FROM quarters WHERE quarter >= ?1 AND quarter < ?2";
        let (start, end) = (quarters.start.number(), quarters.end.number());
        let reader = self.reader.lock();
        let Some(key) = after else {
            let sql =
                format!("{from} ORDER BY quarter, account, key, route, tier, unit, marks LIMIT {PAGE_ROWS}");
            let mut statement = reader.prepare(&sql)?;
            return read(statement.query((start, end))?);
        };
        let sql = format!(
            "{from} AND (quarter, account, key, route, tier, unit, marks) > (?1, ?3, ?4, ?5, ?6, ?7, ?8)
             ORDER BY quarter, account, key, route, tier, unit, marks LIMIT {PAGE_ROWS}"
        );
        let (account, serial) = (key.account.cast_signed(), key.key.cast_signed());
        let (quarter, unit, marks) = (key.quarter.number(), key.unit.number(), key.marks.number());
        let mut statement = reader.prepare(&sql)?;
        read(statement.query((quarter, end, account, serial, key.route, key.tier, unit, marks))?)
    }
}

fn read(mut rows: rusqlite::Rows<'_>) -> Result<Vec<Row>, BookError> {
    let mut page = Vec::new();
    while let Some(row) = rows.next()? {
        page.push(read_row(row)?);
    }
    Ok(page)
}

pub(super) fn read_row(row: &SqlRow<'_>) -> Result<Row, BookError> {
    Ok(Row { key: row_key(row)?, sums: book::sums(row, 7)? })
}

fn row_key(row: &SqlRow<'_>) -> Result<RowKey, BookError> {
    let (unit, marks) = (Unit::from_number(row.get(5)?), Marks::from_number(row.get(6)?));
    Ok(RowKey {
        quarter: book::quarter(row.get(0)?)?,
        account: whole(row, 1)?,
        key: whole(row, 2)?,
        route: row.get(3)?,
        tier: row.get(4)?,
        unit: unit.ok_or_else(|| BookError::Damaged("a unit that means nothing".to_owned()))?,
        marks: marks.ok_or_else(|| BookError::Damaged("marks that mean nothing".to_owned()))?,
    })
}
