//! Sealing: closed hours go to object storage as Parquet files, each once.
//!
//! The name of an object follows from its hour and its node, its bytes from the rows of the hour, and an object that
//! exists is never overwritten. After an interruption the upload is retried: either the object does not exist, or it
//! exists with the same rows. Only then is the hour marked as sealed.
//!
//! In a build without the feature `export` no [`Destination`] can be opened, and the rest is never reached.

mod access;
#[cfg(feature = "export")]
mod check;
#[cfg(feature = "export")]
mod destination;
mod error;
#[cfg(feature = "export")]
mod http;
#[cfg(feature = "export")]
mod object;
#[cfg(not(feature = "export"))]
#[path = "seal/absent.rs"]
mod sealer;
#[cfg(feature = "export")]
mod sealer;

pub use access::{DestinationError, S3Access};
#[cfg(feature = "export")]
pub use destination::Destination;
pub use error::SealError;
#[cfg(not(feature = "export"))]
pub use sealer::Destination;
pub use sealer::Sealer;

use crate::hour::Hour;
use crate::reconcile::Totals;

/// What was sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sealed {
    /// How many hours.
    pub hours: u64,
    /// How many of them were in object storage already, from an attempt that was interrupted.
    pub found: u64,
    /// How many rows they have.
    pub rows: u64,
}

/// How far sealing has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The hour that was sealed last.
    pub hour: Hour,
    /// The first hour that is not closed: where it ends.
    pub until: Hour,
    /// What was sealed so far.
    pub sealed: Sealed,
}

/// What sealed hours say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SealedTotals {
    /// What accounts used by them.
    pub totals: Totals,
    /// How many objects were read.
    pub objects: u64,
    /// Hours whose objects are not there.
    pub missing: Vec<Hour>,
    /// Hours whose objects are not what was sealed. They are in no total.
    pub damaged: Vec<Hour>,
}
