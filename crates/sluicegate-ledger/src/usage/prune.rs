//! What may go: records whose hours are long closed, and rows older than is to be kept.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use sluicegate_core::time::{Nanos, Timestamp};

use super::book::{self, Book};
use super::error::BookError;
use super::sealed;
use crate::hour::Hour;
use crate::spool::Position;

/// Whether hours go to object storage before they may go from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    /// It is enough that they are closed.
    Closed,
    /// They must be sealed.
    Sealed,
}

/// What went from the book.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shed {
    /// How many hours.
    pub hours: u32,
    /// How many rows they had.
    pub rows: u64,
}

impl Book {
    /// All records before it are counted, were written `retain` or longer ago, and lie in hours that are done with.
    pub fn done_before(&self, now: Timestamp, retain: Nanos, needs: Needs) -> Result<Position, BookError> {
        let reader = self.reader.lock();
        let end = done_until(&reader, needs)?;
        // What was written before an hour was closed may also lie in the hour in which that was done.
        let at = oldest(now, retain).as_nanos().min(end.start().as_nanos());
        // Under a clock that was set back, later positions have earlier times.
        let ahead = book::recorded_ahead(&reader)?;
        let last = if at > ahead.until.as_nanos() { i64::MAX } else { ahead.from.0.cast_signed() };
        let sql = "SELECT max(position) FROM closings
                   WHERE at < ?1 AND position <= (SELECT position FROM progress) AND position <= ?2";
        let position: Option<i64> = reader.query_row(sql, [at.cast_signed(), last], |row| row.get(0))?;
        Ok(Position(position.map_or(0, i64::cast_unsigned)))
    }

    /// Rows of hours before it may go, if there are any.
    pub(crate) fn sheds_before(
        &self,
        now: Timestamp,
        retain: Nanos,
        needs: Needs,
    ) -> Result<Option<Hour>, BookError> {
        let reader = self.reader.lock();
        let end = done_until(&reader, needs)?.min(Hour::of(oldest(now, retain)));
        let sql = "SELECT EXISTS (SELECT 1 FROM quarters WHERE quarter < ?1 * 4)";
        let has_any: bool = reader.query_row(sql, [end.number()], |row| row.get(0))?;
        Ok(has_any.then_some(end))
    }

    /// Removes the rows of hours that ended `retain` or longer ago and are done with.
    pub fn shed(&self, now: Timestamp, retain: Nanos, needs: Needs) -> Result<Shed, BookError> {
        let mut shed = Shed::default();
        // One transaction for each hour: others wait for no more than that.
        loop {
            let mut writer = self.writer.lock();
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let end = done_until(&transaction, needs)?.min(Hour::of(oldest(now, retain)));
            let sql = "SELECT quarter / 4 FROM quarters WHERE quarter < ?1 * 4 ORDER BY quarter LIMIT 1";
            let next: Option<u32> =
                transaction.query_row(sql, [end.number()], |row| row.get(0)).optional()?;
            let Some(hour) = next else { return Ok(shed) };
            transaction.execute(
                "DELETE FROM account_quarters WHERE (account, quarter) IN
                 (SELECT account, quarter FROM quarters WHERE quarter >= ?1 * 4 AND quarter < ?1 * 4 + 4)",
                [hour],
            )?;
            let sql = "DELETE FROM quarters WHERE quarter >= ?1 * 4 AND quarter < ?1 * 4 + 4";
            shed.rows += transaction.execute(sql, [hour])? as u64;
            shed.hours += 1;
            transaction.commit()?;
        }
    }
}

fn oldest(now: Timestamp, retain: Nanos) -> Timestamp {
    Timestamp::from_nanos(now.as_nanos().saturating_sub(retain.0))
}

/// Hours before it are done with.
fn done_until(connection: &Connection, needs: Needs) -> Result<Hour, BookError> {
    let open = book::standing(connection)?.map_or(Hour::FIRST, |standing| standing.open);
    match needs {
        Needs::Closed => Ok(open),
        Needs::Sealed => Ok(sealed::next_unsealed(connection)?.unwrap_or(open)),
    }
}
