//! Blocks of a node that is alone, so that they outlive its process.

use std::num::NonZeroU32;

use rusqlite::{Connection, Row, Statement};
use sluicegate_core::block::{Block, Caller, Origin, Reason};
use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_core::time::{Nanos, Timestamp};

use super::column::{instant, nanos, wide};
use super::job::Company;
use super::{Database, DatabaseError, Pending};

/// A block that is in force, or was lately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptBlock {
    /// The block.
    pub block: Block,
    /// How long the last block lasted that the caller itself brought about.
    pub earned: Option<Nanos>,
}

const PUT: &str = "INSERT OR REPLACE INTO blocks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const LIFT: &str = "DELETE FROM blocks WHERE home = ?1 AND sharer = ?2";

const AUTOMATIC: &str = "automatic";
const MANUAL: &str = "manual";

impl Database {
    /// The blocks that end after this instant.
    pub fn load_blocks(&self, ended_after: Timestamp) -> Result<Vec<KeptBlock>, DatabaseError> {
        let connection = self.connect()?;
        let sql = "SELECT home, sharer, since, until, origin, reason, earned FROM blocks WHERE until > ?1";
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([nanos(ended_after)], kept)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Keeps a block. `seen` is called once it is on disk, in the order of writes.
    pub fn put_block(&self, kept: KeptBlock, seen: impl FnOnce() + Send + 'static) -> Pending<()> {
        self.write(move |connection| put(&mut connection.prepare(PUT)?, &kept), move |()| seen())
    }

    /// Forgets the block of a caller. `seen` is called once that is on disk, in the order of writes.
    pub fn lift_block(&self, caller: Caller, seen: impl FnOnce() + Send + 'static) -> Pending<()> {
        self.write(move |connection| lift(&mut connection.prepare(LIFT)?, caller), move |()| seen())
    }

    /// Keeps the blocks that `take` says when it comes to it, and forgets those of callers that have none.
    pub fn save_blocks(
        &self,
        take: impl FnOnce() -> Vec<(Caller, Option<KeptBlock>)> + Send + 'static,
        seen: impl FnOnce() + Send + 'static,
    ) -> Pending<()> {
        let save = move |connection: &Connection| -> Result<(), DatabaseError> {
            let (mut put_one, mut lift_one) = (connection.prepare(PUT)?, connection.prepare(LIFT)?);
            for (caller, block) in take() {
                match block {
                    Some(kept) => put(&mut put_one, &kept)?,
                    None => lift(&mut lift_one, caller)?,
                }
            }
            Ok(())
        };
        self.ask(Company::Alone, save, move |()| seen())
    }

    /// Forgets the blocks that ended by this instant, and, of more than `most`, those that end first.
    pub fn forget_blocks(&self, ended_by: Timestamp, most: u32) -> Pending<()> {
        let forget = move |connection: &Connection| -> Result<(), DatabaseError> {
            connection.execute("DELETE FROM blocks WHERE until <= ?1", [nanos(ended_by)])?;
            let surplus = "SELECT until FROM blocks ORDER BY until DESC LIMIT 1 OFFSET ?1";
            connection.execute(&format!("DELETE FROM blocks WHERE until <= ({surplus})"), [most])?;
            Ok(())
        };
        self.write(forget, |()| {})
    }
}

fn put(statement: &mut Statement<'_>, kept: &KeptBlock) -> Result<(), DatabaseError> {
    let Block { caller, since, until, origin, reason } = &kept.block;
    let origin = match origin {
        Origin::Automatic => AUTOMATIC,
        Origin::Manual => MANUAL,
    };
    let (since, until) = (nanos(*since), nanos(*until));
    let earned = kept.earned.map(|length| length.0.cast_signed());
    let reason = reason.as_ref().map(Reason::as_str);
    statement.execute((
        caller.home.0.to_be_bytes(),
        caller.sharer.get(),
        since,
        until,
        origin,
        reason,
        earned,
    ))?;
    Ok(())
}

fn lift(statement: &mut Statement<'_>, caller: Caller) -> Result<(), DatabaseError> {
    statement.execute((caller.home.0.to_be_bytes(), caller.sharer.get()))?;
    Ok(())
}

fn kept(row: &Row<'_>) -> rusqlite::Result<KeptBlock> {
    let sharer = NonZeroU32::new(row.get(1)?).map_or(Sharer::ALL, Sharer::key);
    let origin: String = row.get(4)?;
    let reason: Option<String> = row.get(5)?;
    let earned: Option<i64> = row.get(6)?;
    let block = Block {
        caller: Caller { home: HomeId(wide(row, 0)?), sharer },
        since: instant(row, 2)?,
        until: instant(row, 3)?,
        origin: if origin == MANUAL { Origin::Manual } else { Origin::Automatic },
        reason: reason.and_then(|text| Reason::new(&text).ok()),
    };
    Ok(KeptBlock { block, earned: earned.map(|length| Nanos(length.cast_unsigned())) })
}
