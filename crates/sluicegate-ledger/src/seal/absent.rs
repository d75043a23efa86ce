//! Sealing in a build without the feature `export`: there is no destination, so nothing else can be called.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sluicegate_core::time::Timestamp;

use super::{DestinationError, Progress, S3Access, SealError, Sealed, SealedTotals};
use crate::export::Names;
use crate::hour::Hour;
use crate::usage::Book;

/// A destination that does not exist.
#[derive(Clone, Debug)]
pub struct Destination(Infallible);

impl Destination {
    /// Says which feature is missing.
    pub fn open(url: &str, _: &S3Access) -> Result<Self, DestinationError> {
        let why = "this program was built without exports: enable the feature `export`".to_owned();
        Err(DestinationError { url: url.to_owned(), why })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

/// Whose hours are sealed, and to where.
#[expect(dead_code, reason = "there is no value of it whose fields could be read")]
pub struct Sealer {
    pub(crate) book: Arc<Book>,
    pub(crate) names: Arc<dyn Names>,
    pub(crate) node: String,
    pub(crate) destination: Destination,
}

impl Sealer {
    /// Never called.
    pub async fn seal_due(&self, _: Timestamp, _: impl FnMut(Progress) + Send) -> Result<Sealed, SealError> {
        self.never()
    }

    /// Never called.
    pub async fn seal_again(&self, _: &[Hour], _: Timestamp) -> Result<Sealed, SealError> {
        self.never()
    }

    /// Never called.
    pub async fn read_back(&self, _: Range<Hour>) -> Result<SealedTotals, SealError> {
        self.never()
    }

    fn never<T>(&self) -> T {
        match self.destination.0 {}
    }
}
