//! Closing hours: what they say is final from then on, and whatever still comes for them is counted later.

use rusqlite::TransactionBehavior;
use sluicegate_core::time::{Nanos, Timestamp};

use super::book::{self, Book};
use super::error::{BookError, RollError};
use crate::hour::Hour;
use crate::spool::{Position, Spool};

/// What closing came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// No hour is old enough.
    Nothing,
    /// The hours before this one are closed now, and were not all before.
    Until(Hour),
}

/// What opening hours again came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reopened {
    /// No hour was closed by such a clock.
    Nothing,
    /// Hours from this one on are open again.
    From(Hour),
}

impl Book {
    /// Closes every hour that ended `grace` or longer ago. All that was recorded so far is counted first, even if it
    /// has to be sent to disk for that.
    pub fn close_due(&self, spool: &Spool, now: Timestamp, grace: Nanos) -> Result<Closed, RollError> {
        let until = Hour::of(Timestamp::from_nanos(now.as_nanos().saturating_sub(grace.0)));
        if book::standing(&self.reader.lock())?.is_some_and(|standing| until <= standing.open) {
            return Ok(Closed::Nothing);
        }
        // Who decided within the hour has long recorded it; only that it is on disk is not sure.
        spool.flush().map_err(|source| {
            RollError::Read(crate::spool::ReadError::Io { file: spool.dir().to_owned(), source })
        })?;
        self.roll(spool)?;
        self.close(until, now).map_err(RollError::Book)
    }

    /// Opens the hours again that were closed by a clock that was later than `latest`: what was recorded since is
    /// counted in its own hour. Hours that are sealed stay closed. `before` is called with the first hour that will be
    /// open, if there is anything to open. Says whether there was.
    pub(crate) fn reopen(
        &self,
        latest: Timestamp,
        now: Timestamp,
        before: impl FnOnce(Hour),
    ) -> Result<Reopened, BookError> {
        let mut writer = self.writer.lock();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if book::standing(&transaction)?.is_none() {
            return Ok(Reopened::Nothing);
        }
        let latest = latest.as_nanos().cast_signed();
        let sql = "SELECT min(position) FROM closings WHERE at > ?1";
        let wrong: Option<i64> = transaction.query_row(sql, [latest], |row| row.get(0))?;
        let sql = "SELECT coalesce(max(position), 0) FROM closings";
        let last: i64 = transaction.query_row(sql, [], |row| row.get(0))?;
        book::note_ahead(&transaction, Position(wrong.unwrap_or(last).cast_unsigned()), now)?;
        let Some(position) = wrong else {
            transaction.commit()?;
            return Ok(Reopened::Nothing);
        };
        transaction.execute("DELETE FROM closings WHERE at > ?1", [latest])?;
        let sql = "SELECT max(hour) FROM sealed WHERE hour <= ?1";
        let sealed: Option<u32> = transaction.query_row(sql, [Hour::of(now).number()], |row| row.get(0))?;
        let closed = book::standing(&transaction)?.map_or(Hour::FIRST, |standing| standing.open);
        let sealed = sealed.map(book::hour).transpose()?.map_or(closed, Hour::next);
        if sealed > closed {
            // What came for these hours behind the first of the wrong closings came late.
            let at = now.as_nanos().cast_signed();
            transaction
                .execute("INSERT INTO closings VALUES (?1, ?2, ?3)", (sealed.number(), position, at))?;
        }
        before(closed);
        transaction.commit()?;
        Ok(Reopened::From(closed.max(sealed)))
    }

    fn close(&self, until: Hour, now: Timestamp) -> Result<Closed, BookError> {
        let mut writer = self.writer.lock();
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Some(standing) = book::standing(&transaction)? else { return Ok(Closed::Nothing) };
        if until <= standing.open {
            return Ok(Closed::Nothing);
        }
        let (position, at) = (standing.position.0.cast_signed(), now.as_nanos().cast_signed());
        transaction.execute("INSERT INTO closings VALUES (?1, ?2, ?3)", (until.number(), position, at))?;
        transaction.commit()?;
        Ok(Closed::Until(until))
    }
}
