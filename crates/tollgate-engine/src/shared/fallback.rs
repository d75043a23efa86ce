//! What decides while the store is away: a share of each limit, counted in this process alone.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

use parking_lot::Mutex;
use tollgate_core::limit::Axis;
use tollgate_core::policy::{Degraded, DegradedQuota, DegradedRate};
use tollgate_core::tariff::Plan;
use tollgate_store::meters::MeterTable;

/// How many plans have a stand-in at a time. A policy has a few; each negotiated tier is one more.
const PLANS_MAX: usize = 10_000;

/// The stand-ins of plans that were asked for while the store was away.
#[derive(Debug, Default)]
pub(super) struct Fallbacks(Mutex<HashMap<usize, Standin, RandomState>>);

/// The stand-in of a plan. Holding on to the plan keeps its place in memory from becoming another's.
#[derive(Debug)]
struct Standin {
    of: Arc<Plan>,
    plan: Arc<Plan>,
}

impl Fallbacks {
    /// What decides for a plan.
    pub(super) fn of(&self, plan: &Arc<Plan>, degraded: &Degraded, meters: &MeterTable) -> Arc<Plan> {
        let mut known = self.0.lock();
        let place = Arc::as_ptr(plan) as usize;
        if let Some(known) = known.get(&place) {
            return Arc::clone(&known.plan);
        }
        // Those of policies that were replaced go too; whoever is asked for again is made again.
        if known.len() >= PLANS_MAX {
            known.clear();
        }
        let made =
            Arc::new(plan.part(degraded.cap, |axis| is_counted(degraded, axis), |limit| meters.enter(limit)));
        known.insert(place, Standin { of: Arc::clone(plan), plan: Arc::clone(&made) });
        made
    }

    /// Forgets plans that nobody uses any more.
    pub(super) fn sweep(&self) {
        self.0.lock().retain(|_, standin| Arc::strong_count(&standin.of) > 1);
    }
}

/// Whether limits on an axis are counted here.
fn is_counted(degraded: &Degraded, axis: Axis) -> bool {
    match axis {
        Axis::Rate | Axis::Concurrency => degraded.rate == DegradedRate::Local,
        Axis::Quota => degraded.quota == DegradedQuota::Local,
        Axis::Conduct => true,
    }
}

/// Whether a plan has a limit without which nothing is decided.
pub(super) fn is_closed(degraded: &Degraded, plan: &Plan) -> bool {
    let quick = plan.tariff.has(Axis::Rate) || plan.tariff.has(Axis::Concurrency);
    (degraded.rate == DegradedRate::Closed && quick)
        || (degraded.quota == DegradedQuota::Closed && plan.tariff.has(Axis::Quota))
}

/// Whether the store has to be told of what is used meanwhile.
pub(super) fn is_owed(degraded: &Degraded, plan: &Plan) -> bool {
    degraded.quota == DegradedQuota::Reconcile && plan.tariff.has(Axis::Quota)
}
