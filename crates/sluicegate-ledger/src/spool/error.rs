//! What can go wrong with a spool, an enum for each operation.

use std::error::Error;
use std::path::PathBuf;
use std::{fmt, io};

use super::Position;

/// Why a spool could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The settings make no sense.
    Settings {
        /// What is wrong with them.
        problem: &'static str,
    },
    /// The system refused.
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has it open.
    InUse {
        /// The spool's directory.
        directory: PathBuf,
    },
    /// A file that is named like a segment, but not by its first position.
    Name {
        /// The file.
        file: PathBuf,
    },
    /// A segment that holds records under a header that is not whole.
    Header {
        /// The file.
        file: PathBuf,
    },
    /// A segment of another version of the format.
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A segment whose name is not the position in its header.
    Misnamed {
        /// The file.
        file: PathBuf,
        /// The position in its header.
        first: Position,
    },
    /// A segment that is not as long as its header says.
    Size {
        /// The file.
        file: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// The length by its header.
        expected: u64,
    },
    /// A segment that should lie between two others is not there.
    Missing {
        /// The file that should be there.
        file: PathBuf,
        /// The next that is.
        next: PathBuf,
    },
    /// A segment that begins before the one before it ends.
    Overlap {
        /// The file.
        file: PathBuf,
        /// The one before it.
        before: PathBuf,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings { problem } => write!(f, "the settings of the spool: {problem}"),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::InUse { directory } => {
                write!(f, "{}: another process has this spool open; stop it first", directory.display())
            }
            Self::Name { file } => write!(
                f,
                "{}: a segment is named by the 20 digits of its first position; move the file elsewhere",
                file.display()
            ),
            Self::Header { file } => write!(
                f,
                "{}: the header of this segment is damaged, but there are records below it; restore the file \
                 from a backup, or move it and all later segments elsewhere to go on without their records",
                file.display()
            ),
            Self::Version { file, version } => write!(
                f,
                "{}: this segment has version {version} of the format, which this program does not know; run \
                 the program that wrote it",
                file.display()
            ),
            Self::Misnamed { file, first } => write!(
                f,
                "{}: this segment begins with position {}, which is not its name; give it its name back",
                file.display(),
                first.0
            ),
            Self::Size { file, found, expected } => write!(
                f,
                "{}: this segment has {found} bytes where its header says {expected}; restore the file from a \
                 backup, or move it and all later segments elsewhere to go on without their records",
                file.display()
            ),
            Self::Missing { file, next } => write!(
                f,
                "{}: this segment is missing, but there is {}; restore the file from a backup, or move the \
                 later segments elsewhere to go on without their records",
                file.display(),
                next.display()
            ),
            Self::Overlap { file, before } => write!(
                f,
                "{}: this segment begins before {} ends; one of them is not of this spool, move it elsewhere",
                file.display(),
                before.display()
            ),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why records could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// Records from there on were wanted, but those before `first` are forgotten.
    Forgotten {
        /// From where on they were wanted.
        from: Position,
        /// The first that is still there.
        first: Position,
    },
    /// Records from there on were wanted, but the spool has never been that long.
    Beyond {
        /// From where on they were wanted.
        from: Position,
        /// Where the spool ends.
        tail: Position,
    },
    /// The system refused.
    Io {
        /// The segment.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A record in a layout that this program does not know.
    Newer {
        /// Where it stands.
        position: Position,
        /// The version of its layout.
        version: u8,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forgotten { from, first } => {
                write!(f, "records from {} on are wanted, but those before {} are gone", from.0, first.0)
            }
            Self::Beyond { from, tail } => {
                write!(f, "records from {} on are wanted, but the spool ends at {}", from.0, tail.0)
            }
            Self::Io { file, source } => write!(f, "{}: {source}", file.display()),
            Self::Newer { position, version } => write!(
                f,
                "the record at {} has version {version} of the layout, which this program does not know",
                position.0
            ),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// There is no room for another record; [`Health`](super::Health) says why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the spool is full")
    }
}

impl Error for Full {}

/// The disk did not take what was flushed. The record stands in the spool and flushing is tried again, so whether
/// it will survive a crash of the machine is unknown; one of the process it does survive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlushFailed {
    /// What the system said.
    pub reason: String,
}

impl fmt::Display for FlushFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the spool could not be flushed: {}", self.reason)
    }
}

impl Error for FlushFailed {}
