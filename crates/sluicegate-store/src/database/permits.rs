//! Permits in a checkpoint: which are finished, and which slots services hold.

use rusqlite::Connection;
use sluicegate_core::time::{Nanos, Timestamp};

use super::checkpoint::each_row;
use super::column::{instant, nanos, whole, wide};
use super::names::{meta, set_meta};
use super::{Database, DatabaseError};

/// A permit that was finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FinishedRow {
    /// Its decision.
    pub decision: u128,
    /// What was charged at first.
    pub reserved: u64,
    /// What the request cost in the end.
    pub settled: u64,
    /// When it was finished.
    pub at: Timestamp,
}

/// A slot that a service holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldRow {
    /// The decision that took it.
    pub decision: u128,
    /// Whose slot it is.
    pub home: u128,
    /// The serial of the account; 0: a client without a key.
    pub account: u64,
    /// The number of the key among those of the account; 0: none.
    pub key_number: u32,
    /// The number of the name of the route; 0: none.
    pub route: u32,
    /// The number of the name of the tier; 0: none.
    pub tier: u32,
    /// Until when it is held.
    pub until: Timestamp,
}

/// What became of permits since the last checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PermitRows {
    /// Those that were finished: their slots are free.
    pub finished: Vec<FinishedRow>,
    /// Those whose slots are held, or for longer.
    pub held: Vec<HeldRow>,
    /// Finished permits that were forgotten early, to keep the bound.
    pub forgotten: Vec<u128>,
    /// The millisecond of the latest decision whose finished permit was ever forgotten early; 0: of none.
    pub watermark_ms: u64,
}

/// How long it is remembered that a permit is finished: as long as one can live, and then be finished late.
pub const FINISHED_REMEMBERED: Nanos = Nanos::from_secs(48 * 60 * 60);

const WATERMARK: &str = "permits.watermark";

impl Database {
    /// Hands over the permits of the last checkpoint. Returns its [`PermitRows::watermark_ms`].
    pub fn load_permits(
        &self,
        mut each_finished: impl FnMut(FinishedRow),
        mut each_held: impl FnMut(HeldRow),
    ) -> Result<u64, DatabaseError> {
        let connection = self.connect()?;
        each_row(&connection, "SELECT decision, reserved, settled, at FROM finished_permits", |row| {
            each_finished(FinishedRow {
                decision: wide(row, 0)?,
                reserved: whole(row, 1)?,
                settled: whole(row, 2)?,
                at: instant(row, 3)?,
            });
            Ok(())
        })?;
        let sql = "SELECT decision, home, account, key_number, route, tier, until FROM held_permits";
        each_row(&connection, sql, |row| {
            each_held(HeldRow {
                decision: wide(row, 0)?,
                home: wide(row, 1)?,
                account: whole(row, 2)?,
                key_number: row.get(3)?,
                route: row.get(4)?,
                tier: row.get(5)?,
                until: instant(row, 6)?,
            });
            Ok(())
        })?;
        let watermark = meta(&connection, WATERMARK)?.and_then(|bytes| bytes.try_into().ok());
        Ok(watermark.map_or(0, u64::from_be_bytes))
    }
}

pub(super) fn save(connection: &Connection, rows: &PermitRows, now: Timestamp) -> Result<(), DatabaseError> {
    // The first answer stays.
    let mut finished =
        connection.prepare("INSERT OR IGNORE INTO finished_permits VALUES (?1, ?2, ?3, ?4)")?;
    let mut freed = connection.prepare("DELETE FROM held_permits WHERE decision = ?1")?;
    for row in &rows.finished {
        let decision = row.decision.to_be_bytes();
        finished.execute((decision, row.reserved.cast_signed(), row.settled.cast_signed(), nanos(row.at)))?;
        freed.execute([decision])?;
    }
    // Afterwards: a repeat may hold the slot of a request that was finished.
    let mut held =
        connection.prepare("INSERT OR REPLACE INTO held_permits VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for row in &rows.held {
        let (decision, home) = (row.decision.to_be_bytes(), row.home.to_be_bytes());
        let account = row.account.cast_signed();
        held.execute((decision, home, account, row.key_number, row.route, row.tier, nanos(row.until)))?;
    }
    connection.execute("DELETE FROM held_permits WHERE until <= ?1", [nanos(now)])?;
    if let Some(oldest) = now.as_nanos().checked_sub(FINISHED_REMEMBERED.0) {
        connection.execute("DELETE FROM finished_permits WHERE at <= ?1", [oldest.cast_signed()])?;
    }
    let mut forgotten = connection.prepare("DELETE FROM finished_permits WHERE decision = ?1")?;
    for decision in &rows.forgotten {
        forgotten.execute([decision.to_be_bytes()])?;
    }
    if rows.watermark_ms > 0 {
        set_meta(connection, WATERMARK, &rows.watermark_ms.to_be_bytes())?;
    }
    Ok(())
}
