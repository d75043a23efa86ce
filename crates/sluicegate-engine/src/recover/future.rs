//! Meters in the future: what a build without a plausible clock left behind.
//!
//! A wall clock that leapt ahead put meters into a period that has not begun. They would stay in it until it is over. At
//! the start they are forgotten, and counted again from the records up to now.

use std::collections::BTreeSet;

use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Position, Record, Spool};

use super::{RecoverError, Replay};
use crate::clock::STEP_MAX;

/// The latest instant that is plausible now. Nothing where the clock may be wrong: it was confirmed to be later before,
/// or even the first record is later.
pub(super) fn latest_plausible(
    spool: &Spool,
    now: Timestamp,
    confirmed: Option<Timestamp>,
) -> Result<Option<Timestamp>, RecoverError> {
    let latest = now.plus(STEP_MAX);
    if confirmed.is_some_and(|confirmed| confirmed > latest) {
        return Ok(None);
    }
    let (first, mut begins) = (spool.first(), None);
    if spool.tail() > first {
        let read = spool.read_until(first, Position(first.0 + 1), |_, record| begins = Some(record.at));
        read.map_err(RecoverError::Spool)?;
    }
    Ok(begins.is_none_or(|begins| begins <= latest).then_some(latest))
}

/// Counts the homes with meters in the future again, and says which these were.
pub(super) fn rebuild(
    replay: &mut Replay<'_>,
    spool: &Spool,
    latest: Timestamp,
) -> Result<BTreeSet<HomeId>, RecoverError> {
    let homes: BTreeSet<HomeId> = replay.checkpoint.meters.forget_ahead_of(latest).into_iter().collect();
    if homes.is_empty() {
        return Ok(homes);
    }
    let is_past = |record: &Record| record.at <= latest && record.charged_at <= latest;
    let read = spool.read(spool.first(), |_, record| {
        if homes.contains(&record.home) && is_past(record) {
            replay.charge(record);
        }
    });
    read.map_err(RecoverError::Spool)?;
    tracing::warn!(
        homes = homes.len(),
        "meters were in a period that has not begun, and were counted again from the ledger"
    );
    Ok(homes)
}
