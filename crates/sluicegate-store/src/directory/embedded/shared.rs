//! What the writes of a directory work on: the index in memory, and what its entries share.

use super::index::Index;
use crate::directory::makings::Makings;
use crate::hash::HomeHasher;

/// The part of the directory that its threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) index: Index,
    pub(super) makings: Makings,
}

impl Shared {
    pub(super) fn new(homes: HomeHasher) -> Self {
        Self { index: Index::new(), makings: Makings::new(homes) }
    }
}
