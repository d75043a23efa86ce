//! Closing hours: what they say is final from then on, and whatever still comes for them is counted later.

use rusqlite::TransactionBehavior;
use sluicegate_core::time::{Nanos, Timestamp};

use super::book::{self, Book};
use super::error::{BookError, RollError};
use crate::hour::Hour;
use crate::spool::Spool;

/// What closing came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// No hour is old enough.
    Nothing,
    /// The hours before this one are closed now, and were not all before.
    Until(Hour),
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
