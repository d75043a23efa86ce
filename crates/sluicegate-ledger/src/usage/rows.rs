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
/// The columns of a row, but for the quarter of its charge, which comes last.
pub(super) const COLUMNS: &str = "quarter, account, key, route, tier, unit, marks, \
                                  requests, charged, corrected, refunded, overage, overage_refunded";
/// What tells rows apart, in their order.
const KEY: &str = "quarter, account, key, route, tier, unit, marks, charge_quarter";
/// The same for rows whose charge was made in another quarter.
const KEY_BY_CHARGE: &str = "charge_quarter, quarter, account, key, route, tier, unit, marks";

impl Book {
    /// Hands over every row that was recorded in these quarters, in order. Hours that are not closed may change
    /// meanwhile.
    pub fn each_row<E: From<BookError>>(
        &self,
        quarters: Range<Quarter>,
        each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_page(&quarters, Self::page, each)
    }

    /// Hands over every row whose charge was made in these quarters: first those that were recorded in the same
    /// quarter, in order, then the others, by the quarter of the charge.
    pub fn each_row_by_charge<E: From<BookError>>(
        &self,
        quarters: Range<Quarter>,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_row(quarters.clone(), |row| if row.key.charge.is_none() { each(row) } else { Ok(()) })?;
        self.each_page(&quarters, Self::page_of_earlier_charges, each)
    }

    fn each_page<E: From<BookError>>(
        &self,
        quarters: &Range<Quarter>,
        read: impl Fn(&Self, &Range<Quarter>, Option<RowKey>) -> Result<Vec<Row>, BookError>,
        mut each: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut after = None;
        loop {
            let page = read(self, quarters, after)?;
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
        let sql = "SELECT count(*) FROM quarters WHERE
                   (charge_quarter = 0 AND quarter >= ?1 AND quarter < ?2
                    OR charge_quarter <> 0 AND charge_quarter >= ?1 AND charge_quarter < ?2)
                   AND (?3 IS NULL OR account = ?3) AND (?4 IS NULL OR key = ?4) AND (?5 IS NULL OR route = ?5)";
        let (start, end) = (query.quarters.start.number(), query.quarters.end.number());
        let (account, key) = (query.account.map(u64::cast_signed), query.key.map(u64::cast_signed));
        let values = (start, end, account, key, query.route);
        Ok(self.reader.lock().query_row(sql, values, |row| row.get::<_, i64>(0))?.cast_unsigned())
    }

    /// What was recorded for each account in each of these hours.
    pub fn totals(&self, hours: Range<Hour>) -> Result<BTreeMap<(u64, Hour), i128>, BookError> {
        let mut totals = BTreeMap::new();
        self.each_row(quarters_of(&hours), |row| -> Result<(), BookError> {
            *totals.entry((row.key.account, row.key.hour())).or_default() += row.sums.total();
            Ok(())
        })?;
        Ok(totals)
    }

    fn page(&self, quarters: &Range<Quarter>, after: Option<RowKey>) -> Result<Vec<Row>, BookError> {
        let from =
            format!("SELECT {COLUMNS}, charge_quarter FROM quarters WHERE quarter >= ?1 AND quarter < ?2");
        let (start, end) = (quarters.start.number(), quarters.end.number());
        let reader = self.reader.lock();
        let Some(key) = after else {
            let sql = format!("{from} ORDER BY {KEY} LIMIT {PAGE_ROWS}");
            let mut statement = reader.prepare(&sql)?;
            return read(statement.query((start, end))?);
        };
        let sql =
            format!("{from} AND ({KEY}) > (?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ORDER BY {KEY} LIMIT {PAGE_ROWS}");
        let [quarter, charge, unit, marks] = numbers(&key);
        let (account, serial) = (key.account.cast_signed(), key.key.cast_signed());
        let mut statement = reader.prepare(&sql)?;
        read(statement.query((quarter, end, account, serial, key.route, key.tier, unit, marks, charge))?)
    }

    fn page_of_earlier_charges(
        &self,
        quarters: &Range<Quarter>,
        after: Option<RowKey>,
    ) -> Result<Vec<Row>, BookError> {
        let from = format!(
            "SELECT {COLUMNS}, charge_quarter FROM quarters
             WHERE charge_quarter <> 0 AND charge_quarter >= ?1 AND charge_quarter < ?2"
        );
        let (start, end) = (quarters.start.number(), quarters.end.number());
        let reader = self.reader.lock();
        let Some(key) = after else {
            let sql = format!("{from} ORDER BY {KEY_BY_CHARGE} LIMIT {PAGE_ROWS}");
            let mut statement = reader.prepare(&sql)?;
            return read(statement.query((start, end))?);
        };
        let sql = format!(
            "{from} AND ({KEY_BY_CHARGE}) > (?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ORDER BY {KEY_BY_CHARGE} LIMIT {PAGE_ROWS}"
        );
        let [quarter, charge, unit, marks] = numbers(&key);
        let (account, serial) = (key.account.cast_signed(), key.key.cast_signed());
        let mut statement = reader.prepare(&sql)?;
        read(statement.query((charge, end, quarter, account, serial, key.route, key.tier, unit, marks))?)
    }
}

/// The quarter, that of the charge, the unit and the marks, as they are kept.
fn numbers(key: &RowKey) -> [u32; 4] {
    let charge = key.charge.map_or(0, Quarter::number);
    [key.quarter.number(), charge, key.unit.number().into(), key.marks.number().into()]
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
        charge: book::charge_quarter(row.get(13)?)?,
    })
}
