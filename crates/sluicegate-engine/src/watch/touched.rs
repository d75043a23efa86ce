//! Homes whose meters changed without leaving a record: refusals are held against callers, and cost nothing; limits
//! that belong to no account are on nobody's bill.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use sluicegate_core::plan::HomeId;

/// How many are remembered between two checkpoints. Of more, a crash forgets what happened since the last one.
const HOMES_MAX: usize = 1 << 20;

/// In so many parts, so that threads seldom meet.
const PARTS: usize = 64;

/// Homes that the next checkpoint has to look at, besides those that records name.
#[derive(Debug)]
pub(crate) struct Touched([Mutex<BTreeSet<HomeId>>; PARTS]);

impl Default for Touched {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Touched {
    pub(crate) fn add(&self, home: HomeId) {
        let mut homes = self.part(home).lock();
        if homes.len() < HOMES_MAX / PARTS {
            homes.insert(home);
        }
    }

    /// All of them, which are forgotten here.
    pub(crate) fn take(&self) -> BTreeSet<HomeId> {
        self.0.iter().flat_map(|part| std::mem::take(&mut *part.lock())).collect()
    }

    /// Takes them back: the checkpoint was not made.
    pub(crate) fn put_back(&self, homes: BTreeSet<HomeId>) {
        for home in homes {
            self.part(home).lock().insert(home);
        }
    }

    fn part(&self, home: HomeId) -> &Mutex<BTreeSet<HomeId>> {
        // Any part of a hash is a hash.
        let part = home.0 as usize % PARTS;
        &self.0[part]
    }
}
