//! Homes whose meters changed without leaving a record: refusals are held against callers, and cost nothing.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tollgate_core::plan::HomeId;

/// How many are remembered between two checkpoints. Of more, a crash forgets the refusals since the last one.
const HOMES_MAX: usize = 1 << 20;

/// Homes that the next checkpoint has to look at, besides those that records name.
#[derive(Debug, Default)]
pub(crate) struct Touched(Mutex<BTreeSet<HomeId>>);

impl Touched {
    pub(crate) fn add(&self, home: HomeId) {
        let mut homes = self.0.lock();
        if homes.len() < HOMES_MAX {
            homes.insert(home);
        }
    }

    /// All of them, which are forgotten here.
    pub(crate) fn take(&self) -> BTreeSet<HomeId> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Takes them back: the checkpoint was not made.
    pub(crate) fn put_back(&self, homes: BTreeSet<HomeId>) {
        self.0.lock().extend(homes);
    }
}
