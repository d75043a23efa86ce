//! Plans made from other plans: each is made once for as long as the original is used.

use std::collections::HashMap;
use std::hash::{Hash, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::policy::{Bucket, Percent};
use sluicegate_core::tariff::Plan;

/// How many plans are kept at a time. A policy has a few; each negotiated tier is one more.
const PLANS_MAX: usize = 10_000;

/// Plans that were made from others, by what was done to them.
#[derive(Debug)]
pub(crate) struct PlanCache<K>(Mutex<HashMap<(usize, K), Made, RandomState>>);

/// Holding on to the original keeps its place in memory from becoming another's.
#[derive(Debug)]
struct Made {
    of: Arc<Plan>,
    plan: Arc<Plan>,
}

/// What a plan becomes for somebody who is not treated like everybody.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Size {
    /// What is left of every limit.
    pub(super) share: Percent,
    /// The reputation that it is for, if one is kept.
    pub(super) bucket: Option<Bucket>,
    /// It is for a home that 2 to the power of this many callers share.
    pub(super) members_log2: Option<u8>,
}

impl<K> Default for PlanCache<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> PlanCache<K> {
    /// What `make` makes of a plan, or has made of it before.
    pub(crate) fn of(&self, plan: &Arc<Plan>, key: K, make: impl FnOnce(&Plan) -> Plan) -> Arc<Plan> {
        let mut known = self.0.lock();
        let key = (Arc::as_ptr(plan) as usize, key);
        if let Some(known) = known.get(&key) {
            return Arc::clone(&known.plan);
        }
        // Those of policies that were replaced go too; whoever is asked for again is made again.
        if known.len() >= PLANS_MAX {
            known.clear();
        }
        let made = Arc::new(make(plan));
        known.insert(key, Made { of: Arc::clone(plan), plan: Arc::clone(&made) });
        made
    }

    /// Forgets plans whose originals nobody uses any more.
    pub(crate) fn sweep(&self) {
        self.0.lock().retain(|_, made| Arc::strong_count(&made.of) > 1);
    }
}
