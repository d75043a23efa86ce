//! The spool: every admitted request leaves one record here before it is answered.
//!
//! Records lie in segments, files of fixed slots that are mapped while they are written to. Appending is a few writes
//! to memory that outlives the process: the kernel has them when it is killed, the disk has them a few milliseconds
//! later. A background thread makes segments ahead of time and flushes.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::record::{Record, layout};
use keeper::Keeper;
use line::Credit;
use mapping::Mapping;
use recovery::Recovered;
use segment::{Disk, Extent, RealDisk};
use works::Works;

mod catalog;
mod error;
mod keeper;
mod line;
mod mapping;
mod reader;
mod recovery;
pub(crate) mod segment;
#[cfg(test)]
mod tests;
mod warmth;
mod works;

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

/// The positions that a segment has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentExtent {
    /// The first of them.
    pub first: Position,
    /// How many.
    pub records: u32,
}

impl SegmentExtent {
    /// The position behind the last.
    pub fn end(self) -> Position {
        Position(self.first.0.saturating_add(u64::from(self.records)))
    }
}

/// The append-only record of every admitted request.
pub struct Spool {
    // Dropped before the lock: nobody works on the spool when others may open it.
    keeper: Keeper,
    works: Arc<Works>,
    /// Keeps other processes out.
    _lock: File,
}

/// Room for one record. Dropping it gives the room back.
#[must_use]
#[derive(Debug)]
pub struct Reservation<'s> {
    credit: Credit<'s>,
}

impl Spool {
    /// Opens the spool in `dir`, which is made if it is not there. A full disk does not stop it from being opened;
    /// [`Spool::health`] tells.
    pub fn open(dir: &Path, settings: SpoolSettings) -> Result<Self, OpenError> {
        Self::open_on(dir, settings, Box::new(RealDisk))
    }

    fn open_on(dir: &Path, settings: SpoolSettings, disk: Box<dyn Disk>) -> Result<Self, OpenError> {
        let SpoolSettings { segment_records: records, flush_every } = settings;
        if records == 0 {
            return Err(OpenError::Settings { problem: "a segment must have room for a record" });
        }
        if flush_every.is_zero() {
            return Err(OpenError::Settings { problem: "the time between two flushes must not be zero" });
        }
        let failed = |source| OpenError::Io { path: dir.to_owned(), source };
        let found = recovery::recover(dir, records)?;
        let works = Works::new(dir, &found, records, disk, |extent| map(dir, extent))?;
        match works.prepare() {
            Err(error) if !is_no_space(&error) => return Err(failed(error)),
            _ => {}
        }
        let works = Arc::new(works);
        let keeper = Keeper::start(Arc::clone(&works), flush_every).map_err(failed)?;
        let Recovered { lock, .. } = found;
        Ok(Self { keeper, works, _lock: lock })
    }

    /// Room for one record, without a system call.
    #[inline]
    pub fn reserve(&self) -> Result<Reservation<'_>, Full> {
        match self.works.line.take() {
            Some(credit) => Ok(Reservation { credit }),
            None => Err(self.refuse()),
        }
    }

    #[cold]
    fn refuse(&self) -> Full {
        if self.works.is_well() {
            self.keeper.wake();
        }
        Full
    }

    /// The first record that is not forgotten.
    pub fn first(&self) -> Position {
        Position(self.works.catalog.lock().first())
    }

    /// Where the next record will stand.
    pub fn tail(&self) -> Position {
        Position(self.works.line.tail())
    }

    /// Reads every record from `from` up to where the tail is now. If somebody is in the middle of an append and does
    /// not get on with it, reading ends there, and the report says where to go on.
    pub fn read(&self, from: Position, each: impl FnMut(Position, &Record)) -> Result<ReadReport, ReadError> {
        self.read_until(from, Position(u64::MAX), each)
    }

    /// As [`Spool::read`], but nothing from `until` on.
    pub fn read_until(
        &self,
        from: Position,
        until: Position,
        each: impl FnMut(Position, &Record),
    ) -> Result<ReadReport, ReadError> {
        reader::read(&self.works, from, until, each)
    }

    /// Where its segments lie.
    pub fn dir(&self) -> &Path {
        &self.works.dir
    }

    /// The segments that hold anything from `from` on, in order.
    pub fn segments_from(&self, from: Position) -> Vec<SegmentExtent> {
        let segments = self.works.catalog.lock().overlapping(from.0..self.works.line.tail());
        let extent = |segment: catalog::Segment| SegmentExtent {
            first: Position(segment.extent.first),
            records: segment.extent.records,
        };
        segments.into_iter().map(extent).collect()
    }

    /// Everything before it is on disk.
    pub fn durable(&self) -> Position {
        Position(self.works.progress.borrow().durable)
    }

    /// Returns when the record at `position` is on disk, or when the disk does not take it. One flush serves all who
    /// wait.
    pub async fn wait_durable(&self, position: Position) -> Result<(), FlushFailed> {
        let mut progress = self.works.progress.subscribe();
        if progress.borrow_and_update().durable > position.0 {
            return Ok(());
        }
        self.keeper.wake();
        let told = |progress: &works::Progress| progress.durable > position.0 || progress.failure.is_some();
        let failure = match progress.wait_for(told).await {
            Ok(progress) if progress.durable > position.0 => return Ok(()),
            Ok(progress) => progress.failure.clone(),
            // Whoever sends is in `self`, so this does not come to pass.
            Err(_) => None,
        };
        Err(FlushFailed { reason: failure.as_deref().unwrap_or("the spool is closed").to_owned() })
    }

    /// How it is doing.
    pub fn health(&self) -> Health {
        if let Some(reason) = &self.works.progress.borrow().failure {
            return Health::Failing { reason: reason.as_ref().to_owned() };
        }
        match self.works.full_reason() {
            Some(reason) => Health::Full { left: self.works.line.credits(), reason },
            None => Health::Good,
        }
    }

    /// Removes the segments that lie wholly before `position` and are on disk, and says how many. The last one stays.
    pub fn forget_before(&self, position: Position) -> io::Result<usize> {
        let mut forgotten = 0;
        loop {
            let Some(segment) = self.works.catalog.lock().forget_first_before(position.0) else { break };
            // The first one first, so that a crash leaves no gap.
            match std::fs::remove_file(segment.extent.path(&self.works.dir)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.works.catalog.lock().insert(segment);
                    return Err(error);
                }
                _ => forgotten += 1,
            }
        }
        if forgotten > 0 {
            segment::sync_directory(&self.works.dir)?;
        }
        Ok(forgotten)
    }

    /// Everything appended so far is on disk when this returns. An append that is begun and not finished is waited
    /// for, a second at most.
    pub fn flush(&self) -> io::Result<()> {
        self.works.flush_all()
    }

    /// Flushes and stops.
    pub fn close(self) -> io::Result<()> {
        self.flush()
    }
}

/// Flushes, for what it is worth: [`Spool::close`] also says whether it worked.
impl Drop for Spool {
    fn drop(&mut self) {
        let _ = self.works.flush_complete();
    }
}

impl Reservation<'_> {
    /// Appends the record. Never fails, makes no system call, and may be called while a spin lock is held.
    #[inline]
    pub fn append(self, record: &Record) -> Position {
        let bytes = layout::encode(record);
        Position(self.credit.claim().write(bytes))
    }
}

/// Maps a segment that was found.
fn map(dir: &Path, extent: Extent) -> Result<Mapping, OpenError> {
    let path = extent.path(dir);
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let mapping = file.and_then(|file| Mapping::new(&file, extent.records));
    mapping.map_err(|source| OpenError::Io { path, source })
}

/// Whether space is missing, which may come back.
fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
