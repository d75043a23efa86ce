//! What is signed of the roll-ups: the rows of every range of hours that was closed, and which rows may be gone.
//!
//! The line of a closing also says where in the spool it came and when. So the book can be made again from the records:
//! every row, and with it the id of every event, comes out as it was.

use sluicegate_core::digest::Digest;
use sluicegate_core::time::Timestamp;

use super::error::ChainError;
use super::line::{Found, Line};
use super::{Chain, log};
use crate::hour::Hour;
use crate::spool::Position;

/// Hours that were closed together, with a digest of their rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignedRollup {
    /// The first of the hours.
    pub from: Hour,
    /// The first hour that stayed open.
    pub until: Hour,
    /// All records before it were counted when the hours were closed.
    pub position: Position,
    /// When they were closed.
    pub at: Timestamp,
    /// Records before this position were rolled up by the hour.
    pub hourly_before: Position,
    /// How many rows the hours have.
    pub rows: u64,
    /// Of the rows.
    pub digest: Digest,
}

impl Chain {
    /// Rows of hours before it are signed.
    pub fn rolled_until(&self) -> Hour {
        self.rolled
    }

    /// Signs the rows of hours that were closed. A range that was signed before is replaced.
    pub fn sign_rollups(&mut self, rollups: &[SignedRollup]) -> Result<(), ChainError> {
        if rollups.is_empty() {
            return Ok(());
        }
        let lines: Vec<Line> = rollups.iter().map(|rollup| Line::Rollup(*rollup)).collect();
        self.head = log::append_all(&self.dir, self.head, &lines, &self.key)?;
        self.rolled = rollups.iter().map(|rollup| rollup.until).fold(self.rolled, Hour::max);
        Ok(())
    }

    /// Says that rows of hours before this one may be gone, before they are.
    pub fn allow_shedding(&mut self, before: Hour, now: Timestamp) -> Result<(), ChainError> {
        if before > self.shed {
            let line = Line::Shed { before, at: now.as_nanos() };
            self.head = log::append(&self.dir, self.head, &line, &self.key)?;
            self.shed = before;
        }
        Ok(())
    }

    /// Everything that was signed of roll-ups, in order; of a range that was signed again, what was signed last.
    pub fn rollups(&self) -> Result<Vec<SignedRollup>, ChainError> {
        let path = log::path(&self.dir);
        let text = std::fs::read_to_string(&path).map_err(ChainError::at(&path))?;
        let lines = text.lines().filter_map(|line| Found::parse(line)?.line());
        Ok(latest(lines.filter_map(|line| match line {
            Line::Rollup(rollup) => Some(rollup),
            _ => None,
        })))
    }
}

/// The last of each range, in order.
pub(super) fn latest(rollups: impl Iterator<Item = SignedRollup>) -> Vec<SignedRollup> {
    let by_range: std::collections::BTreeMap<Hour, SignedRollup> =
        rollups.map(|rollup| (rollup.from, rollup)).collect();
    by_range.into_values().collect()
}
