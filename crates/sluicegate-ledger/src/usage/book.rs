//! The book: one SQLite file, one who writes and one who reads.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row as SqlRow};
use sluicegate_core::time::Timestamp;

use super::error::BookError;
use super::row::{RowRules, Sums};
use crate::hour::Hour;
use crate::quarter::Quarter;
use crate::spool::Position;

/// `TolU`: what marks the file as ours.
const APPLICATION: i32 = 0x546f_6c55;
/// What brings a file from each version to the next. What was released is never edited.
const MIGRATIONS: [&str; 3] =
    [include_str!("schema.sql"), include_str!("schema/002.sql"), include_str!("schema/003.sql")];
#[expect(clippy::cast_possible_truncation, reason = "a short list")]
const KNOWN: u32 = MIGRATIONS.len() as u32;
/// How long to wait for a lock that somebody else holds for a moment.
const BUSY_MAX: Duration = Duration::from_secs(2);
/// Pages kept in memory by a connection, in KiB (negative says so to SQLite).
const CACHE_KIB: i32 = -16 * 1024;
/// What a checkpoint makes of the log is given back to the disk, down to this.
const LOG_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// Usage by the quarter of an hour. One process at a time may have it open: the one that has the spool.
#[derive(Debug)]
pub struct Book {
    pub(super) writer: Mutex<Connection>,
    pub(super) reader: Mutex<Connection>,
}

/// How far the book has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The first record that was ever counted.
    pub began: Position,
    /// The record that is counted next.
    pub position: Position,
    /// Records that were counted.
    pub records: u64,
    /// Slots that were never written: whoever was to write them was killed.
    pub holes: u64,
    /// Slots that hold something, but not a whole record, and are in no sum.
    pub torn: u64,
    /// The first hour that is not closed.
    pub open: Hour,
}

impl Book {
    /// Opens the file, or makes it. Its folder must be there.
    pub fn open(path: &Path) -> Result<Self, BookError> {
        let opening = |error: rusqlite::Error| match BookError::from(error) {
            BookError::Failed(why) => BookError::CannotOpen { path: path.to_owned(), why },
            BookError::Damaged(_) => BookError::NotOurs { path: path.to_owned() },
            other => other,
        };
        let mut writer = connect(path, OpenFlags::SQLITE_OPEN_CREATE).map_err(opening)?;
        if !is_ours(&writer).map_err(opening)? {
            return Err(BookError::NotOurs { path: path.to_owned() });
        }
        settle(&writer).map_err(opening)?;
        migrate(&mut writer)?;
        let reader = connect(path, OpenFlags::empty()).map_err(opening)?;
        reader.pragma_update(None, "query_only", true).map_err(opening)?;
        Ok(Self { writer: Mutex::new(writer), reader: Mutex::new(reader) })
    }

    /// How far it has come; nothing if nothing was ever counted.
    pub fn standing(&self) -> Result<Option<Standing>, BookError> {
        standing(&self.reader.lock())
    }

    /// The first hour whose rows are made: where a book was lost, records of earlier ones were gone already.
    pub(crate) fn floor(&self) -> Result<Hour, BookError> {
        floor(&self.reader.lock())
    }

    /// What is kept under this name.
    pub fn meta(&self, key: &str) -> Result<Option<Vec<u8>>, BookError> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        Ok(self.reader.lock().query_row(sql, [key], |row| row.get(0)).optional()?)
    }
}

/// How far the book has come.
pub(super) fn standing(connection: &Connection) -> Result<Option<Standing>, BookError> {
    let open = open_hour(connection)?;
    let sql = "SELECT began, position, records, holes, torn FROM progress";
    let mut statement = connection.prepare(sql)?;
    let standing = statement.query_row([], |row| {
        Ok(Standing {
            began: Position(whole(row, 0)?),
            position: Position(whole(row, 1)?),
            records: whole(row, 2)?,
            holes: whole(row, 3)?,
            torn: whole(row, 4)?,
            open,
        })
    });
    Ok(standing.optional()?)
}

/// The first hour that is not closed. While a book that was lost is made again, hours are closed at the same records as
/// before.
fn open_hour(connection: &Connection) -> Result<Hour, BookError> {
    let sql = "SELECT max(hour) FROM closings WHERE position <= (SELECT position FROM progress)";
    let last: Option<u32> = connection.prepare(sql)?.query_row([], |row| row.get(0))?;
    last.map_or(Ok(Hour::FIRST), hour)
}

/// By which rules the records of a book are counted.
pub(super) fn row_rules(connection: &Connection) -> Result<RowRules, BookError> {
    let hourly_before = meta_position(connection, "hourly_before")?;
    Ok(RowRules { hourly_before, recorded_before: meta_position(connection, "recorded_before")? })
}

/// What was recorded ahead of the time to which a clock was set back.
pub(super) struct RecordedAhead {
    /// Behind this position.
    pub(super) from: Position,
    /// Not later than this.
    pub(super) until: Timestamp,
}

/// What was ever recorded ahead of a clock that was set back then. Nothing ends where time begins.
pub(super) fn recorded_ahead(connection: &Connection) -> Result<RecordedAhead, BookError> {
    let until = meta_position(connection, "ahead_until")?;
    Ok(RecordedAhead {
        from: meta_position(connection, "ahead_from")?,
        until: Timestamp::from_nanos(until.0),
    })
}

/// Notes that time was set back to `now`, where records behind this position may be ahead of it.
pub(super) fn note_ahead(connection: &Connection, from: Position, now: Timestamp) -> Result<(), BookError> {
    let sql = "SELECT max(quarter) FROM quarters WHERE quarter > ?1";
    let last: Option<u32> = connection.query_row(sql, [Quarter::of(now).number()], |row| row.get(0))?;
    let Some(last) = last else { return Ok(()) };
    let before = recorded_ahead(connection)?;
    let from = if before.until == Timestamp::EPOCH { from } else { from.min(before.from) };
    let until = quarter(last)?.next().start().max(before.until);
    let sql = "INSERT OR REPLACE INTO meta VALUES ('ahead_from', ?1), ('ahead_until', ?2)";
    let number = |number: u64| number.to_string().into_bytes();
    connection.execute(sql, [number(from.0), number(until.as_nanos())])?;
    Ok(())
}

/// A position that is kept under this name; the first if there is none.
fn meta_position(connection: &Connection, name: &str) -> Result<Position, BookError> {
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let bytes: Option<Vec<u8>> = connection.query_row(sql, [name], |row| row.get(0)).optional()?;
    let Some(bytes) = bytes else { return Ok(Position(0)) };
    let position = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
    position.map(Position).ok_or_else(|| BookError::Damaged("a position that is no number".to_owned()))
}

/// Rows of hours before it are not made: when the book was lost, not all of their records were there any more.
pub(super) fn floor(connection: &Connection) -> Result<Hour, BookError> {
    let sql = "SELECT value FROM meta WHERE key = 'floor'";
    let bytes: Option<Vec<u8>> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    let Some(bytes) = bytes else { return Ok(Hour::FIRST) };
    let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
    hour(number.ok_or_else(|| BookError::Damaged("an hour that is no number".to_owned()))?)
}

/// Keeps the first hour whose rows are made.
pub(super) fn set_floor(connection: &Connection, floor: Hour) -> Result<(), BookError> {
    let value = floor.number().to_string().into_bytes();
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('floor', ?1)", [value])?;
    Ok(())
}

/// An hour as it is kept.
pub(super) fn hour(number: u32) -> Result<Hour, BookError> {
    Hour::new(number).ok_or_else(|| BookError::Damaged(format!("there is no hour {number}")))
}

/// A quarter of an hour as it is kept.
pub(super) fn quarter(number: u32) -> Result<Quarter, BookError> {
    Quarter::new(number).ok_or_else(|| BookError::Damaged(format!("there is no quarter {number}")))
}

/// The quarter of a charge as it is kept: 0 where it is the quarter of the row.
pub(super) fn charge_quarter(number: u32) -> Result<Option<Quarter>, BookError> {
    if number == 0 { Ok(None) } else { quarter(number).map(Some) }
}

/// A whole number that may use all of its bits.
pub(super) fn whole(row: &SqlRow<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// Sums, from this column on.
pub(super) fn sums(row: &SqlRow<'_>, column: usize) -> rusqlite::Result<Sums> {
    let mut numbers = [0; 6];
    for (at, number) in (column..).zip(&mut numbers) {
        *number = i128::from(row.get::<_, i64>(at)?);
    }
    Ok(Sums::from_numbers(numbers))
}

/// Sums as they are kept.
pub(super) fn columns(sums: &Sums) -> Result<[i64; 6], BookError> {
    let mut columns = [0; 6];
    for (column, number) in columns.iter_mut().zip(sums.numbers()) {
        *column = i64::try_from(number).map_err(|_| BookError::TooLarge)?;
    }
    Ok(columns)
}

fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if flags.contains(OpenFlags::SQLITE_OPEN_CREATE) {
        // SQLite would make it readable for everyone. If it cannot be made, SQLite says why.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    }
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_MAX)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    Ok(application == APPLICATION || (application == 0 && tables == 0))
}

fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    // What was closed stays closed even if power is lost: its object may be on the way already.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)
}

fn migrate(connection: &mut Connection) -> Result<(), BookError> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > KNOWN {
        return Err(BookError::Newer { found, known: KNOWN });
    }
    for (version, steps) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(steps)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}
