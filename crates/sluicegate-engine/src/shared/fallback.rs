//! What decides while the store is away: a share of each limit, counted in this process alone.

use std::sync::Arc;

use sluicegate_core::limit::Axis;
use sluicegate_core::policy::{Degraded, DegradedQuota, DegradedRate};
use sluicegate_core::tariff::Plan;
use sluicegate_store::meters::MeterTable;

use crate::watch::PlanCache;

/// The stand-ins of plans that were asked for while the store was away.
#[derive(Debug, Default)]
pub(super) struct Fallbacks(PlanCache<()>);

impl Fallbacks {
    /// What decides for a plan.
    pub(super) fn of(&self, plan: &Arc<Plan>, degraded: &Degraded, meters: &MeterTable) -> Arc<Plan> {
        self.0.of(plan, (), |plan| {
            plan.part(degraded.cap, |axis| is_counted(degraded, axis), |limit| meters.enter(limit))
        })
    }

    /// Forgets plans that nobody uses any more.
    pub(super) fn sweep(&self) {
        self.0.sweep();
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
pub(crate) fn is_closed(degraded: &Degraded, plan: &Plan) -> bool {
    let quick = plan.tariff.has(Axis::Rate) || plan.tariff.has(Axis::Concurrency);
    (degraded.rate == DegradedRate::Closed && quick)
        || (degraded.quota == DegradedQuota::Closed && plan.tariff.has(Axis::Quota))
}

/// Whether the store has to be told of what is used meanwhile: however quotas are decided, usage is billed.
pub(crate) fn is_owed(degraded: &Degraded, plan: &Plan) -> bool {
    degraded.quota != DegradedQuota::Closed && plan.tariff.has(Axis::Quota)
}
