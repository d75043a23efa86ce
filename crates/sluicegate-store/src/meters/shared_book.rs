//! The book of limits, shared by all threads.
//!
//! Its lock is the innermost: a thread that asks for it may hold a cell, so a thread that has it waits for
//! nothing else.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use sluicegate_core::book::{LimitBook, LimitId};
use sluicegate_core::image::BadImage;
use sluicegate_core::limit::Limit;

#[derive(Debug, Default)]
pub(crate) struct SharedBook(RwLock<LimitBook>);

impl SharedBook {
    /// The book whose entries have these images, in the order of their numbers.
    pub(crate) fn from_images(images: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, BadImage> {
        Ok(Self(RwLock::new(LimitBook::from_images(images)?)))
    }

    /// The number of `limit`, which is entered if it is new.
    pub(crate) fn enter(&self, limit: &Limit) -> LimitId {
        let known = self.read().find(limit);
        known.unwrap_or_else(|| self.0.write().unwrap_or_else(PoisonError::into_inner).enter(limit))
    }

    /// The number of `limit`, which is entered if it is new and there are fewer entries than so many.
    pub(crate) fn enter_below(&self, limit: &Limit, entries_max: usize) -> LimitId {
        let known = self.read().find(limit);
        known.unwrap_or_else(|| {
            self.0.write().unwrap_or_else(PoisonError::into_inner).enter_below(limit, entries_max)
        })
    }

    /// The book, for a moment.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, LimitBook> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
