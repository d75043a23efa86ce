//! Callers that behave: the meters that refusals are charged to do not exist yet, and the rest lies in the cell.
//!
//! Most callers are never refused. Their plans are settled in the cell, without a list, although they name meters that
//! are not there.

use arrayvec::ArrayVec;
use sluicegate_core::meter::{Meter, Moment, State, Step};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::plan::{CHARGES_MAX, ChargePlan, Due};
use sluicegate_core::rule::{Ask, Rule, Verdict};
use sluicegate_core::settle::{Outcome, Readings, settle};

use super::home::Small;

/// A meter of such a plan.
enum Beside<'h> {
    /// In the cell.
    Kept(&'h mut Small),
    /// Nowhere: nothing was ever charged to it.
    Fresh(Meter),
}

/// Settles a plan against a cell that has the meters of what is due on admission and no others. Nothing if it is not
/// so, or if meters come into being: nothing was changed then.
#[inline(never)]
pub(super) fn settle_beside(
    small: &mut [Small],
    plan: &ChargePlan<'_>,
    readings: &mut Readings,
) -> Option<Outcome> {
    let charges = plan.charges();
    if small.is_empty() {
        // The meters may be in a list.
        return None;
    }
    let (owed, signals) = charges.split_at_checked(small.len())?;
    let ready = owed
        .iter()
        .zip(&*small)
        .all(|(charge, small)| charge.due == Due::Admission && small.is_ready_for(charge, plan));
    if !ready || signals.iter().any(|charge| charge.due == Due::Admission) {
        return None;
    }
    let fresh = signals.iter().map(|charge| Beside::Fresh(Meter::fresh(&charge.limit.rule)));
    let mut meters: ArrayVec<Beside<'_>, CHARGES_MAX> =
        small.iter_mut().map(Beside::Kept).chain(fresh).collect();
    let outcome = settle(plan, &mut meters, readings);
    // A refusal has changed nothing in the cell, and is settled again where there is room for what it makes.
    (!outcome.charges(Due::Refusal, plan.mode)).then_some(outcome)
}

impl State for Beside<'_> {
    type Step = Step;

    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> (Step, Verdict) {
        match self {
            Self::Kept(small) => {
                let (step, verdict) = small.settle(rule, ask, moment);
                (Step::Small(step), verdict)
            }
            Self::Fresh(meter) => meter.settle(rule, ask, moment),
        }
    }

    fn baseline(&self, rule: &Rule, moment: &Moment<'_>) -> OverageBaseline {
        match self {
            Self::Kept(small) => small.baseline(rule, moment),
            Self::Fresh(meter) => meter.baseline(rule, moment),
        }
    }

    fn past_overage_change(&self, step: Step, included: u64) -> Option<u64> {
        match self {
            Self::Kept(_) => None,
            Self::Fresh(meter) => meter.past_overage_change(step, included),
        }
    }

    fn apply(&mut self, step: Step) {
        match (self, step) {
            (Self::Kept(small), Step::Small(step)) => small.apply(step),
            (Self::Kept(_), _) => debug_assert!(false, "a small meter has small steps"),
            (Self::Fresh(meter), step) => meter.apply(step),
        }
    }
}
