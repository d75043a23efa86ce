//! What is signed of the roll-ups: the rows of every range of hours that was closed, and which rows may be gone.
//!
//! Hours that a wrong clock closed are opened again, which is signed, too: what was signed of them counts no more.
//!
//! The line of a closing also says where in the spool it came and when. So the book can be made again from the records:
//! every row, and with it the id of every event, comes out as it was.

use std::collections::BTreeMap;
use std::path::Path;

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
    /// Records before this position were rolled up without the quarter of their charge. Nothing in lines of earlier
    /// versions, which rolled up all of theirs so.
    pub recorded_before: Option<Position>,
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

    /// Says that hours from this one on are open again, before they are.
    pub fn allow_reopening(&mut self, from: Hour, now: Timestamp) -> Result<(), ChainError> {
        if from < self.rolled {
            let line = Line::Reopened { from, at: now.as_nanos() };
            self.head = log::append(&self.dir, self.head, &line, &self.key)?;
            self.rolled = signed_in(&self.dir)?.until();
        }
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
        Ok(signed_in(&self.dir)?.into_vec())
    }
}

fn signed_in(dir: &Path) -> Result<SignedRollups, ChainError> {
    let path = log::path(dir);
    let text = std::fs::read_to_string(&path).map_err(ChainError::at(&path))?;
    let mut signed = SignedRollups::default();
    for line in text.lines().filter_map(|line| Found::parse(line)?.line()) {
        match line {
            Line::Rollup(rollup) => signed.add(rollup),
            Line::Reopened { from, .. } => signed.reopen(from),
            _ => {}
        }
    }
    Ok(signed)
}

/// What counts of all that was signed of roll-ups, by the first hour of each range.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct SignedRollups(BTreeMap<Hour, SignedRollup>);

impl SignedRollups {
    /// A range that was signed before is replaced.
    pub(super) fn add(&mut self, rollup: SignedRollup) {
        self.0.insert(rollup.from, rollup);
    }

    /// Hours from this one on are open again.
    pub(super) fn reopen(&mut self, from: Hour) {
        self.0.retain(|_, rollup| rollup.until <= from);
    }

    /// Rows of hours before it are signed.
    pub(super) fn until(&self) -> Hour {
        self.0.values().map(|rollup| rollup.until).max().unwrap_or(Hour::FIRST)
    }

    /// All of them, in order.
    pub(super) fn into_vec(self) -> Vec<SignedRollup> {
        self.0.into_values().collect()
    }
}
