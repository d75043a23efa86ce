//! The file of the chain: lines are appended and never changed.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::error::ChainError;
use super::key::SigningKey;
use super::line::{Found, Head, Line};
use super::rollup::SignedRollups;
use crate::hour::Hour;
use crate::spool::Position;
use crate::spool::segment::sync_directory;

/// Where the lines lie.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join("chain.log")
}

/// What a chain says when it is opened.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) head: Head,
    pub(super) end: Option<Position>,
    pub(super) pruned: Position,
    pub(super) rollups: SignedRollups,
    pub(super) shed: Hour,
}

/// Reads all lines and checks how they are linked, but not what they prove. A line that has no end was being written
/// when the machine lost its power: nobody was told of it, and it is taken away.
pub(super) fn open(dir: &Path, key: &SigningKey) -> Result<Opened, ChainError> {
    let path = path(dir);
    let text = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(ChainError::at(&path)(error)),
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut opened = Opened::default();
    for (number, line) in (1..).zip(text[..whole].split_inclusive(|byte| *byte == b'\n')) {
        let damaged = || ChainError::Damaged { file: path.clone(), line: number };
        let line =
            line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()).ok_or_else(damaged)?;
        opened.take(line, key).ok_or_else(damaged)?;
    }
    if whole < text.len() {
        let file = OpenOptions::new().write(true).open(&path).map_err(ChainError::at(&path))?;
        file.set_len(whole as u64).and_then(|()| file.sync_all()).map_err(ChainError::at(&path))?;
    }
    if opened.head.lines == 0 {
        opened.head = append(dir, opened.head, &Line::Key(key.public()), key)?;
        sync_directory(dir).map_err(ChainError::at(dir))?;
    }
    Ok(opened)
}

impl Opened {
    fn take(&mut self, text: &str, key: &SigningKey) -> Option<()> {
        let found = Found::parse(text)?;
        let head = self.head.after(found.body);
        if head.link != found.link {
            return None;
        }
        match found.line()? {
            Line::Key(public) if self.head.lines == 0 && public == key.public() => {}
            Line::Segment(segment) if self.end.is_none_or(|end| end == segment.first) => {
                self.end = Some(segment.end());
            }
            Line::Pruned { before, .. } => self.pruned = self.pruned.max(before),
            Line::Rollup(rollup) => self.rollups.add(rollup),
            Line::Reopened { from, .. } => self.rollups.reopen(from),
            Line::Shed { before, .. } => self.shed = self.shed.max(before),
            Line::Key(_) | Line::Segment(_) => return None,
        }
        self.head = head;
        Some(())
    }
}

/// Appends a line. It is on disk when this returns.
pub(super) fn append(dir: &Path, head: Head, line: &Line, key: &SigningKey) -> Result<Head, ChainError> {
    append_all(dir, head, std::slice::from_ref(line), key)
}

/// Appends lines. All of them are on disk when this returns.
pub(super) fn append_all(
    dir: &Path,
    mut head: Head,
    lines: &[Line],
    key: &SigningKey,
) -> Result<Head, ChainError> {
    let path = path(dir);
    let mut text = String::new();
    for line in lines {
        let (line, next) = head.write(line, key)?;
        text.push_str(&line);
        head = next;
    }
    let written =
        OpenOptions::new().append(true).create(true).mode(0o600).open(&path).and_then(|mut file: File| {
            file.write_all(text.as_bytes())?;
            file.sync_data()
        });
    written.map_err(ChainError::at(&path))?;
    Ok(head)
}
