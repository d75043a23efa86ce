//! The permit of a decision, given to the service that finishes the request.

use sluicegate_core::limit::Axis;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Decision, Engine, HandedPermit, Hold};

/// Gives out the permit of a decision, if the service will finish it.
pub(crate) fn keep(
    engine: &Engine,
    decision: &mut Decision,
    hold: Hold,
    now: Timestamp,
) -> Option<HandedPermit> {
    let permit = decision.permit.take()?;
    let needed = decision.plan.as_ref().is_some_and(|plan| plan.tariff.has(Axis::Concurrency));
    if hold.is_asked_for() || needed { engine.keep(permit, now) } else { None }
}
