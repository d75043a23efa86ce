//! Checkpoints: what the meters say is saved now and then, so that a start reads only the end of the spool.
//!
//! Which meters changed since the last one, the spool itself tells: every charge left a record. Only refusals that are
//! held against a caller leave none, and are noted apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Idempotency, Kind, Position, ReadError, Record};
use sluicegate_store::database::{
    Checkpoint, DatabaseError, FinishedRow, HeldRow, IdempotencyRow, MeterRow, PermitRows,
};

use crate::engine::Engine;
use crate::recover::held_row;

/// What the last checkpoint holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saved {
    /// Every record before it is counted in what was saved.
    pub(crate) position: Position,
    /// How many limits of the book were saved.
    pub(crate) limits: u32,
}

/// Why no checkpoint was made. The last one stays, and the spool behind it.
#[derive(Debug)]
pub enum SaveError {
    /// The spool could not be flushed.
    Flush(std::io::Error),
    /// The spool could not be read.
    Read(ReadError),
    /// The database did not take it.
    Database(DatabaseError),
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flush(error) => write!(f, "the spool could not be flushed: {error}"),
            Self::Read(error) => write!(f, "the spool could not be read: {error}"),
            Self::Database(error) => write!(f, "the checkpoint could not be stored: {error}"),
        }
    }
}

impl std::error::Error for SaveError {}

/// What is to be remembered of a request with a name. One whose charge was given back is forgotten, as a row that has
/// expired.
fn name_row(record: &Record, name: Idempotency) -> IdempotencyRow {
    IdempotencyRow {
        home: record.home.0,
        key: name.key,
        request: name.request,
        decision: record.decision,
        at: if record.kind == Kind::Refund { Timestamp::EPOCH } else { record.at },
        cost: record.cost,
    }
}

fn evicted_row(home: HomeId, key: u64) -> IdempotencyRow {
    IdempotencyRow { home: home.0, key, request: 0, decision: 0, at: Timestamp::EPOCH, cost: 0 }
}

/// What records say of permits that services hold.
#[derive(Default)]
struct PermitChanges {
    finished: BTreeMap<u128, FinishedRow>,
    held: BTreeMap<u128, HeldRow>,
}

impl PermitChanges {
    fn count(&mut self, record: &Record) {
        if let Some((reserved, settled)) = record.finished_locally() {
            self.held.remove(&record.decision);
            let row = FinishedRow { decision: record.decision, reserved, settled, at: record.at };
            self.finished.entry(record.decision).or_insert(row);
        } else if let Some(row) = held_row(record) {
            self.held.insert(record.decision, row);
        }
    }

    fn rows(self, forgotten: Vec<u128>, watermark_ms: u64) -> PermitRows {
        let (finished, held) = (self.finished.into_values().collect(), self.held.into_values().collect());
        PermitRows { finished, held, forgotten, watermark_ms }
    }
}

impl Engine {
    /// Saves what the meters say. Blocking; says how many records the checkpoint covers that the last did not.
    pub fn save(&self, now: Timestamp) -> Result<u64, SaveError> {
        let mut saved = self.saved.lock();
        let touched = [self.watch.touched.take(), self.watch.touched_asked.take()];
        let done = self.save_since(&mut saved, touched.iter().flatten().copied().collect(), now);
        if done.is_err() {
            let [touched, asked] = touched;
            self.watch.touched.put_back(touched);
            self.watch.touched_asked.put_back(asked);
        }
        let memory = self.snapshot.load().blocks_memory();
        self.watch.blocks.save(memory, now).map_err(SaveError::Database)?;
        done
    }

    /// From where on records are needed: by the next start, and by the store that was not told of them yet.
    pub(crate) fn needs_records_from(&self) -> Position {
        let saved = self.saved.lock().position;
        match self.shared {
            None => saved,
            Some(_) => saved.min(self.journal_begins()),
        }
    }

    fn save_since(
        &self,
        saved: &mut Saved,
        mut changed: BTreeSet<HomeId>,
        now: Timestamp,
    ) -> Result<u64, SaveError> {
        self.spool.flush().map_err(SaveError::Flush)?;
        // Not the tail: a record before it may still be on its way into its slot.
        let until = self.spool.durable();
        let (mut names, mut permits) = (BTreeMap::new(), PermitChanges::default());
        let report = self.spool.read(saved.position, |position, record| {
            if position >= until {
                return;
            }
            changed.insert(record.home);
            if let Some(name) = record.name() {
                names.insert((record.home, name.key), name_row(record, name));
            }
            permits.count(record);
        });
        report.map_err(SaveError::Read)?;
        let covered = until.0.saturating_sub(saved.position.0);
        if covered == 0 && changed.is_empty() {
            return Ok(0);
        }
        // Meters first: a limit that is entered meanwhile is not in any image yet.
        // Meters that are shared are the store's to keep.
        let meters = match self.shared {
            None => changed.into_iter().map(|home| self.meter_row(home, now)).collect(),
            Some(_) => Vec::new(),
        };
        let limits = self.meters.book_images_from(saved.limits);
        let entered = u32::try_from(limits.len()).unwrap_or(u32::MAX);
        // The images may count records that came after the flush: a position that is remembered must be on disk.
        self.spool.flush().map_err(SaveError::Flush)?;
        // What was dropped to keep the bounds is dropped on disk, too: as rows that have expired. A name that was
        // charged again since keeps its row.
        for (home, key) in self.idempotency.take_evicted() {
            if self.idempotency.hold(home, key).find(home, key, now).is_none() {
                names.insert((home, key), evicted_row(home, key));
            }
        }
        let idempotency = names.into_values().collect();
        let permits = permits.rows(self.finished.take_forgotten(), self.finished.watermark_ms());
        let checkpoint = Checkpoint { limits, meters, idempotency, permits, position: until.0, now };
        self.database.save_checkpoint(checkpoint).wait().map_err(SaveError::Database)?;
        *saved = Saved { position: until, limits: saved.limits.saturating_add(entered) };
        Ok(covered)
    }

    /// The meters of a home, with the position up to which they count: both of one moment.
    fn meter_row(&self, home: HomeId, now: Timestamp) -> MeterRow {
        let mut image = Vec::new();
        match self.meters.image_of(home, now, &mut image, || self.spool.tail()) {
            Some(imaged) => {
                MeterRow { home: home.0, position: imaged.held.0, expires_at: imaged.until, image }
            }
            // It was forgotten: all of it was given back, or has no say any more. What was saved of it goes too, as
            // a row that has expired.
            None => MeterRow { home: home.0, position: 0, expires_at: Timestamp::EPOCH, image },
        }
    }
}
