//! Opening: finds the segments, checks that they fit together, and finds the tail.
//!
//! Old segments are not read: their headers and lengths are checked, and how many records they hold follows from
//! where the next one begins. Only the last one that holds anything is searched for its last record.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt, OpenOptionsExt as _};
use std::path::Path;

use super::Position;
use super::error::OpenError;
use super::mapping::LIVE_MAX;
use super::segment::{self, Extent, Header};
use crate::record::layout::SLOT_BYTES;

/// The file whose lock says that a process has the spool open.
const LOCK: &str = "lock";
/// How much of a segment is read at once.
const CHUNK_BYTES: usize = 1024 * SLOT_BYTES;

/// What was found.
pub(crate) struct Recovered {
    /// All segments, in order, without gaps.
    pub(crate) segments: Vec<Extent>,
    /// Where the next record will stand.
    pub(crate) tail: u64,
    /// Keeps others out while it is open.
    pub(crate) lock: File,
}

/// Takes the spool in `dir` over. New segments will have room for `records` records.
pub(crate) fn recover(dir: &Path, records: u32) -> Result<Recovered, OpenError> {
    let lock = lock(dir)?;
    let mut firsts = list(dir)?;
    let start = remove_blank(dir, &mut firsts)?;
    let mut segments = Vec::with_capacity(firsts.len());
    for first in firsts {
        let extent = check(dir, first)?;
        if let Some(before) = segments.last() {
            check_neighbours(dir, *before, extent)?;
        }
        segments.push(extent);
    }
    let tail = find_tail(dir, &segments)?.unwrap_or_else(|| segments.first().map_or(start, |it| it.first));
    trim(dir, &mut segments, tail, records)?;
    sync_last(dir, &segments)?;
    Ok(Recovered { segments, tail, lock })
}

/// Makes the directory if need be, and locks it.
fn lock(dir: &Path) -> Result<File, OpenError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(at(dir))?;
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        segment::sync_directory(parent).map_err(at(parent))?;
    }
    let path = dir.join(LOCK);
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { directory: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
    }
}

/// The first positions of all segments, in order. What was left unfinished is removed.
fn list(dir: &Path) -> Result<Vec<u64>, OpenError> {
    let mut firsts = Vec::new();
    for entry in fs::read_dir(dir).map_err(at(dir))? {
        let path = entry.map_err(at(dir))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(segment::UNFINISHED) {
            fs::remove_file(&path).map_err(at(&path))?;
        } else if let Some(stem) = name.strip_suffix(segment::SUFFIX) {
            firsts.push(segment::parse_stem(stem).ok_or(OpenError::Name { file: path })?);
        }
    }
    firsts.sort_unstable();
    Ok(firsts)
}

/// Removes segments at the end that have neither a header nor a record, and says where a spool without any begins.
fn remove_blank(dir: &Path, firsts: &mut Vec<u64>) -> Result<u64, OpenError> {
    let mut start = 0;
    while let Some(&first) = firsts.last() {
        let path = segment::path(dir, first);
        let file = File::open(&path).map_err(at(&path))?;
        let broken = segment::read_header(&file).map_err(at(&path))? == Header::Broken;
        let length = file.metadata().map_err(at(&path))?.len();
        if !broken || last_written(&file, length).map_err(at(&path))?.is_some() {
            break;
        }
        fs::remove_file(&path).map_err(at(&path))?;
        firsts.pop();
        start = first;
    }
    Ok(start)
}

/// Reads the header of a segment and compares it with its name and length.
fn check(dir: &Path, first: u64) -> Result<Extent, OpenError> {
    let path = segment::path(dir, first);
    let file = File::open(&path).map_err(at(&path))?;
    let extent = match segment::read_header(&file).map_err(at(&path))? {
        Header::Good(extent) => extent,
        Header::Version(version) => return Err(OpenError::Version { file: path, version }),
        Header::Broken => return Err(OpenError::Header { file: path }),
    };
    if extent.first != first {
        return Err(OpenError::Misnamed { file: path, first: Position(extent.first) });
    }
    let found = file.metadata().map_err(at(&path))?.len();
    if found != extent.bytes() {
        return Err(OpenError::Size { file: path, found, expected: extent.bytes() });
    }
    if extent.records == 0 || extent.end().is_none() {
        return Err(OpenError::Header { file: path });
    }
    Ok(extent)
}

/// One segment begins where the one before it ends.
fn check_neighbours(dir: &Path, before: Extent, extent: Extent) -> Result<(), OpenError> {
    let end = before.end().unwrap_or(u64::MAX);
    if extent.first > end {
        Err(OpenError::Missing { file: segment::path(dir, end), next: extent.path(dir) })
    } else if extent.first < end {
        Err(OpenError::Overlap { file: extent.path(dir), before: before.path(dir) })
    } else {
        Ok(())
    }
}

/// The position behind the last slot that holds anything.
fn find_tail(dir: &Path, segments: &[Extent]) -> Result<Option<u64>, OpenError> {
    for extent in segments.iter().rev() {
        let path = extent.path(dir);
        let file = File::open(&path).map_err(at(&path))?;
        if let Some(index) = last_written(&file, extent.bytes()).map_err(at(&path))? {
            return Ok(Some(extent.first + index + 1));
        }
    }
    Ok(None)
}

/// The index of the last slot that holds anything, in a file of this length. It is searched from its end.
fn last_written(file: &File, length: u64) -> io::Result<Option<u64>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (header, step) = (SLOT_BYTES as u64, CHUNK_BYTES as u64);
    let mut end = length;
    while end > header {
        let start = header + (end - header - 1) / step * step;
        #[expect(clippy::cast_possible_truncation, reason = "at most a chunk")]
        let part = &mut chunk[..(end - start) as usize];
        file.read_exact_at(part, start)?;
        if let Some(last) = part.iter().rposition(|byte| *byte != 0) {
            return Ok(Some((start + last as u64 - header) / SLOT_BYTES as u64));
        }
        end = start;
    }
    Ok(None)
}

/// Behind the segment with the tail only empty ones follow. They are used if they are of the size that is wanted
/// now, and removed if not.
fn trim(dir: &Path, segments: &mut Vec<Extent>, tail: u64, records: u32) -> Result<(), OpenError> {
    let next = segments.partition_point(|extent| extent.first <= tail);
    let fitting = segments[next..].iter().take(LIVE_MAX - 1).take_while(|extent| extent.records == records);
    let keep = next + fitting.count();
    // From the end, so that a crash leaves no gap.
    for extent in segments.drain(keep..).rev() {
        let path = extent.path(dir);
        fs::remove_file(&path).map_err(at(&path))?;
    }
    Ok(())
}

/// A process that was killed may have left records that are not on disk yet, in any segment it had mapped.
fn sync_last(dir: &Path, segments: &[Extent]) -> Result<(), OpenError> {
    for extent in segments.iter().rev().take(LIVE_MAX) {
        let path = extent.path(dir);
        File::open(&path).and_then(|file| file.sync_data()).map_err(at(&path))?;
    }
    segment::sync_directory(dir).map_err(at(dir))
}

/// Says which file an error is about.
fn at(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    |source| OpenError::Io { path, source }
}
