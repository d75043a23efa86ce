//! One SQLite file: the directory, names as numbers, and snapshots of the meters.
//!
//! One thread writes, one reads for people. Writes that wait while another is being made durable share the next
//! transaction, each in a savepoint of its own; their answers are sent after the commit.

mod checkpoint;
mod error;
mod pending;

use std::path::Path;

pub use checkpoint::{Checkpoint, IdempotencyRow, MeterRow};
pub use error::DatabaseError;
pub use pending::Pending;

/// The database, open. Clones are the same one. Closed when the last is dropped, after what was asked of it is done.
#[derive(Clone, Debug)]
pub struct Database {}

impl Database {
    /// Opens the file, or makes it. Its folder must be there.
    pub fn open(_path: &Path) -> Result<Self, DatabaseError> {
        Ok(Self {})
    }

    /// The number that stands for this name in records, for ever; never 0. Given again, it is the same.
    pub fn intern(&self, _name: &str) -> Pending<u32, DatabaseError> {
        Pending::ready(Err(DatabaseError::Closed))
    }

    /// Every name that has a number, in the order of the numbers.
    pub fn names(&self) -> Result<Vec<(u32, String)>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The value kept under this key.
    pub fn meta(&self, _key: &str) -> Result<Option<Vec<u8>>, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// Keeps a value under a key.
    pub fn set_meta(&self, _key: &str, _value: Vec<u8>) -> Pending<(), DatabaseError> {
        Pending::ready(Err(DatabaseError::Closed))
    }

    /// Saves a checkpoint: all of it or nothing.
    pub fn save_checkpoint(&self, _checkpoint: Checkpoint) -> Pending<(), DatabaseError> {
        Pending::ready(Err(DatabaseError::Closed))
    }

    /// Hands over everything that was saved, and says up to which position of the ledger it reaches; 0 if nothing was.
    pub fn load_checkpoint(
        &self,
        _each_limit: impl FnMut(u32, &[u8]),
        _each_meter: impl FnMut(MeterRow<&[u8]>),
        _each_idempotency: impl FnMut(IdempotencyRow),
    ) -> Result<u64, DatabaseError> {
        Err(DatabaseError::Closed)
    }

    /// The most pages of 4 KiB that the file may have. What does not fit is refused as if the disk were full.
    pub fn limit_pages(&self, _pages: u32) -> Pending<(), DatabaseError> {
        Pending::ready(Err(DatabaseError::Closed))
    }

    /// How many transactions were committed since it was opened.
    pub fn commits(&self) -> u64 {
        0
    }
}
