//! Why books could not be compared with anything.

use std::{fmt, io};

use sluicegate_core::image::BadImage;
use sluicegate_core::time::Nanos;
use sluicegate_ledger::ReadError;
use sluicegate_ledger::export::ExportError;
use sluicegate_ledger::ledger::RepairError;
use sluicegate_ledger::seal::{DestinationError, SealError};
use sluicegate_ledger::usage::{BookError, RollError};
use sluicegate_store::directory::StoreError;
use sluicegate_store::redis::Away;

use crate::save::SaveError;

/// Why books could not be compared with anything.
#[derive(Debug)]
pub enum CompareError {
    /// Records that quotas still count were removed.
    Forgotten,
    /// The policy names no place that hours are exported to.
    NoExport,
    /// The spool could not be flushed.
    Flush(io::Error),
    /// The spool could not be read.
    Read(ReadError),
    /// A record was begun long ago, and is not there yet.
    Stalled,
    /// The book failed.
    Book(RollError),
    /// Usage could not be written with names.
    Export(ExportError),
    /// There is no going where hours are exported to.
    Destination(DestinationError),
    /// What was exported could not be read.
    Seal(SealError),
    /// A meter could not be read.
    Meter(BadImage),
    /// The meters are far away, and do not answer.
    Away(Away),
    /// The clock of this node and that of the shared store disagree.
    Clocks {
        /// By how much.
        apart: Nanos,
    },
    /// There is no room for a record.
    Full,
    /// The directory does not answer.
    Directory(StoreError),
    /// What was set right could not be saved.
    Save(SaveError),
    /// Rows could not be set right.
    Repair(RepairError),
    /// The process is ending.
    Ending,
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forgotten => f.write_str(
                "records that a quota still counts were removed: keep them for longer than the longest quota, with \
                 `ledger.raw`",
            ),
            Self::NoExport => f.write_str("nothing is exported: the policy has no `ledger.export`"),
            Self::Flush(error) => write!(f, "the spool could not be flushed: {error}"),
            Self::Read(error) => error.fmt(f),
            Self::Stalled => f.write_str("a record is being written and not done: the machine is too busy, try again"),
            Self::Book(error) => error.fmt(f),
            Self::Export(error) => error.fmt(f),
            Self::Destination(error) => error.fmt(f),
            Self::Seal(error) => error.fmt(f),
            Self::Meter(error) => write!(f, "a meter could not be read: {error}"),
            Self::Away(error) => write!(f, "the meters cannot be asked: {error}"),
            Self::Clocks { apart } => write!(
                f,
                "the clocks of this node and of the shared store disagree by {} s, and quotas are counted by the \
                 store's: correct this node's clock, or ask another node",
                apart.0 / 1_000_000_000
            ),
            Self::Full => f.write_str("the ledger cannot take a record now: see `/health`"),
            Self::Directory(error) => error.fmt(f),
            Self::Save(error) => error.fmt(f),
            Self::Repair(error) => error.fmt(f),
            Self::Ending => f.write_str("the process is ending"),
        }
    }
}

impl std::error::Error for CompareError {}

impl From<ReadError> for CompareError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<BookError> for CompareError {
    fn from(error: BookError) -> Self {
        Self::Book(RollError::Book(error))
    }
}

impl From<RollError> for CompareError {
    fn from(error: RollError) -> Self {
        Self::Book(error)
    }
}

impl From<BadImage> for CompareError {
    fn from(error: BadImage) -> Self {
        Self::Meter(error)
    }
}

impl From<Away> for CompareError {
    fn from(error: Away) -> Self {
        Self::Away(error)
    }
}

impl From<StoreError> for CompareError {
    fn from(error: StoreError) -> Self {
        Self::Directory(error)
    }
}
