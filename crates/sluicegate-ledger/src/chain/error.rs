//! What can go wrong with the chain, and what may be found to be wrong with what it proves.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::key::PublicKey;
use crate::hour::Hour;
use crate::spool::Position;
use crate::usage::BookError;

/// Why the chain could not be gone on with. What it proves so far stays proven.
#[derive(Debug)]
pub enum ChainError {
    /// The system refused.
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file of the key holds something else.
    Key {
        /// The file.
        file: PathBuf,
    },
    /// Nothing could be signed.
    Signing,
    /// A line of the chain is not what was written.
    Damaged {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// Segments are gone that are not in the chain.
    Gap {
        /// Where the chain ends.
        end: Position,
        /// The first that is still there.
        first: Position,
    },
    /// An entry of the audit log is not what was seen or signed of it.
    Audit {
        /// Its number.
        seq: u64,
    },
    /// The rows of hours that were closed could not be read.
    Book(BookError),
}

impl From<BookError> for ChainError {
    fn from(error: BookError) -> Self {
        Self::Book(error)
    }
}

impl ChainError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Key { file } => {
                write!(f, "{}: this is not the key of a chain; restore it from a backup", file.display())
            }
            Self::Signing => f.write_str("the chain could not be signed"),
            Self::Damaged { file, line } => write!(
                f,
                "{}: line {line} is not what was written; run `sluicegate audit verify`, and restore the file from a \
                 backup",
                file.display()
            ),
            Self::Gap { end, first } => write!(
                f,
                "records {} to {} are gone and were never chained; restore them from a backup, or move the chain \
                 elsewhere to begin a new one",
                end.0,
                first.0.saturating_sub(1)
            ),
            Self::Audit { seq } => write!(
                f,
                "audit entry {seq} is not what it was when it was seen or signed; run `sluicegate audit verify`, and \
                 restore the audit log from a backup"
            ),
            Self::Book(error) => error.fmt(f),
        }
    }
}

impl Error for ChainError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Why {
    /// The file is not there, and nothing says that it may be gone.
    Missing,
    /// The file is longer or shorter than it was.
    Length {
        /// Its length in bytes.
        found: u64,
        /// What it was.
        expected: u64,
    },
    /// The bytes of this record are not what they were.
    Record,
    /// The header of the segment is not what it was.
    Header,
    /// Bytes of the segment are not what they were, and its sums do not tell of which record.
    Segment,
    /// The sums beside a segment are not what they were. Its records are.
    Sums,
    /// The line is not what was written.
    Line,
    /// The line was not signed with the key of the chain.
    Signature,
    /// The chain has another key than was expected.
    OtherKey {
        /// What it has.
        found: PublicKey,
    },
    /// The line has no end: it was cut off.
    Cut,
    /// Lines are missing that were there when the checkpoint was written.
    Shorter,
    /// Records are missing that were there when the checkpoint was written.
    Tail,
    /// The checkpoint is not what was written.
    Checkpoint,
    /// The entry of the audit log is not what was written.
    Entry,
    /// The entry of the audit log was there, and is not any more.
    EntryMissing,
    /// Entries up to this one are not what was signed, and nothing tells which of them.
    Entries,
    /// The link of an entry is not what was written. The entry itself is.
    Link,
    /// Sums of the book are not what was signed, or not what the records come to.
    Rollup,
}

/// The first thing that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstBad {
    /// In which file.
    pub file: PathBuf,
    /// In which line of it, counted from 1, if it has lines.
    pub line: Option<u64>,
    /// In which segment, by its first position.
    pub segment: Option<Position>,
    /// Which record.
    pub position: Option<Position>,
    /// Which entry of the audit log.
    pub entry: Option<u64>,
    /// From which hour on, if it is about usage.
    pub hour: Option<Hour>,
    /// What is wrong with it.
    pub why: Why,
}

impl FirstBad {
    pub(crate) fn file(path: &Path, why: Why) -> Self {
        let (line, segment, position, entry, hour) = (None, None, None, None, None);
        Self { file: path.to_owned(), line, segment, position, entry, hour, why }
    }

    pub(super) fn line(path: &Path, line: u64, why: Why) -> Self {
        Self { line: Some(line), ..Self::file(path, why) }
    }

    pub(super) fn segment(path: &Path, segment: Position, why: Why) -> Self {
        Self { segment: Some(segment), ..Self::file(path, why) }
    }
}

impl fmt::Display for FirstBad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(position) = self.position {
            write!(f, "record {}: ", position.0)?;
        }
        if let Some(entry) = self.entry {
            write!(f, "audit entry {entry}: ")?;
        }
        if let Some(hour) = self.hour {
            write!(f, "usage from {hour} on: ")?;
        }
        match &self.why {
            Why::Missing => f.write_str("the file is missing, and was not removed by the program"),
            Why::Length { found, expected } => write!(f, "it has {found} bytes and had {expected}"),
            Why::Record => f.write_str("its bytes are not what they were when the segment was chained"),
            Why::Header => f.write_str("the header is not what it was when the segment was chained"),
            Why::Segment => {
                f.write_str("its bytes are not what they were; which record was changed is not known")
            }
            Why::Sums => f.write_str("these sums are not what they were; the records themselves are"),
            Why::Line => f.write_str("this is not what was written"),
            Why::Signature => f.write_str("this was not signed with the key of the chain"),
            Why::OtherKey { found } => {
                write!(f, "the key of this chain is {found}, which is not the one expected")
            }
            Why::Cut => f.write_str("the line has no end: it was cut off"),
            Why::Shorter => f.write_str("lines are missing that were there when the checkpoint was signed"),
            Why::Tail => f.write_str("records are missing that were there when the checkpoint was signed"),
            Why::Checkpoint => f.write_str("the checkpoint is not what was signed"),
            Why::Entry => f.write_str("it is not what was written"),
            Why::EntryMissing => f.write_str("it is missing, and was there before"),
            Why::Entries => {
                f.write_str("up to this one, entries are not what was signed; which one is not known")
            }
            Why::Rollup => f.write_str("the sums are not what was signed, or not what the records come to"),
            Why::Link => f.write_str("this link is not what was written; the entry itself is"),
        }
    }
}

/// Why it is not proven that everything is what it was.
#[derive(Debug)]
pub enum VerifyError {
    /// It is not.
    Bad(Box<FirstBad>),
    /// The system refused to let it be read.
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl VerifyError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Io { path, source }
    }
}

impl From<FirstBad> for VerifyError {
    fn from(bad: FirstBad) -> Self {
        Self::Bad(Box::new(bad))
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(bad) => bad.fmt(f),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl Error for VerifyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Bad(_) => None,
            Self::Io { source, .. } => Some(source),
        }
    }
}
