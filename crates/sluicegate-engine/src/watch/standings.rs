//! How callers stood when they were last seen: a guess that spares asking twice. The meters know.

use std::collections::HashMap;
use std::hash::RandomState;

use parking_lot::Mutex;
use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_core::policy::Bucket;

/// How many callers are remembered. Nearly all have a good reputation, and are not.
const CALLERS_MAX: usize = 65_536;

/// How a caller stood when its request was decided on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its reputation; nothing where none is kept.
    pub reputation: Option<Bucket>,
    /// Whether too many fingerprints were seen behind its address.
    pub squeezed: bool,
}

impl Standing {
    /// Of a caller that nothing is held against.
    pub const GOOD: Self = Self { reputation: None, squeezed: false };
}

/// Callers whose reputation was not good.
#[derive(Debug, Default)]
pub(super) struct Standings(Mutex<HashMap<(HomeId, Sharer), Bucket, RandomState>>);

impl Standings {
    pub(super) fn guess(&self, home: HomeId, sharer: Sharer) -> Bucket {
        self.0.lock().get(&(home, sharer)).copied().unwrap_or(Bucket::Low)
    }

    pub(super) fn learn(&self, home: HomeId, sharer: Sharer, bucket: Bucket) {
        let mut known = self.0.lock();
        if bucket == Bucket::Low {
            known.remove(&(home, sharer));
            return;
        }
        // A guess that is lost is made again.
        if known.len() >= CALLERS_MAX {
            known.clear();
        }
        known.insert((home, sharer), bucket);
    }
}
