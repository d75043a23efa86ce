//! The permit of a decision, kept for whoever finishes it by its id.

use sluicegate_core::limit::Axis;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Decision, Engine, Hold, PermitId};

/// Keeps the permit of a decision, if somebody will finish it.
pub(crate) fn keep(engine: &Engine, decision: &mut Decision, hold: Hold, now: Timestamp) -> Option<PermitId> {
    let permit = decision.permit.take()?;
    let needed = decision.plan.as_ref().is_some_and(|plan| plan.tariff.has(Axis::Concurrency));
    (hold == Hold::Yes || needed).then(|| engine.keep(permit, now))
}
