//! Renewing many slots of one home in one step.

use crossbeam_epoch::pin;
use sluicegate_core::plan::ChargePlan;
use sluicegate_core::rule::concurrency::SlotHold;

use super::{MeterTable, partition_of};
use crate::meters::cell::IfEmpty;

impl MeterTable {
    /// Has every concurrency limit of a plan hold these slots: those that are held until another instant, the others
    /// are taken while there is room. The home is locked once, and the work is linear in the number of slots. `then` is
    /// called before anybody else can settle against the home; it must not ask this table for anything.
    pub fn renew_slots(&self, plan: &ChargePlan<'_>, holds: &[SlotHold], then: impl FnOnce()) {
        let (partition, guard) = (partition_of(plan.home), pin());
        let Some(mut cell) = self.find_cell(partition, plan.home, IfEmpty::Claim, &guard) else { return };
        cell.with(|home| home.renew_slots(plan, holds, &self.book));
        let is_new = cell.with(|home| !home.is_counted());
        if is_new {
            // Counted before the cell can be moved, as in `settle_then`.
            cell.with(|home| self.set_counted(partition, home, true));
        }
        then();
        if is_new {
            drop(cell);
            self.make_room(partition);
        }
    }
}
