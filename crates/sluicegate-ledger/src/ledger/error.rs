//! What can go wrong with a ledger as a whole.

use std::error::Error;
use std::path::PathBuf;
use std::{fmt, io};

use crate::chain::ChainError;
use crate::usage::{BookError, RollError};

/// Why a ledger could not be opened.
#[derive(Debug)]
pub enum OpenLedgerError {
    /// The system refused.
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The book failed.
    Book(BookError),
    /// The node cannot be called this.
    Node {
        /// The name.
        name: String,
    },
    /// The node had another name, which objects and events have been named with.
    Renamed {
        /// The name it had.
        kept: String,
        /// The name it was to have.
        wanted: String,
    },
    /// Hours that a wrong clock had closed could not be opened again.
    Reopen(RepairError),
    /// The system gave no random bytes.
    Random,
}

impl fmt::Display for OpenLedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Book(error) => error.fmt(f),
            Self::Reopen(error) => error.fmt(f),
            Self::Node { name } => {
                write!(
                    f,
                    "a node cannot be called `{name}`: letters, digits, `-` and `_` will do, up to 64 of them"
                )
            }
            Self::Renamed { kept, wanted } => write!(
                f,
                "this data directory belongs to the node `{kept}`, not to `{wanted}`: its usage is exported under that \
                 name"
            ),
            Self::Random => f.write_str("the system gives no random bytes"),
        }
    }
}

impl Error for OpenLedgerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Book(error) => Some(error),
            Self::Reopen(error) => Some(error),
            Self::Node { .. } | Self::Renamed { .. } | Self::Random => None,
        }
    }
}

impl From<BookError> for OpenLedgerError {
    fn from(error: BookError) -> Self {
        Self::Book(error)
    }
}

impl From<RepairError> for OpenLedgerError {
    fn from(error: RepairError) -> Self {
        Self::Reopen(error)
    }
}

/// Why nothing, or not everything, was removed.
#[derive(Debug)]
pub enum PruneError {
    /// The book failed.
    Book(BookError),
    /// The chain failed.
    Chain(ChainError),
    /// The system refused.
    Io {
        /// What was to be removed.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl fmt::Display for PruneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Book(error) => error.fmt(f),
            Self::Chain(error) => error.fmt(f),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl Error for PruneError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Book(error) => Some(error),
            Self::Chain(error) => Some(error),
            Self::Io { source, .. } => Some(source),
        }
    }
}

impl From<BookError> for PruneError {
    fn from(error: BookError) -> Self {
        Self::Book(error)
    }
}

impl From<ChainError> for PruneError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

/// Why roll-ups could not be set right.
#[derive(Debug)]
pub enum RepairError {
    /// The book failed, or the records.
    Roll(RollError),
    /// They are set right, and could not be signed. They are with the next checkpoint.
    Chain(ChainError),
}

impl fmt::Display for RepairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Roll(error) => error.fmt(f),
            Self::Chain(error) => error.fmt(f),
        }
    }
}

impl Error for RepairError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Roll(error) => Some(error),
            Self::Chain(error) => Some(error),
        }
    }
}

impl From<RollError> for RepairError {
    fn from(error: RollError) -> Self {
        Self::Roll(error)
    }
}

impl From<ChainError> for RepairError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}
