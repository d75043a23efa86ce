//! Going on with the chain: full segments, checkpoints of the open one, and what may be removed.

use std::fs;
use std::io::ErrorKind;

use sluicegate_core::digest::Digest;
use sluicegate_core::time::Timestamp;

use super::audit;
use super::checkpoint::{self, Checkpoint};
use super::error::ChainError;
use super::line::{Line, SegmentLine};
use super::{Chain, log, sums};
use crate::spool::{Position, SegmentExtent, Spool, segment};

/// What was added to the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extended {
    /// How many segments.
    pub segments: u64,
    /// All segments before it are in the chain.
    pub end: Position,
}

impl Chain {
    /// Adds every segment that is full and on disk.
    pub fn extend(&mut self, spool: &Spool) -> Result<Extended, ChainError> {
        let durable = spool.durable();
        let first = spool.first();
        if let Some(end) = self.end.filter(|end| *end < first) {
            return Err(ChainError::Gap { end, first });
        }
        let mut extended = Extended::default();
        for segment in spool.segments_from(self.end.unwrap_or(first)) {
            if segment.end() > durable {
                break;
            }
            self.add(spool, segment)?;
            extended.segments += 1;
        }
        Ok(Extended { end: self.end(), ..extended })
    }

    fn add(&mut self, spool: &Spool, segment: SegmentExtent) -> Result<(), ChainError> {
        let path = segment::path(spool.dir(), segment.first.0);
        let summed = sums::sum_up(&path, segment.first, segment.records).map_err(ChainError::at(&path))?;
        // Before the line: who finds the line finds the sums.
        sums::write(&self.dir, segment, &summed.sums).map_err(ChainError::at(&self.dir))?;
        let line = SegmentLine {
            first: segment.first,
            slots: segment.records,
            whole: summed.whole,
            content: summed.content,
            sums: summed.sums_digest(),
        };
        self.head = log::append(&self.dir, self.head, &Line::Segment(line), &self.key)?;
        self.end = Some(segment.end());
        Ok(())
    }

    /// Adds what is full, and signs what is on disk of the open segment, together with the end of the audit log.
    pub fn checkpoint(
        &mut self,
        spool: &Spool,
        audit: audit::Head,
        now: Timestamp,
    ) -> Result<Checkpoint, ChainError> {
        self.extend(spool)?;
        self.seen.may_sign(audit)?;
        let durable = spool.durable();
        let open = spool.segments_from(self.end.unwrap_or(spool.first())).first().copied();
        let open = open.filter(|segment| segment.first < durable && durable < segment.end());
        let mut checkpoint = Checkpoint {
            at: now,
            lines: self.head.lines,
            link: self.head.link,
            segment: durable,
            position: durable,
            content: Digest::NONE,
            sums: Digest::NONE,
            audit,
        };
        if let Some(segment) = open {
            let path = segment::path(spool.dir(), segment.first.0);
            #[expect(clippy::cast_possible_truncation, reason = "less than the segment has")]
            let slots = (durable.0 - segment.first.0) as u32;
            let summed = sums::sum_up(&path, segment.first, slots).map_err(ChainError::at(&path))?;
            // Before the checkpoint: sums may reach further than a checkpoint, but not the other way round.
            sums::write(&self.dir, segment, &summed.sums).map_err(ChainError::at(&self.dir))?;
            checkpoint.segment = segment.first;
            checkpoint.content = summed.content;
            checkpoint.sums = summed.sums_digest();
        }
        checkpoint::write(&self.dir, &checkpoint, &self.key)?;
        self.seen.signed = audit;
        Ok(checkpoint)
    }

    /// The last entry of the audit log that was seen.
    pub fn audit_head(&self) -> audit::Head {
        self.seen.head
    }

    /// Keeps the links of entries that are new in the audit log. What was signed of it before may not be another now.
    pub fn see_audit(&mut self, heads: &[audit::Head]) -> Result<(), ChainError> {
        self.seen = self.seen.append(&self.dir, heads)?;
        Ok(())
    }

    /// Says that segments before a position may be gone, before they are. Those that are not in the chain may not.
    pub fn allow_pruning(&mut self, before: Position, now: Timestamp) -> Result<Position, ChainError> {
        let before = before.min(self.end());
        if before > self.pruned {
            let line = Line::Pruned { before, at: now.as_nanos() };
            self.head = log::append(&self.dir, self.head, &line, &self.key)?;
            self.pruned = before;
        }
        Ok(before)
    }

    /// Removes the sums of segments that are gone.
    pub fn drop_sums_before(&self, first: Position) -> Result<usize, ChainError> {
        let mut dropped = 0;
        for entry in fs::read_dir(&self.dir).map_err(ChainError::at(&self.dir))? {
            let path = entry.map_err(ChainError::at(&self.dir))?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(segment::parse_stem);
            let is_old = stem.is_some_and(|stem| stem < first.0 && stem < self.pruned.0);
            if !is_old || path.extension().is_none_or(|it| it != "sums") {
                continue;
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(ChainError::at(&path)(error));
                }
                _ => dropped += 1,
            }
        }
        Ok(dropped)
    }
}
