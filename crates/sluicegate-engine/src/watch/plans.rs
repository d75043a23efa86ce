//! Plans made from other plans: each is made once for as long as the original is used.

use std::collections::HashMap;
use std::hash::{Hash, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::book::LimitId;
use sluicegate_core::limit::Limit;
use sluicegate_core::plan::SubjectClass;
use sluicegate_core::policy::{Bucket, Percent, Pressure};
use sluicegate_core::tariff::Plan;
use sluicegate_ledger::Flags;
use sluicegate_store::meters::MeterTable;

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

/// How a plan is resized for a caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Size {
    /// What is left of every limit.
    pub(super) share: Percent,
    /// The reputation that it is for, if one is kept.
    pub(super) bucket: Option<Bucket>,
    /// Who shares the meters.
    pub(super) sharing: Sharing,
}

/// Who shares the meters of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Sharing {
    /// They are one caller's own.
    Alone,
    /// The callers behind an address prefix under pressure: the limits of so many.
    Prefix(u64),
    /// The callers of an overflow bucket: the limits of so many.
    Overflow(u64),
}

impl Size {
    fn resize(self, sold: &Plan, enter: impl FnMut(&Limit) -> LimitId) -> Plan {
        match self.sharing {
            // What one of several callers does is not held against the others.
            Sharing::Prefix(callers) => sold.shared_by(callers, self.share, enter),
            Sharing::Overflow(callers) => {
                sold.shared_by(callers, self.share, enter).for_class(SubjectClass::Overflow)
            }
            Sharing::Alone => {
                let plan = sold.squeezed(self.share, enter);
                match self.bucket {
                    Some(bucket) => plan.expecting(bucket),
                    None => plan,
                }
            }
        }
    }
}

impl PlanCache<Size> {
    /// A plan in another size.
    pub(super) fn sized(&self, sold: &Arc<Plan>, size: Size, meters: &MeterTable) -> Arc<Plan> {
        self.of(sold, size, |sold| size.resize(sold, |limit| meters.enter(limit)))
    }

    /// The plan under which something was charged that has these flags, as the policy has it now.
    pub(crate) fn recorded(
        &self,
        sold: Arc<Plan>,
        flags: Flags,
        pressure: Option<Pressure>,
        meters: &MeterTable,
    ) -> Arc<Plan> {
        if !flags.contains(Flags::PREFIX) {
            return sold;
        }
        let Pressure { squeeze_to: share, share: callers, .. } = pressure.unwrap_or_default();
        let sharing = Sharing::Prefix(callers.get().into());
        self.sized(&sold, Size { share, bucket: None, sharing }, meters)
    }
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
