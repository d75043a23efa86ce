//! The closings of a book: which hours were closed when, and behind which record.

use rusqlite::{Connection, TransactionBehavior};
use sluicegate_core::time::Timestamp;

use super::book::{self, Book, whole};
use super::error::BookError;
use crate::chain::SignedRollup;
use crate::hour::Hour;
use crate::spool::Position;

/// At `at`, when all records before `position` were counted, the hours before `hour` were closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Closing {
    pub(crate) hour: Hour,
    pub(crate) position: Position,
    pub(crate) at: Timestamp,
}

impl From<&SignedRollup> for Closing {
    fn from(rollup: &SignedRollup) -> Self {
        Self { hour: rollup.until, position: rollup.position, at: rollup.at }
    }
}

impl Book {
    /// What is to be signed of the hours that were closed behind `signed`, and whose rows are all there.
    pub(crate) fn unsigned_rollups(&self, signed: Hour) -> Result<Vec<SignedRollup>, BookError> {
        let (closings, rules, open) = {
            let reader = self.reader.lock();
            let open = book::standing(&reader)?.map_or(Hour::FIRST, |standing| standing.open);
            (all(&reader)?, book::row_rules(&reader)?, open)
        };
        let mut rollups = Vec::new();
        let mut from = signed;
        for Closing { hour: until, position, at } in closings {
            if until <= signed || until > open {
                continue;
            }
            let (rows, digest) = self.digest(&(from..until))?;
            let (hourly_before, recorded_before) = (rules.hourly_before, Some(rules.recorded_before));
            rollups.push(SignedRollup {
                from,
                until,
                position,
                at,
                hourly_before,
                rows,
                digest,
                recorded_before,
            });
            from = until;
        }
        Ok(rollups)
    }

    /// A book that was lost is to be made again: what was closed then is closed at the same records again.
    pub(crate) fn restore_closings(&self, rollups: &[SignedRollup]) -> Result<(), BookError> {
        let mut writer = self.writer.lock();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Closing { hour, position, at } in rollups.iter().map(Closing::from) {
            let (position, at) = (position.0.cast_signed(), at.as_nanos().cast_signed());
            let sql = "INSERT OR IGNORE INTO closings VALUES (?1, ?2, ?3)";
            transaction.execute(sql, (hour.number(), position, at))?;
        }
        let hourly = rollups.iter().map(|rollup| rollup.hourly_before.0).max().unwrap_or(0);
        // What was signed without it was rolled up by an earlier version.
        let recorded = rollups.iter().map(|rollup| rollup.recorded_before.unwrap_or(rollup.position).0).max();
        let sql = "INSERT OR REPLACE INTO meta VALUES ('hourly_before', ?1), ('recorded_before', ?2)";
        let position = |position: u64| position.to_string().into_bytes();
        transaction.execute(sql, [position(hourly), position(recorded.unwrap_or(0))])?;
        Ok(transaction.commit()?)
    }
}

/// All closings, in order.
pub(super) fn all(connection: &Connection) -> Result<Vec<Closing>, BookError> {
    let mut statement = connection.prepare("SELECT position, hour, at FROM closings ORDER BY hour")?;
    let mut rows = statement.query([])?;
    let mut closings = Vec::new();
    while let Some(row) = rows.next()? {
        let (position, hour) = (Position(whole(row, 0)?), book::hour(row.get(1)?)?);
        closings.push(Closing { position, hour, at: Timestamp::from_nanos(whole(row, 2)?) });
    }
    Ok(closings)
}

/// The first hour all of whose records are still there if those before `first` are gone: what is gone was written
/// before the first closing behind it, and lies in the hour of that or in an earlier one.
pub(super) fn first_whole_hour(closings: &[Closing], first: Position) -> Hour {
    if first == Position(0) {
        return Hour::FIRST;
    }
    let closing = closings.iter().find(|closing| closing.position >= first).or(closings.last());
    closing.map_or(Hour::FIRST, |closing| Hour::of(closing.at).max(closing.hour).next())
}
