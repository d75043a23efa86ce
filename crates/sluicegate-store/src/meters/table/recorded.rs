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
        // What was recorded may be of a period that is over, which has no reading.
        let by = match plan.mode {
            Mode::Refund { .. } => i128::from(change) - i128::from(overage),
            _ => i128::from(overage) - i128::from(change),
        };
        self.with_home(plan, |home| home.adjust_overage(plan, by));
        outcome
    }

    /// Sets the overage of the billed quota of a plan, which is a peek, to so much.
    pub fn set_overage(&self, plan: &ChargePlan<'_>, overage: u64) {
        let mut readings = Readings::new();
        self.settle(plan, &mut readings);
        let mut charges = plan.charges().iter().zip(&readings);
        let billed = charges.find(|(charge, _)| charge.limit.included().is_some());
        if let Some((_, reading)) = billed.filter(|(_, reading)| reading.overage != overage) {
            let by = i128::from(overage) - i128::from(reading.overage);
            self.with_home(plan, |home| home.adjust_overage(plan, by));
        }
    }

    fn with_home(&self, plan: &ChargePlan<'_>, f: impl FnOnce(&mut Home)) {
        let guard = pin();
        if let Some(mut cell) = self.find_cell(partition_of(plan.home), plan.home, IfEmpty::Leave, &guard) {
            cell.with(f);
        }
    }
}
