//! Checkpoints: what the meters said at a position of the ledger, so that a start need not read all of it.

use rusqlite::{Connection, Row};
use sluicegate_core::time::{Nanos, Timestamp};

use super::column::{instant, nanos, whole, wide};
use super::job::Company;
use super::names::{meta, set_meta};
use super::permits::{self, PermitRows};
use super::{Database, DatabaseError, Pending};

/// The meters of one home, as bytes. `B` is who has the bytes: owned to save them, lent when they are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterRow<B = Vec<u8>> {
    /// Whose they are.
    pub home: u128,
    /// Up to which record of the ledger they count.
    pub position: u64,
    /// From when on they say nothing any more.
    pub expires_at: Timestamp,
    /// What they say.
    pub image: B,
}

/// A request that was charged under an idempotency key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdempotencyRow {
    /// Whose key it is.
    pub home: u128,
    /// A hash of the key.
    pub key: u64,
    /// A hash of the request.
    pub request: u64,
    /// The decision that a repeat gets.
    pub decision: u128,
    /// When it was charged.
    pub at: Timestamp,
    /// What was charged.
    pub cost: u64,
}

/// What changed since the last checkpoint, saved together or not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checkpoint {
    /// Limits by their numbers in the book.
    pub limits: Vec<(u32, Vec<u8>)>,
    /// Meters by home.
    pub meters: Vec<MeterRow>,
    /// Charges by idempotency key.
    pub idempotency: Vec<IdempotencyRow>,
    /// What became of permits that services hold.
    pub permits: PermitRows,
    /// Up to which record of the ledger all of it counts.
    pub position: u64,
    /// When. What expired before is forgotten.
    pub now: Timestamp,
}

/// How long a repeat under an idempotency key is not charged again.
const IDEMPOTENCY: Nanos = Nanos::from_secs(24 * 60 * 60);

const POSITION: &str = "checkpoint.position";

impl Database {
    /// Saves a checkpoint: all of it or nothing. Other writes wait meanwhile.
    pub fn save_checkpoint(&self, mut checkpoint: Checkpoint) -> Pending<()> {
        // In the order of the table: every page is written once.
        checkpoint.meters.sort_unstable_by_key(|row| row.home);
        checkpoint.idempotency.sort_unstable_by_key(|row| (row.home, row.key.cast_signed()));
        self.ask(Company::Alone, move |connection| save(connection, &checkpoint), |()| {})
    }

    /// Hands over everything that was saved, and says up to which position of the ledger it reaches; 0 if nothing was.
    pub fn load_checkpoint(
        &self,
        mut each_limit: impl FnMut(u32, &[u8]),
        mut each_meter: impl FnMut(MeterRow<&[u8]>),
        mut each_idempotency: impl FnMut(IdempotencyRow),
    ) -> Result<u64, DatabaseError> {
        let mut connection = self.connect()?;
        // One transaction: all of it is of one checkpoint.
        let transaction = connection.transaction()?;
        each_row(&transaction, "SELECT number, image FROM limits ORDER BY number", |row| {
            each_limit(row.get(0)?, row.get_ref(1)?.as_blob()?);
            Ok(())
        })?;
        each_row(&transaction, "SELECT home, position, expires_at, image FROM meters", |row| {
            each_meter(MeterRow {
                home: wide(row, 0)?,
                position: whole(row, 1)?,
                expires_at: instant(row, 2)?,
                image: row.get_ref(3)?.as_blob()?,
            });
            Ok(())
        })?;
        let sql = "SELECT home, key, request, decision, at, cost FROM idempotency";
        each_row(&transaction, sql, |row| {
            each_idempotency(IdempotencyRow {
                home: wide(row, 0)?,
                key: whole(row, 1)?,
                request: whole(row, 2)?,
                decision: wide(row, 3)?,
                at: instant(row, 4)?,
                cost: whole(row, 5)?,
            });
            Ok(())
        })?;
        let Some(position) = meta(&transaction, POSITION)? else { return Ok(0) };
        let position = position.try_into().map_err(|_| DatabaseError::Nonsense(POSITION.to_owned()))?;
        Ok(u64::from_be_bytes(position))
    }
}

fn save(connection: &Connection, checkpoint: &Checkpoint) -> Result<(), DatabaseError> {
    let mut limits = connection.prepare("INSERT OR REPLACE INTO limits VALUES (?1, ?2)")?;
    for (number, image) in &checkpoint.limits {
        limits.execute((number, image))?;
    }
    let mut meters = connection.prepare("INSERT OR REPLACE INTO meters VALUES (?1, ?2, ?3, ?4)")?;
    for row in &checkpoint.meters {
        let (position, expires_at) = (row.position.cast_signed(), nanos(row.expires_at));
        meters.execute((row.home.to_be_bytes(), position, expires_at, &row.image))?;
    }
    let mut repeats =
        connection.prepare("INSERT OR REPLACE INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for row in &checkpoint.idempotency {
        let (key, request, cost) = (row.key.cast_signed(), row.request.cast_signed(), row.cost.cast_signed());
        let (home, decision) = (row.home.to_be_bytes(), row.decision.to_be_bytes());
        repeats.execute((home, key, request, decision, nanos(row.at), cost))?;
    }
    connection.execute("DELETE FROM meters WHERE expires_at <= ?1", [nanos(checkpoint.now)])?;
    if let Some(oldest) = checkpoint.now.as_nanos().checked_sub(IDEMPOTENCY.0) {
        connection.execute("DELETE FROM idempotency WHERE at <= ?1", [oldest.cast_signed()])?;
    }
    permits::save(connection, &checkpoint.permits, checkpoint.now)?;
    set_meta(connection, POSITION, &checkpoint.position.to_be_bytes())
}

pub(super) fn each_row(
    connection: &Connection,
    sql: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<(), DatabaseError>,
) -> Result<(), DatabaseError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(row)?;
    }
    Ok(())
}
