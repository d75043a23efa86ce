//! What can go wrong with the database, in words that a person can act on.

use std::fmt;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why the database did not do what it was asked. Nothing of what was asked is done then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DatabaseError {
    /// The file cannot be opened or made.
    CannotOpen {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The file is something else.
    NotADatabase {
        /// Which file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    NotOurs {
        /// Which file.
        path: PathBuf,
    },
    /// Another process has it, and means to keep it.
    InUse {
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
    /// An older version of the program wrote the file, and none since has opened it to write.
    Older {
        /// The version of its tables.
        found: u32,
        /// The version that is needed here.
        known: u32,
    },
    /// Another process holds the database's lock and did not let go in time.
    Locked,
    /// No space is left on the disk.
    DiskFull,
    /// The file may be read only.
    ReadOnly,
    /// The disk failed to read or write.
    Disk(String),
    /// The file is damaged.
    Damaged(String),
    /// A row holds what no version of the program writes.
    Nonsense(String),
    /// More writes are waiting than are kept in line.
    Overloaded,
    /// The database was closed.
    Closed,
    /// SQLite says something else.
    Other(String),
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotOpen { path, why } => write!(f, "cannot open {}: {why}", path.display()),
            Self::NotADatabase { path } => {
                write!(
                    f,
                    "{} is not a database; move it away, or name another data directory",
                    path.display()
                )
            }
            Self::NotOurs { path } => {
                write!(f, "{} is a database of another program; name another data directory", path.display())
            }
            Self::InUse { path } => {
                write!(f, "{} is in use by another process; only one may have it", path.display())
            }
            Self::Newer { found, known } => write!(
                f,
                "the database was written by a newer version (its tables are version {found}, this program knows \
                 {known}); upgrade the program"
            ),
            Self::Older { found, known } => write!(
                f,
                "the database was written by an older version (its tables are version {found}, this program needs \
                 {known}); start the server once, which brings it up to date"
            ),
            Self::Locked => f.write_str("another process keeps the database locked; end it, then try again"),
            Self::DiskFull => {
                f.write_str("the disk is full; nothing was written; free some space, then try again")
            }
            Self::ReadOnly => {
                f.write_str("the database may not be written; check the permissions of its folder")
            }
            Self::Disk(why) => write!(f, "the disk failed: {why}"),
            Self::Damaged(why) => write!(f, "the database is damaged ({why}); restore it from a backup"),
            Self::Nonsense(what) => write!(f, "the database holds what was never written: {what}"),
            Self::Overloaded => f.write_str("too many writes are waiting; try again later"),
            Self::Closed => f.write_str("the database is closed"),
            Self::Other(why) => write!(f, "the database failed: {why}"),
        }
    }
}

impl std::error::Error for DatabaseError {}

impl DatabaseError {
    /// What an error means while `path` is being opened.
    pub(super) fn opening(path: &std::path::Path, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path: path.to_owned() },
            Some(ErrorCode::CannotOpen) => Self::CannotOpen { path: path.to_owned(), why: error.to_string() },
            _ => Self::of(error),
        }
    }

    fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly,
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Self::Disk(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
            Some(_) => Self::Other(error.to_string()),
            // No code of SQLite's: a value is not of the type that was written.
            None => Self::Nonsense(error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::of(&error)
    }
}

impl From<rusqlite::types::FromSqlError> for DatabaseError {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        Self::Nonsense(error.to_string())
    }
}
