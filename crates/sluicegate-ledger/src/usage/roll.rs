//! Rolling up: records that are on disk are counted into the book, each once.
//!
//! The sums and the position they reach are one transaction. Whoever is killed in between has counted nothing, and the
//! next one begins where the last transaction ended. Records that are not on disk yet wait: after a loss of power their
//! positions may be given to others.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::book::{self, Book, Standing};
use super::closings;
use super::error::{BookError, RollError};
use super::row::{Row, RowRules};
use super::tally::{self, Tally};
use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::spool::{Position, Spool};

/// How many records are read before the size of the tally is looked at.
const CHUNK_RECORDS: u64 = 65_536;
/// The most records of one transaction.
const RECORDS_MAX: u64 = 4_194_304;
/// A transaction ends with the chunk in which it gets this many rows.
const ROWS_MAX: usize = 262_144;

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rolled {
    /// Records that were counted.
    pub records: u64,
    /// Slots without a record.
    pub holes: u64,
    /// Slots with something that is not a whole record.
    pub torn: u64,
    /// The record that is counted next.
    pub position: Position,
}

impl Book {
    /// Counts every record that is on disk and was not counted yet.
    pub fn roll(&self, spool: &Spool) -> Result<Rolled, RollError> {
        let mut writer = self.writer.lock();
        let mut rolled = Rolled::default();
        loop {
            let from = begin(&writer, spool)?;
            let pace = Pace::at(&writer, from.position)?;
            rolled.position = from.position;
            if from.position >= spool.durable() {
                // Also tells whether the spool is shorter than what was counted.
                spool.read_until(from.position, from.position, |_, _| {})?;
                return Ok(rolled);
            }
            let batch = Batch::read(spool, from, pace)?;
            rolled.records += batch.rolled.records;
            rolled.holes += batch.rolled.holes;
            rolled.torn += batch.rolled.torn;
            batch.write(&mut writer, from)?;
        }
    }
}

/// Where to go on. A new book begins with the first record there is.
fn begin(connection: &Connection, spool: &Spool) -> Result<Standing, BookError> {
    if let Some(standing) = book::standing(connection)? {
        return Ok(standing);
    }
    let first = spool.first();
    let closings = closings::all(connection)?;
    if !closings.is_empty() {
        // A book that was lost: rows of hours whose records are not all there would be wrong.
        book::set_floor(connection, closings::first_whole_hour(&closings, first))?;
    }
    let open = closings.iter().rfind(|closing| closing.position <= first).map_or(Hour::FIRST, |it| it.hour);
    Ok(Standing { began: first, position: first, open, ..Standing::default() })
}

/// How far a batch may go, and what it counts.
#[derive(Clone, Copy)]
struct Pace {
    /// Where hours were closed the next time, when the book was made the first time.
    closes_at: Option<Position>,
    floor: Hour,
    rules: RowRules,
}

impl Pace {
    fn at(connection: &Connection, position: Position) -> Result<Self, BookError> {
        let sql = "SELECT min(position) FROM closings WHERE position > ?1";
        let next: Option<i64> = connection.query_row(sql, [position.0.cast_signed()], |row| row.get(0))?;
        let (floor, rules) = (book::floor(connection)?, book::row_rules(connection)?);
        Ok(Self { closes_at: next.map(|it| Position(it.cast_unsigned())), floor, rules })
    }
}

/// What goes into one transaction.
struct Batch {
    tally: Tally,
    rolled: Rolled,
}

impl Batch {
    fn read(spool: &Spool, from: Standing, pace: Pace) -> Result<Self, RollError> {
        let end = spool.durable().0.min(from.position.0.saturating_add(RECORDS_MAX));
        let end = pace.closes_at.map_or(end, |position| end.min(position.0));
        let mut tally = Tally::new(from.open, pace.floor, pace.rules);
        let mut rolled = Rolled { position: from.position, ..Rolled::default() };
        while rolled.position.0 < end && tally.len() < ROWS_MAX {
            let until = Position(end.min(rolled.position.0.saturating_add(CHUNK_RECORDS)));
            let report = spool.read_until(rolled.position, until, |position, record| {
                tally.count(position, record);
            })?;
            rolled.records += report.read;
            rolled.holes += report.holes;
            rolled.torn += report.torn;
            rolled.position = report.next;
        }
        Ok(Self { tally, rolled })
    }

    fn write(self, connection: &mut Connection, from: Standing) -> Result<(), BookError> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        add_rows(&transaction, &self.tally.into_rows())?;
        let standing = Standing {
            position: self.rolled.position,
            records: from.records + self.rolled.records,
            holes: from.holes + self.rolled.holes,
            torn: from.torn + self.rolled.torn,
            ..from
        };
        set_standing(&transaction, standing)?;
        Ok(transaction.commit()?)
    }
}

fn set_standing(transaction: &Transaction<'_>, standing: Standing) -> Result<(), BookError> {
    let Standing { began, position, records, holes, torn, open: _ } = standing;
    let numbers = [began.0, position.0, records, holes, torn].map(u64::cast_signed);
    let sql = "INSERT OR REPLACE INTO progress VALUES (1, ?1, ?2, ?3, ?4, ?5)";
    transaction.prepare(sql)?.execute(numbers)?;
    Ok(())
}

/// Adds rows to what the book has.
pub(super) fn add_rows(transaction: &Transaction<'_>, rows: &[Row]) -> Result<(), BookError> {
    const ADD: &str = "DO UPDATE SET requests = requests + excluded.requests, charged = charged + excluded.charged, \
                       corrected = corrected + excluded.corrected, refunded = refunded + excluded.refunded, \
                       overage = overage + excluded.overage, \
                       overage_refunded = overage_refunded + excluded.overage_refunded";
    let sql = format!(
        "INSERT INTO quarters VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
         ON CONFLICT (quarter, account, key, route, tier, unit, marks, charge_quarter) {ADD}"
    );
    let mut insert = transaction.prepare(&sql)?;
    for Row { key, sums } in rows {
        let [a, b, c, d, e, f] = book::columns(sums)?;
        let (account, key_serial) = (key.account.cast_signed(), key.key.cast_signed());
        let (quarter, unit, marks) = (key.quarter.number(), key.unit.number(), key.marks.number());
        let charge = key.charge.map_or(0, Quarter::number);
        insert.execute((
            quarter, account, key_serial, key.route, key.tier, unit, marks, a, b, c, d, e, f, charge,
        ))?;
    }
    let sql = format!(
        "INSERT INTO account_quarters VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT (account, quarter, unit, marks, charge_quarter) {ADD}"
    );
    let mut insert = transaction.prepare(&sql)?;
    for ((account, quarter, unit, marks, charge), sums) in tally::by_account(rows) {
        let [a, b, c, d, e, f] = book::columns(&sums)?;
        let (quarter, unit, marks) = (quarter.number(), unit.number(), marks.number());
        let charge = charge.map_or(0, Quarter::number);
        insert.execute((account.cast_signed(), quarter, unit, marks, a, b, c, d, e, f, charge))?;
    }
    Ok(())
}
