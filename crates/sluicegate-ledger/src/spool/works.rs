//! What keeps a spool going: the next segment is made before it is needed, and what was appended is sent to disk.
//!
//! A position is durable only when every record before it is written and on disk. Somebody who has claimed a slot and
//! has not written it yet holds that back, however long it takes him.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::catalog::{Catalog, Segment};
use super::error::OpenError;
use super::line::Line;
use super::mapping::{LIVE_MAX, Mapping};
use super::recovery::Recovered;
use super::segment::{Disk, Extent};

/// How long to wait for somebody who is writing a record just now before looking again, at most.
const STALL_LOOK_AGAIN: Duration = Duration::from_millis(1);
/// How often to look again before giving up.
const STALL_LOOKS_MAX: u32 = 1_000;

/// How far the disk has come.
#[derive(Clone, Default)]
pub(crate) struct Progress {
    /// Everything before it is on disk.
    pub(crate) durable: u64,
    /// Why not more, if the last flush failed.
    pub(crate) failure: Option<Arc<str>>,
}

/// How far flushing has come; locked while the disk works.
struct Flushed {
    /// Every slot before it is written.
    complete: u64,
    /// Everything before it is on disk.
    durable: u64,
    last: LastFlush,
}

#[derive(Clone, Copy)]
enum LastFlush {
    Worked,
    Failed,
}

/// What the background thread and everybody else share.
pub(crate) struct Works {
    pub(crate) dir: PathBuf,
    pub(crate) line: Line,
    pub(crate) catalog: Mutex<Catalog>,
    pub(crate) progress: watch::Sender<Progress>,
    /// The tail when the spool was opened: holes before it stay holes, slots behind it are being written.
    pub(crate) opened_at: u64,
    flushed: Mutex<Flushed>,
    /// Why the next segment could not be made, if it could not.
    full: Mutex<Option<String>>,
    /// Whether there is such a reason, for those who take no lock.
    is_full: AtomicBool,
    disk: Box<dyn Disk>,
    records: u32,
}

impl Works {
    /// A spool as it was found, with the segments from the tail on mapped by `map`.
    pub(crate) fn new(
        dir: &Path,
        found: &Recovered,
        records: u32,
        disk: Box<dyn Disk>,
        map: impl Fn(Extent) -> Result<Mapping, OpenError>,
    ) -> Result<Self, OpenError> {
        let tail = found.tail;
        let mut catalog = Catalog::new(tail);
        let mut line = None;
        for &extent in &found.segments {
            let mut segment = Segment { extent, mapping: None };
            if segment.end() > tail {
                let mapping = Arc::new(map(extent)?);
                let line = line.get_or_insert_with(|| Line::new(tail, extent.first, segment.end(), records));
                line.grant(extent.first, segment.end() - tail.max(extent.first), &mapping);
                segment.mapping = Some(mapping);
            }
            catalog.insert(segment);
        }
        Ok(Self {
            dir: dir.to_owned(),
            line: line.unwrap_or_else(|| Line::new(tail, tail, tail, records)),
            catalog: Mutex::new(catalog),
            progress: watch::Sender::new(Progress { durable: tail, failure: None }),
            opened_at: tail,
            flushed: Mutex::new(Flushed { complete: tail, durable: tail, last: LastFlush::Worked }),
            full: Mutex::new(None),
            is_full: AtomicBool::new(false),
            disk,
            records,
        })
    }

    /// Makes segments until there is room for as many records as one has, or as many are mapped as may be. Only one
    /// thread may do this.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        let prepared = self.prepare_segments();
        *self.full.lock() = prepared.as_ref().err().map(ToString::to_string);
        self.is_full.store(prepared.is_err(), Ordering::Relaxed);
        prepared
    }

    fn prepare_segments(&self) -> io::Result<()> {
        loop {
            let (first, live) = {
                let catalog = self.catalog.lock();
                (catalog.end(), catalog.live())
            };
            if self.line.credits() >= u64::from(self.records) || live >= LIVE_MAX {
                return Ok(());
            }
            let extent = Extent { first, records: self.records };
            if extent.end().is_none() {
                return Err(io::Error::other("there are no positions left"));
            }
            let mapping = Arc::new(self.disk.make(&self.dir, extent)?);
            // Who flushes looks into the catalog, so the segment must be there before anybody can write to it.
            self.catalog.lock().insert(Segment { extent, mapping: Some(Arc::clone(&mapping)) });
            self.line.grant(first, u64::from(self.records), &mapping);
        }
    }

    /// Whether nothing has failed. What has is tried again soon, and waking anybody for it would be for nothing.
    pub(crate) fn is_well(&self) -> bool {
        !self.is_full.load(Ordering::Relaxed) && self.progress.borrow().failure.is_none()
    }

    /// Why the next segment could not be made, if it could not.
    pub(crate) fn full_reason(&self) -> Option<String> {
        self.full.lock().clone()
    }

    /// Sends to disk what is complete and not there yet, and says up to where everything is.
    pub(crate) fn flush_complete(&self) -> io::Result<u64> {
        let mut flushed = self.flushed.lock();
        let tail = self.line.tail();
        if tail == flushed.durable {
            return Ok(tail);
        }
        let segments = self.catalog.lock().overlapping(flushed.durable..tail);
        flushed.complete = complete_until(&segments, flushed.complete..tail);
        let dirty = flushed.durable..flushed.complete;
        if dirty.is_empty() {
            return Ok(flushed.durable);
        }
        if let Err(error) = self.send(&segments, &dirty, flushed.last) {
            flushed.last = LastFlush::Failed;
            let failure = Some(Arc::from(error.to_string()));
            self.progress.send_modify(|progress| progress.failure = failure);
            return Err(error);
        }
        flushed.last = LastFlush::Worked;
        flushed.durable = dirty.end;
        self.catalog.lock().retire_before(dirty.end);
        self.progress.send_replace(Progress { durable: dirty.end, failure: None });
        Ok(dirty.end)
    }

    fn send(&self, segments: &[Segment], dirty: &Range<u64>, last: LastFlush) -> io::Result<()> {
        for segment in segments {
            let records = segment.overlap(dirty);
            if let Some(mapping) = segment.mapping.as_ref().filter(|_| !records.is_empty()) {
                if let LastFlush::Failed = last {
                    make_dirty(mapping, records.clone())?;
                }
                self.disk.flush(mapping, records)?;
            }
        }
        Ok(())
    }

    /// Everything appended before this call is on disk when it returns.
    pub(crate) fn flush_all(&self) -> io::Result<()> {
        let tail = self.line.tail();
        for _ in 0..STALL_LOOKS_MAX {
            if self.flush_complete()? >= tail {
                return Ok(());
            }
            std::thread::park_timeout(STALL_LOOK_AGAIN);
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "a record was begun and is still not written"))
    }
}

/// The first of these positions whose slot is not written, or their end.
fn complete_until(segments: &[Segment], positions: Range<u64>) -> u64 {
    let mut complete = positions.start;
    for segment in segments {
        let Some(mapping) = &segment.mapping else { break };
        let slots = &mapping.records()[segment.overlap(&(complete..positions.end))];
        let written = slots.iter().take_while(|slot| slot.is_written()).count();
        complete += written as u64;
        if written < slots.len() {
            break;
        }
    }
    complete
}

/// After a flush has failed the system may take these pages for clean, and flush nothing the next time. It may even
/// have dropped them: then what is on disk has come back instead.
fn make_dirty(mapping: &Mapping, records: Range<usize>) -> io::Result<()> {
    for slot in &mapping.records()[records] {
        if !slot.is_written() {
            return Err(io::Error::other("records were lost after a flush had failed"));
        }
        slot.touch();
    }
    Ok(())
}
