//! What can go wrong with the directory in Redis, in words that a person can act on.

use std::fmt;

use super::layout::{FORMAT, VERSION};
use crate::directory::makings::Nonsense;
use crate::identity::{StoreMismatch, StoreState};

/// Why Redis did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RedisError {
    /// It cannot be reached, or did not answer a question in time.
    Away(String),
    /// A write was sent, and no answer came: it may have been done.
    Unanswered,
    /// It answered with an error. Nothing was done.
    Refused(String),
    /// A record was written by a version of the program that this one does not know.
    Newer {
        /// Which record.
        what: String,
        /// Its version.
        found: u64,
    },
    /// A record holds what no version of the program writes.
    Nonsense(String),
    /// More is being asked already than may be.
    Overloaded,
    /// Others changed the same thing again and again.
    Contended,
    /// The directory is that of nodes with another secret.
    OtherSecret,
    /// Nodes of a later version have written what this one cannot read.
    NewerFormat(u64),
    /// It is not the store that this node knows, and was not adopted. Nothing was done.
    NotAdopted(StoreState),
    /// The data directory of this node belongs to another store.
    Mismatch(StoreMismatch),
    /// The process is ending.
    Closed,
}

impl fmt::Display for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) => write!(f, "redis does not answer ({why}); check that it runs, then try again"),
            Self::Unanswered => f.write_str(
                "redis did not answer in time; the change may have been made: look before you try again",
            ),
            Self::Refused(why) => write!(f, "redis refused: {why}"),
            Self::Newer { what, found } => write!(
                f,
                "{what} is of version {found}, and this program knows version {VERSION}; upgrade it to the version \
                 that the other nodes have"
            ),
            Self::Nonsense(what) => write!(f, "redis holds what was never written: {what}"),
            Self::Overloaded => f.write_str("too much is being asked of redis at once; try again later"),
            Self::Contended => f.write_str("others are changing the same thing; try again"),
            Self::NewerFormat(found) => write!(
                f,
                "this redis holds format {found}, and this program knows format {FORMAT}; upgrade it to the version \
                 that the other nodes have"
            ),
            Self::OtherSecret => f.write_str(
                "this redis has the accounts of nodes with another SLUICEGATE_SECRET; give this node the same secret \
                 as the others, or name a redis (or a database of it) that is its own",
            ),
            Self::NotAdopted(state) => state.fmt(f),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
            Self::Closed => f.write_str("the directory is closed"),
        }
    }
}

impl std::error::Error for RedisError {}

impl From<Nonsense> for RedisError {
    fn from(nonsense: Nonsense) -> Self {
        Self::Nonsense(nonsense.0)
    }
}
