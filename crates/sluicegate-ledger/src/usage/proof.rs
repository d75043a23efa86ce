//! Checking the rows of a book against what was signed of them, and against the records.
//!
//! It reads and takes no lock of the program's: it may be done beside the program that writes, or on a copy. Rows of
//! closed hours must have the digest that was signed; all others must be what the records come to, which are proven by
//! then. The sums of accounts must be those of their rows.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sluicegate_core::digest::Digest;

use super::book;
use super::closings::{self, Closing};
use super::digest::RowDigest;
use super::error::BookError;
use super::row::{Row, RowKey, RowRules, Sums};
use super::rows::{COLUMNS, read_row};
use crate::chain::{FirstBad, SignedRollup, VerifyError, Why};
use crate::hour::Hour;
use crate::quarter::quarters_of;
use crate::record::Record;
use crate::spool::Position;

/// What the chain says of a book.
pub(crate) struct Signed<'c> {
    /// What was signed of closed hours, in order.
    pub(crate) rollups: &'c [SignedRollup],
    /// Rows of hours before it may be gone.
    pub(crate) shed: Hour,
}

/// Checks the book at `path`. `records` hands over every record that is there before a position. Says how many rows are
/// proven.
pub(crate) fn verify(
    path: &Path,
    signed: &Signed<'_>,
    records: impl FnOnce(Position, &mut dyn FnMut(Position, &Record)) -> Result<(), VerifyError>,
) -> Result<u64, VerifyError> {
    if !path.exists() {
        // It is made again from the records when the program starts; what is older is lost.
        let is_lost = !signed.rollups.is_empty();
        return if is_lost { Err(FirstBad::file(path, Why::Missing).into()) } else { Ok(0) };
    }
    let failed =
        |error: BookError| VerifyError::Io { path: path.to_owned(), source: io::Error::other(error) };
    let mut connection = open(path).map_err(|error| failed(error.into()))?;
    let transaction = connection.transaction().map_err(|error| failed(error.into()))?;
    let version = version(&transaction).map_err(|error| failed(error.into()))?;
    let book = Reader { path, connection: &transaction, version };
    if version < 2 {
        let is_old = signed.rollups.is_empty();
        return if is_old { Ok(0) } else { Err(FirstBad::file(path, Why::Rollup).into()) };
    }
    book.check_accounts()?;
    let mut rows = 0;
    for rollup in signed.rollups.iter().filter(|rollup| rollup.from >= signed.shed) {
        rows += book.check_rollup(rollup)?;
    }
    let open = signed.rollups.last().map_or(Hour::FIRST, |rollup| rollup.until);
    Ok(rows + book.check_open(open.max(signed.shed), signed, records)?)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

struct Reader<'r> {
    path: &'r Path,
    connection: &'r Connection,
    version: u32,
}

impl Reader<'_> {
    fn failed(&self, error: impl Into<BookError>) -> VerifyError {
        VerifyError::Io { path: self.path.to_owned(), source: io::Error::other(error.into()) }
    }

    fn bad(&self, hour: Option<Hour>) -> VerifyError {
        FirstBad { hour, ..FirstBad::file(self.path, Why::Rollup) }.into()
    }

    /// The quarter of the charge. The second version had none: its rows are those of their own quarter.
    fn charge_quarter(&self) -> &'static str {
        if self.version < 3 { "0" } else { "charge_quarter" }
    }

    fn rules(&self) -> Result<RowRules, BookError> {
        let rules = book::row_rules(self.connection)?;
        Ok(if self.version < 3 { RowRules { recorded_before: Position(u64::MAX), ..rules } } else { rules })
    }

    fn each_row(&self, hours: std::ops::Range<Hour>, mut each: impl FnMut(Row)) -> Result<(), VerifyError> {
        let sql = format!(
            "SELECT {COLUMNS}, {charge} AS of_charge FROM quarters WHERE quarter >= ?1 AND quarter < ?2
             ORDER BY quarter, account, key, route, tier, unit, marks, of_charge",
            charge = self.charge_quarter()
        );
        let quarters = quarters_of(&hours);
        let mut read = || -> Result<(), BookError> {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query((quarters.start.number(), quarters.end.number()))?;
            while let Some(row) = rows.next()? {
                each(read_row(row)?);
            }
            Ok(())
        };
        read().map_err(|error| self.failed(error))
    }

    fn check_rollup(&self, rollup: &SignedRollup) -> Result<u64, VerifyError> {
        let mut digest = RowDigest::new();
        self.each_row(rollup.from..rollup.until, |row| digest.add(&row))?;
        let found: (u64, Digest) = (digest.rows, digest.finish());
        if found == (rollup.rows, rollup.digest) { Ok(digest.rows) } else { Err(self.bad(Some(rollup.from))) }
    }

    /// Rows of hours that are not signed yet, beside what the records come to.
    fn check_open(
        &self,
        open: Hour,
        signed: &Signed<'_>,
        records: impl FnOnce(Position, &mut dyn FnMut(Position, &Record)) -> Result<(), VerifyError>,
    ) -> Result<u64, VerifyError> {
        let Some(standing) = book::standing(self.connection).map_err(|error| self.failed(error))? else {
            return Ok(0);
        };
        let mut closings: Vec<Closing> = signed.rollups.iter().map(Closing::from).collect();
        let known = closings::all(self.connection).map_err(|error| self.failed(error))?;
        closings.extend(known.into_iter().filter(|closing| closing.hour > open));
        let rules = self.rules().map_err(|error| self.failed(error))?;
        let mut sums: BTreeMap<RowKey, (Sums, Sums)> = BTreeMap::new();
        let mut coming = closings.iter().peekable();
        let (mut first_open, mut first) = (Hour::FIRST, None);
        records(standing.position, &mut |position, record| {
            while let Some(closing) = coming.next_if(|closing| closing.position <= position) {
                first_open = closing.hour;
            }
            first.get_or_insert(position);
            let key = rules.key(position, record, first_open);
            if position >= standing.began && key.hour() >= open {
                sums.entry(key).or_default().1 += Sums::of(record);
            }
        })?;
        // Where nothing is signed yet, records of old hours may be gone already.
        let is_whole = first.is_none_or(|first| first <= standing.began);
        let known =
            if is_whole { open } else { closings::first_whole_hour(&closings, first.unwrap_or_default()) };
        let from = open.max(known).max(book::floor(self.connection).map_err(|error| self.failed(error))?);
        let mut rows = 0;
        self.each_row(from..crate::hour::ALL_HOURS.end, |row| {
            rows += 1;
            sums.entry(row.key).or_default().0 += row.sums;
        })?;
        let mut compared = sums.iter().filter(|(key, _)| key.hour() >= from);
        match compared.find(|(_, (book, records))| book != records) {
            Some((key, _)) => Err(self.bad(Some(key.hour()))),
            None => Ok(rows),
        }
    }

    /// The sums of accounts follow from the rows.
    fn check_accounts(&self) -> Result<(), VerifyError> {
        const SUMS: &str = "SELECT * FROM account_quarters";
        let charge = if self.version < 3 { "" } else { ", charge_quarter" };
        let rows = format!(
            "SELECT account, quarter, unit, marks, sum(requests), sum(charged), sum(corrected), sum(refunded), \
             sum(overage), sum(overage_refunded){charge} FROM quarters \
             GROUP BY account, quarter, unit, marks{charge}"
        );
        for (one, other) in [(&*rows, SUMS), (SUMS, &*rows)] {
            let sql = format!(
                "SELECT min(quarter) / 4 FROM (SELECT * FROM ({one}) EXCEPT SELECT * FROM ({other}))"
            );
            let differs: Option<u32> =
                self.connection.query_row(&sql, [], |row| row.get(0)).map_err(|error| self.failed(error))?;
            if let Some(hour) = differs {
                return Err(self.bad(Hour::new(hour)));
            }
        }
        Ok(())
    }
}
