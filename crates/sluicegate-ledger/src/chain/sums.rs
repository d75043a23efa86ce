//! Summing up a segment: a digest of all its bytes, and four bytes for each record that tell which one was changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::record::layout::{self, Content, SLOT_BYTES, SlotBytes};
use crate::spool::segment::sync_directory;
use crate::spool::{Position, SegmentExtent};
use sluicegate_core::digest::Digest;

/// The bytes of one sum.
pub(super) const SUM_BYTES: usize = 4;
/// How many slots are read at once.
const CHUNK_SLOTS: usize = 2048;

/// A segment, or the first part of one, summed up.
pub(super) struct Summed {
    /// Of the header and all slots.
    pub(super) content: Digest,
    /// One for each slot.
    pub(super) sums: Vec<u8>,
    /// How many slots hold a whole record.
    pub(super) whole: u32,
    /// The first slot that holds something which is not a whole record.
    pub(super) torn: Option<Position>,
}

/// Reads the header and this many slots.
pub(super) fn sum_up(path: &Path, first: Position, slots: u32) -> io::Result<Summed> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut summed = Summed {
        content: Digest::NONE,
        sums: Vec::with_capacity(slots as usize * SUM_BYTES),
        whole: 0,
        torn: None,
    };
    let mut header = [0; SLOT_BYTES];
    file.read_exact(&mut header)?;
    hasher.update(&header);
    let mut buffer = vec![[0; SLOT_BYTES]; CHUNK_SLOTS];
    let mut position = first;
    let mut left = slots as usize;
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK_SLOTS)];
        file.read_exact(chunk.as_flattened_mut())?;
        hasher.update(chunk.as_flattened());
        for slot in &*chunk {
            summed.add(slot, position);
            position.0 += 1;
        }
        left -= chunk.len();
    }
    summed.content = Digest(*hasher.finalize().as_bytes());
    Ok(summed)
}

impl Summed {
    fn add(&mut self, slot: &SlotBytes, position: Position) {
        self.sums.extend_from_slice(&blake3::hash(slot).as_bytes()[..SUM_BYTES]);
        match layout::decode(slot, position.0) {
            Content::Whole(_) | Content::Newer { .. } => self.whole += 1,
            Content::Torn => self.torn = self.torn.or(Some(position)),
            Content::Hole => {}
        }
    }

    /// The digest of the sums.
    pub(super) fn sums_digest(&self) -> Digest {
        Digest::of(&self.sums)
    }

    /// The first record whose sum is another than it was.
    pub(super) fn first_changed(&self, before: &[u8], first: Position) -> Option<Position> {
        let pairs = self.sums.chunks(SUM_BYTES).zip(before.chunks(SUM_BYTES));
        let index = pairs.into_iter().position(|(now, before)| now != before)?;
        Some(Position(first.0 + index as u64))
    }
}

/// Where the sums of a segment lie.
pub(super) fn path(dir: &Path, first: Position) -> PathBuf {
    dir.join(format!("{:020}.sums", first.0))
}

/// Keeps sums. They are replaced as a whole.
pub(super) fn write(dir: &Path, segment: SegmentExtent, sums: &[u8]) -> io::Result<()> {
    replace(&path(dir, segment.first), sums)
}

/// Writes a file that is either what it was, or this, whatever happens.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension("tmp");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&unfinished, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}
