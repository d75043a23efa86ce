//! Checking everything against the chain, from its first line on. The first thing that is wrong is named.
//!
//! It reads and takes no lock: it may be done beside the program that writes, or on a copy.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::checkpoint::{self, Checkpoint};
use super::error::{FirstBad, VerifyError, Why};
use super::key::PublicKey;
use super::line::{Found, Head, Line, SegmentLine};
use super::rollup::{SignedRollup, SignedRollups};
use super::sums::{self, SUM_BYTES};
use super::{key, log};
use crate::hour::Hour;
use crate::record::layout::SLOT_BYTES;
use crate::spool::{Position, segment};
use sluicegate_core::digest::Digest;

/// What is proven.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// The key with which everything is signed; nothing if there is no chain yet.
    pub key: Option<PublicKey>,
    /// How many segments were read and are what they were.
    pub segments: u64,
    /// How many whole records are in them, and in the part of the open one that is signed.
    pub records: u64,
    /// How many were removed by the program after they were chained.
    pub pruned: u64,
    /// Slots of the chained segments that never held a whole record.
    pub incomplete: u64,
    /// How many rows of usage are what was signed of them, or what the records come to.
    pub rows: u64,
    /// What was signed of closed hours, in order.
    pub rollups: Vec<SignedRollup>,
    /// Rows of hours before it may be gone.
    pub shed: Hour,
    /// All segments before it are in the chain.
    pub end: Position,
    /// What was signed last, of what is not in the chain yet.
    pub checkpoint: Option<Checkpoint>,
}

impl Verified {
    /// What is proven reaches up to here.
    pub fn position(&self) -> Position {
        self.checkpoint.map_or(self.end, |checkpoint| checkpoint.position.max(self.end))
    }
}

/// How far checking has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// How many lines of the chain are checked, with the segments that they are about.
    pub lines: u64,
    /// How many there are.
    pub of: u64,
}

/// Checks the spool in `spool` against the chain in `dir`, which must have the key `expected` if one is given.
pub fn verify(dir: &Path, spool: &Path, expected: Option<PublicKey>) -> Result<Verified, VerifyError> {
    verify_and_tell(dir, spool, expected, &mut |_| {})
}

/// The same, and says how far it has come.
pub fn verify_and_tell(
    dir: &Path,
    spool: &Path,
    expected: Option<PublicKey>,
    tell: &mut dyn FnMut(Checked),
) -> Result<Verified, VerifyError> {
    // First: what it knows of is in the lines that are read afterwards, even if more are added meanwhile.
    let checkpoint_bytes = read_if_there(&checkpoint::path(dir))?;
    let path = log::path(dir);
    let Some(text) = read_if_there(&path)? else {
        return without_chain(dir, expected, checkpoint_bytes.as_deref());
    };
    let mut verifier = Verifier {
        dir,
        spool,
        path,
        pruned: Position(0),
        head: Head::default(),
        links: Vec::new(),
        rollups: SignedRollups::default(),
        verified: Verified {
            key: None,
            segments: 0,
            records: 0,
            pruned: 0,
            incomplete: 0,
            rows: 0,
            rollups: Vec::new(),
            shed: Hour::FIRST,
            end: Position(0),
            checkpoint: None,
        },
    };
    verifier.check_lines(&text, expected, tell)?;
    if let Some(bytes) = checkpoint_bytes {
        verifier.check_checkpoint(&bytes)?;
    }
    Ok(verifier.verified)
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, VerifyError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(VerifyError::at(path)(error)),
    }
}

/// There is no chain. That is fine if there never was one.
fn without_chain(
    dir: &Path,
    expected: Option<PublicKey>,
    checkpoint: Option<&[u8]>,
) -> Result<Verified, VerifyError> {
    if expected.is_some() || checkpoint.is_some() || dir.join(key::FILE).exists() {
        return Err(FirstBad::file(&log::path(dir), Why::Missing).into());
    }
    Ok(Verified {
        key: None,
        segments: 0,
        records: 0,
        pruned: 0,
        incomplete: 0,
        rows: 0,
        rollups: Vec::new(),
        shed: Hour::FIRST,
        end: Position(0),
        checkpoint: None,
    })
}

struct Verifier<'v> {
    dir: &'v Path,
    spool: &'v Path,
    /// The file with the lines.
    path: PathBuf,
    /// Segments before it may be gone.
    pruned: Position,
    head: Head,
    /// The link of every line.
    links: Vec<Digest>,
    rollups: SignedRollups,
    verified: Verified,
}

impl Verifier<'_> {
    fn check_lines(
        &mut self,
        text: &[u8],
        expected: Option<PublicKey>,
        tell: &mut dyn FnMut(Checked),
    ) -> Result<(), VerifyError> {
        self.pruned = pruned_by(text);
        let of = text.split_inclusive(|byte| *byte == b'\n').count() as u64;
        for (number, line) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
            let bad = |why: Why| FirstBad::line(&self.path, number, why);
            let line = line.strip_suffix(b"\n").ok_or_else(|| bad(Why::Cut))?;
            let line = std::str::from_utf8(line).map_err(|_| bad(Why::Line))?;
            let found = Found::parse(line).ok_or_else(|| bad(Why::Line))?;
            let head = self.head.after(found.body);
            let line = found.line().filter(|_| head.link == found.link).ok_or_else(|| bad(Why::Line))?;
            let key = match (self.verified.key, line) {
                (None, Line::Key(key)) => key,
                (None, _) | (Some(_), Line::Key(_)) => return Err(bad(Why::Line).into()),
                (Some(key), _) => key,
            };
            if expected.is_some_and(|expected| expected != key) {
                return Err(bad(Why::OtherKey { found: key }).into());
            }
            if !key.verify(&found.link, &found.signature) {
                return Err(bad(Why::Signature).into());
            }
            self.verified.key = Some(key);
            self.head = head;
            self.links.push(head.link);
            match line {
                Line::Rollup(rollup) => self.rollups.add(rollup),
                Line::Reopened { from, .. } => self.rollups.reopen(from),
                Line::Shed { before, .. } => self.verified.shed = self.verified.shed.max(before),
                _ => {}
            }
            if let Line::Segment(segment) = line {
                let is_next =
                    self.verified.segments + self.verified.pruned == 0 || segment.first == self.verified.end;
                if !is_next {
                    return Err(FirstBad::line(&self.path, number, Why::Line).into());
                }
                self.check_segment(&segment)?;
                self.verified.end = segment.end();
            }
            tell(Checked { lines: number, of });
        }
        if self.verified.key.is_none() {
            return Err(FirstBad::line(&self.path, 1, Why::Cut).into());
        }
        self.verified.rollups = std::mem::take(&mut self.rollups).into_vec();
        Ok(())
    }

    fn check_segment(&mut self, line: &SegmentLine) -> Result<(), VerifyError> {
        let path = segment::path(self.spool, line.first.0);
        let bad = |why: Why| FirstBad::segment(&path, line.first, why);
        let expected = (u64::from(line.slots) + 1) * SLOT_BYTES as u64;
        let found = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return if self.may_be_gone(line.end()) {
                    self.verified.pruned += 1;
                    Ok(())
                } else {
                    Err(bad(Why::Missing).into())
                };
            }
            Err(error) => return Err(VerifyError::at(&path)(error)),
        };
        // A file that is longer is looked at as well: what was appended may not be all that was done to it.
        if found < expected {
            let position = (found / SLOT_BYTES as u64).saturating_sub(1) + line.first.0;
            let length = bad(Why::Length { found, expected });
            return Err(FirstBad { position: Some(Position(position)), ..length }.into());
        }
        let part = Part { first: line.first, slots: line.slots, content: line.content, sums: line.sums };
        self.check_part(&path, &part)?;
        if found > expected {
            return Err(bad(Why::Length { found, expected }).into());
        }
        self.verified.segments += 1;
        self.verified.records += u64::from(line.whole.min(line.slots));
        self.verified.incomplete += u64::from(line.slots - line.whole.min(line.slots));
        Ok(())
    }

    /// Whether segments before this position were pruned, perhaps since the lines were read.
    fn may_be_gone(&self, end: Position) -> bool {
        let pruned_since = || fs::read(&self.path).map_or(Position(0), |text| pruned_by(&text));
        end <= self.pruned || end <= pruned_since()
    }

    /// A segment, or the first part of one. Says how many whole records it has.
    fn check_part(&self, path: &Path, part: &Part) -> Result<u32, VerifyError> {
        let summed = match sums::sum_up(path, part.first, part.slots) {
            Ok(summed) => summed,
            Err(error) if error.kind() == ErrorKind::NotFound && self.may_be_gone(part.end()) => {
                return Ok(0);
            }
            Err(error) => return Err(VerifyError::at(path)(error)),
        };
        let sums_path = sums::path(self.dir, part.first);
        let kept = fs::read(&sums_path).unwrap_or_default();
        let kept = kept.get(..part.slots as usize * SUM_BYTES).filter(|kept| Digest::of(kept) == part.sums);
        if summed.content != part.content {
            let bad = FirstBad::segment(path, part.first, Why::Segment);
            let Some(kept) = kept else {
                // The sums are of no use. A torn record is not sure to be the one, but likely.
                return Err(FirstBad { position: summed.torn, ..bad }.into());
            };
            return Err(match summed.first_changed(kept, part.first) {
                Some(position) => FirstBad { position: Some(position), why: Why::Record, ..bad },
                None => FirstBad { why: Why::Header, ..bad },
            }
            .into());
        }
        if kept.is_none() && !self.may_be_gone(part.end()) {
            return Err(FirstBad::segment(&sums_path, part.first, Why::Sums).into());
        }
        Ok(summed.whole)
    }

    fn check_checkpoint(&mut self, bytes: &[u8]) -> Result<(), VerifyError> {
        let path = checkpoint::path(self.dir);
        let checkpoint = self.verified.key.and_then(|key| checkpoint::read(bytes, &key));
        let checkpoint = checkpoint.ok_or_else(|| FirstBad::file(&path, Why::Checkpoint))?;
        let index = usize::try_from(checkpoint.lines).ok().and_then(|lines| lines.checked_sub(1));
        if index.and_then(|index| self.links.get(index)) != Some(&checkpoint.link) {
            return Err(FirstBad::file(&self.path, Why::Shorter).into());
        }
        let slots = checkpoint.position.0.saturating_sub(checkpoint.segment.0);
        let slots = u32::try_from(slots).map_err(|_| FirstBad::file(&path, Why::Checkpoint))?;
        if slots > 0 {
            let segment = checkpoint.segment;
            let file = segment::path(self.spool, segment.0);
            let part = Part { first: segment, slots, content: checkpoint.content, sums: checkpoint.sums };
            let needed = (u64::from(slots) + 1) * SLOT_BYTES as u64;
            let found = fs::metadata(&file).map_or(0, |metadata| metadata.len());
            if found < needed && !self.may_be_gone(checkpoint.position) {
                let position = (found / SLOT_BYTES as u64).saturating_sub(1) + segment.0;
                let bad = FirstBad::segment(&file, segment, Why::Tail);
                return Err(FirstBad { position: Some(Position(position)), ..bad }.into());
            }
            if found >= needed {
                let whole = self.check_part(&file, &part)?;
                // A segment that was filled since is in the chain as well, and counted there.
                self.verified.records += if segment < self.verified.end { 0 } else { u64::from(whole) };
            }
        }
        self.verified.checkpoint = Some(checkpoint);
        Ok(())
    }
}

/// A segment, or the first part of one, as it was.
struct Part {
    first: Position,
    slots: u32,
    content: Digest,
    sums: Digest,
}

impl Part {
    fn end(&self) -> Position {
        Position(self.first.0.saturating_add(u64::from(self.slots)))
    }
}

/// Before which position segments may be gone, by lines that are checked elsewhere.
fn pruned_by(text: &[u8]) -> Position {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let pruned =
        lines.filter(|line| line.starts_with("pruned ")).filter_map(|line| Found::parse(line)?.line());
    let before = pruned.filter_map(|line| match line {
        Line::Pruned { before, .. } => Some(before),
        _ => None,
    });
    before.max().unwrap_or_default()
}
