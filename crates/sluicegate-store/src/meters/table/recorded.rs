//! Settling what was recorded once more, and setting overage right: the ledger is the truth.

use crossbeam_epoch::pin;
use sluicegate_core::plan::{ChargePlan, Mode};
use sluicegate_core::settle::{Outcome, Readings};

use super::{MeterTable, partition_of};
use crate::meters::cell::IfEmpty;
use crate::meters::home::Home;

/// Under which limits something was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limits {
    /// Those of the plan, unless its overage says otherwise.
    OfNow,
    /// Others: the tier has changed since.
    OfThen,
}

impl MeterTable {
    /// Settles a plan that was recorded with so much overage. The record stands, also where the limits have changed
    /// since: overage goes on from there.
    pub fn settle_recorded(&self, plan: &ChargePlan<'_>, overage: u64, limits: Limits) -> Outcome {
        let mut readings = Readings::new();
        let mut change = 0;
        let outcome = self.settle_then(plan, &mut readings, |outcome| {
            if let Outcome::Admitted { overage } = outcome {
                change = overage;
            }
        });
        if change == overage && limits == Limits::OfNow {
            return outcome;
        }
        let mut charges = plan.charges().iter().zip(&readings);
        if let Some((_, reading)) = charges.find(|(charge, _)| charge.limit.included().is_some()) {
            let total = match plan.mode {
                Mode::Refund { .. } => reading.overage.saturating_add(change).saturating_sub(overage),
                _ => reading.overage.saturating_sub(change).saturating_add(overage),
            };
            self.with_home(plan, |home| home.rebase(plan, &readings, total));
        }
        outcome
    }

    /// Sets the overage of the billed quota of a plan, which is a peek, to so much.
    pub fn set_overage(&self, plan: &ChargePlan<'_>, overage: u64) {
        let mut readings = Readings::new();
        self.settle(plan, &mut readings);
        let mut charges = plan.charges().iter().zip(&readings);
        let billed = charges.find(|(charge, _)| charge.limit.included().is_some());
        if billed.is_some_and(|(_, reading)| reading.overage != overage) {
            self.with_home(plan, |home| home.rebase(plan, &readings, overage));
        }
    }

    fn with_home(&self, plan: &ChargePlan<'_>, f: impl FnOnce(&mut Home)) {
        let guard = pin();
        if let Some(mut cell) = self.find_cell(partition_of(plan.home), plan.home, IfEmpty::Leave, &guard) {
            cell.with(f);
        }
    }
}
