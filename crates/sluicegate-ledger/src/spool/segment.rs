//! The file of a segment: its name, its header, how it is made.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::Position;
use super::mapping::Mapping;
use crate::record::Record;
use crate::record::layout::{self, Content, SLOT_BYTES, SlotBytes};

/// What a segment's name ends with.
pub(crate) const SUFFIX: &str = ".seg";
/// What the name of a file that is still being made ends with.
pub(crate) const UNFINISHED: &str = ".tmp";
/// The digits of a segment's name: as many as the largest position has.
const DIGITS: usize = 20;

const MAGIC: [u8; 8] = *b"sgspool\n";
const VERSION: u32 = 1;
/// Where in the header its checksum stands, at the end.
const SUM_AT: usize = SLOT_BYTES - 4;

/// The positions a segment has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) first: u64,
    pub(crate) records: u32,
}

/// What the header of a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Header {
    Good(Extent),
    Version(u32),
    Broken,
}

impl Extent {
    /// The position behind the last, if that is a position.
    pub(crate) fn end(self) -> Option<u64> {
        self.first.checked_add(u64::from(self.records))
    }

    /// The length of the file.
    pub(crate) fn bytes(self) -> u64 {
        (u64::from(self.records) + 1) * SLOT_BYTES as u64
    }

    /// The name of the file.
    pub(crate) fn path(self, dir: &Path) -> PathBuf {
        path(dir, self.first)
    }

    fn header(self) -> SlotBytes {
        let mut bytes = [0; SLOT_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.records.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// The name of the segment that begins at `first`.
pub(crate) fn path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:0DIGITS$}{SUFFIX}"))
}

/// The first position, by the name without its suffix.
pub(crate) fn parse_stem(stem: &str) -> Option<u64> {
    let digits = stem.len() == DIGITS && stem.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| stem.parse().ok()).flatten()
}

/// The byte of the file at which the record with this index begins.
pub(crate) fn offset(index: u64) -> u64 {
    (index + 1) * SLOT_BYTES as u64
}

/// Reads the header. A file that is too short for one has a broken header.
pub(crate) fn read_header(file: &File) -> io::Result<Header> {
    let mut bytes = [0; SLOT_BYTES];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(parse_header(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Header::Broken),
        Err(error) => Err(error),
    }
}

fn parse_header(bytes: &SlotBytes) -> Header {
    let sum = crc32fast::hash(&bytes[..SUM_AT]).to_le_bytes();
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if bytes[0..8] != MAGIC || bytes[SUM_AT..] != sum {
        return Header::Broken;
    }
    match number(8) {
        VERSION => {
            let first = u64::from(number(16)) | u64::from(number(20)) << 32;
            Header::Good(Extent { first, records: number(12) })
        }
        version => Header::Version(version),
    }
}

/// How many slots are read at once.
const CHUNK_SLOTS: usize = 2048;

/// Reads every whole record before `until` in the segments of a folder, in order, without opening the spool. What is
/// removed meanwhile is passed over.
pub(crate) fn read_records(
    dir: &Path,
    until: Position,
    each: &mut dyn FnMut(Position, &Record),
) -> io::Result<()> {
    let mut firsts: Vec<u64> = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        firsts.extend(name.to_str().and_then(|name| parse_stem(name.strip_suffix(SUFFIX)?)));
    }
    firsts.sort_unstable();
    for first in firsts.into_iter().filter(|first| *first < until.0) {
        match File::open(path(dir, first)) {
            Ok(file) => read_slots(&file, first, until, each)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn read_slots(
    file: &File,
    first: u64,
    until: Position,
    each: &mut dyn FnMut(Position, &Record),
) -> io::Result<()> {
    let Header::Good(extent) = read_header(file)? else { return Ok(()) };
    let end = extent.end().unwrap_or(u64::MAX).min(until.0);
    let mut buffer = vec![[0; SLOT_BYTES]; CHUNK_SLOTS];
    let mut position = first;
    while position < end {
        let slots = usize::try_from(end - position).unwrap_or(usize::MAX).min(CHUNK_SLOTS);
        let chunk = &mut buffer[..slots];
        file.read_exact_at(chunk.as_flattened_mut(), offset(position - first))?;
        for slot in &*chunk {
            if let Content::Whole(record) = layout::decode(slot, position) {
                each(Position(position), &record);
            }
            position += 1;
        }
    }
    Ok(())
}

/// What the spool does to the disk besides reading: the seam at which tests put a disk that fails.
pub(crate) trait Disk: Send + Sync {
    /// Makes a segment and maps it.
    fn make(&self, dir: &Path, extent: Extent) -> io::Result<Mapping>;

    /// Sends records of a segment to disk.
    fn flush(&self, mapping: &Mapping, records: Range<usize>) -> io::Result<()>;
}

/// The disk of this machine.
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn make(&self, dir: &Path, extent: Extent) -> io::Result<Mapping> {
        let unfinished = extent.path(dir).with_extension(format!("{}{UNFINISHED}", &SUFFIX[1..]));
        let made = make(dir, extent, &unfinished);
        if made.is_err() {
            // The space it took may be what is wanted elsewhere. It may also never have been there.
            let _ = fs::remove_file(&unfinished);
        }
        made
    }

    fn flush(&self, mapping: &Mapping, records: Range<usize>) -> io::Result<()> {
        mapping.flush(records)
    }
}

/// A segment gets its name when it is whole and on disk: whoever finds it by name finds all of it.
fn make(dir: &Path, extent: Extent, unfinished: &Path) -> io::Result<Mapping> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(unfinished)?;
    allocate(&file, extent.bytes())?;
    file.write_all_at(&extent.header(), 0)?;
    file.sync_all()?;
    let mapping = Mapping::new(&file, extent.records)?;
    fs::rename(unfinished, extent.path(dir))?;
    sync_directory(dir)?;
    Ok(mapping)
}

/// Takes the space now, so that a full disk is an error here and not a signal at a record.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP) => write_zeros(file, bytes),
        other => Ok(other?),
    }
}

/// For file systems that cannot allocate ahead.
fn write_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = [0; 1 << 16];
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(zeros.len() as u64);
        #[expect(clippy::cast_possible_truncation, reason = "at most the length of the zeros")]
        file.write_all_at(&zeros[..length as usize], at)?;
        at += length;
    }
    Ok(())
}

/// Makes names that were given or taken survive a crash of the machine.
pub(crate) fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
