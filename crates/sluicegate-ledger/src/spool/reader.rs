//! Reading records back. Bytes are never trusted: what is not a whole record is counted and skipped.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::catalog::Segment;
use super::error::ReadError;
use super::mapping::Mapping;
use super::segment;
use super::works::Works;
use super::{Position, ReadReport};
use crate::record::Record;
use crate::record::layout::{self, Content, SLOT_BYTES, SlotBytes};

/// How many slots are read from a file at once: few enough to stay in the processor's cache.
const CHUNK_SLOTS: usize = 2048;
/// How often to look again for a record that is being written just now.
const LOOKS_MAX: u32 = 1_000;

/// Reads every record from `from` up to where the tail is now, or to before `until` if that comes first.
pub(crate) fn read(
    works: &Works,
    from: Position,
    until: Position,
    each: impl FnMut(Position, &Record),
) -> Result<ReadReport, ReadError> {
    let tail = works.line.tail();
    if from.0 > tail {
        return Err(ReadError::Beyond { from, tail: Position(tail) });
    }
    let tail = tail.min(until.0).max(from.0);
    let (first, segments) = {
        let catalog = works.catalog.lock();
        (catalog.first(), catalog.overlapping(from.0..tail))
    };
    if from.0 < first {
        return Err(ReadError::Forgotten { from, first: Position(first) });
    }
    let mut reader = Reader { works, wanted: from.0..tail, report: ReadReport::default(), each };
    reader.report.next = from;
    for segment in segments {
        let outcome = match &segment.mapping {
            Some(mapping) => reader.read_mapping(&segment, mapping)?,
            None => reader.read_file(&segment)?,
        };
        if let Outcome::Unwritten = outcome {
            break;
        }
    }
    Ok(reader.report)
}

/// Where reading a segment ended.
enum Outcome {
    /// At its end, or that of what is wanted.
    Read,
    /// At a slot that somebody has claimed and not written yet.
    Unwritten,
}

struct Reader<'w, Each> {
    works: &'w Works,
    wanted: Range<u64>,
    report: ReadReport,
    each: Each,
}

impl<Each: FnMut(Position, &Record)> Reader<'_, Each> {
    /// A segment that is still written to.
    fn read_mapping(&mut self, segment: &Segment, mapping: &Mapping) -> Result<Outcome, ReadError> {
        for slot in &mapping.records()[segment.overlap(&self.wanted)] {
            let is_old = self.report.next.0 < self.works.opened_at;
            if !is_old && !(0..LOOKS_MAX).any(|_| slot.is_written() || yield_now()) {
                return Ok(Outcome::Unwritten);
            }
            self.take(&slot.read())?;
        }
        Ok(Outcome::Read)
    }

    /// A segment that is whole and on disk. Read and not mapped: a bad sector is then an error and not a signal.
    fn read_file(&mut self, segment: &Segment) -> Result<Outcome, ReadError> {
        let path = segment.extent.path(&self.works.dir);
        let failed = |source: io::Error| {
            let first = Position(self.works.catalog.lock().first());
            match source.kind() {
                io::ErrorKind::NotFound if first.0 > segment.extent.first => {
                    ReadError::Forgotten { from: Position(self.wanted.start), first }
                }
                _ => ReadError::Io { file: path.clone(), source },
            }
        };
        let file = File::open(&path).map_err(failed)?;
        let mut buffer = vec![[0; SLOT_BYTES]; CHUNK_SLOTS];
        let indexes = segment.overlap(&self.wanted);
        for start in indexes.clone().step_by(CHUNK_SLOTS) {
            let slots = &mut buffer[..CHUNK_SLOTS.min(indexes.end - start)];
            let read = file.read_exact_at(slots.as_flattened_mut(), segment::offset(start as u64));
            read.map_err(|source| ReadError::Io { file: path.clone(), source })?;
            slots.iter().try_for_each(|slot| self.take(slot))?;
        }
        Ok(Outcome::Read)
    }

    /// Counts what lies in the next slot, and hands on what is a record.
    #[inline]
    fn take(&mut self, bytes: &SlotBytes) -> Result<(), ReadError> {
        let position = self.report.next;
        match layout::decode(bytes, position.0) {
            Content::Whole(record) => {
                self.report.read += 1;
                (self.each)(position, &record);
            }
            Content::Hole => self.report.holes += 1,
            Content::Torn => self.report.torn += 1,
            Content::Newer { version } => return Err(ReadError::Newer { position, version }),
        }
        self.report.next = Position(position.0 + 1);
        Ok(())
    }
}

/// Lets others go on.
fn yield_now() -> bool {
    std::thread::yield_now();
    false
}
