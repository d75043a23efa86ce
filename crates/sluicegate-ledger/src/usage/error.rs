//! What can go wrong with the book, in words that a person can act on.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use rusqlite::ErrorCode;

use crate::spool::{Position, ReadError};

/// Why the book did not do what it was asked. Nothing of it is done then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BookError {
    /// The file cannot be opened or made.
    CannotOpen {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The file is something else.
    NotOurs {
        /// Which file.
        path: PathBuf,
    },
    /// A newer version of the program wrote the file.
    Newer {
        /// The version of its tables.
        found: u32,
        /// The last version known here.
        known: u32,
    },
    /// Usage of a single row is more than can be counted.
    TooLarge,
    /// No space is left on the disk.
    DiskFull,
    /// The file is damaged, or holds what no version of the program writes.
    Damaged(String),
    /// SQLite says something else.
    Failed(String),
}

impl fmt::Display for BookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotOpen { path, why } => write!(f, "cannot open {}: {why}", path.display()),
            Self::NotOurs { path } => {
                write!(f, "{} is not a book of usage; move it elsewhere", path.display())
            }
            Self::Newer { found, known } => write!(
                f,
                "the book of usage was written by a newer version (its tables are version {found}, this program \
                 knows {known}); upgrade the program"
            ),
            Self::TooLarge => f.write_str("usage of one hour is more than can be counted"),
            Self::DiskFull => f.write_str("the disk is full; free some space, and counting goes on"),
            Self::Damaged(why) => {
                write!(f, "the book of usage is damaged ({why}); restore it from a backup")
            }
            Self::Failed(why) => write!(f, "the book of usage failed: {why}"),
        }
    }
}

impl Error for BookError {}

impl From<rusqlite::Error> for BookError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            // A sum that is no whole number of 64 bits any more is refused by the table.
            Some(ErrorCode::ConstraintViolation) => Self::TooLarge,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
            Some(_) => Self::Failed(error.to_string()),
            // No code of SQLite's: a value is not of the type that was written.
            None => Self::Damaged(error.to_string()),
        }
    }
}

/// Why records were not counted. They stay where they are and are counted by the next attempt.
#[derive(Debug)]
pub enum RollError {
    /// The book failed.
    Book(BookError),
    /// The spool could not be read.
    Read(ReadError),
    /// Records were removed from the spool before they were counted.
    Gap {
        /// The first that was not counted.
        from: Position,
        /// The first that is still there.
        first: Position,
    },
    /// The book has counted more than the spool has: it is not the book of this spool.
    Ahead {
        /// What the book would count next.
        position: Position,
        /// Where the spool ends.
        tail: Position,
    },
}

impl fmt::Display for RollError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Book(error) => error.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Gap { from, first } => write!(
                f,
                "records {} to {} are gone from the spool and were not counted; restore the spool, or the book of \
                 usage that counted them, from a backup",
                from.0,
                first.0.saturating_sub(1)
            ),
            Self::Ahead { position, tail } => write!(
                f,
                "the book of usage has counted the records before {}, but the spool ends at {}: they do not belong \
                 together; restore both from the same backup, or move the book elsewhere to begin a new one",
                position.0, tail.0
            ),
        }
    }
}

impl Error for RollError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Book(error) => Some(error),
            Self::Read(error) => Some(error),
            Self::Gap { .. } | Self::Ahead { .. } => None,
        }
    }
}

impl From<BookError> for RollError {
    fn from(error: BookError) -> Self {
        Self::Book(error)
    }
}

impl From<rusqlite::Error> for RollError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Book(error.into())
    }
}

impl From<ReadError> for RollError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Forgotten { from, first } => Self::Gap { from, first },
            ReadError::Beyond { from, tail } => Self::Ahead { position: from, tail },
            other => Self::Read(other),
        }
    }
}
