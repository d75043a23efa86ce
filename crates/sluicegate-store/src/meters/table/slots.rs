//! Renewing many slots of one home in one step.

use std::sync::atomic::Ordering;

use crossbeam_epoch::pin;
use sluicegate_core::plan::ChargePlan;
use sluicegate_core::rule::concurrency::SlotHold;

use super::{MeterTable, partition_of};
use crate::meters::array::{Found, find};
use crate::meters::cell::IfEmpty;

impl MeterTable {
    /// Has every concurrency limit of a plan hold these slots: those that are held until another instant, the others
    /// are taken while there is room. The home is locked once, and the work is linear in the number of slots. `then` is
    /// called before anybody else can settle against the home; it must not ask this table for anything.
    pub fn renew_slots(&self, plan: &ChargePlan<'_>, holds: &[SlotHold], then: impl FnOnce()) {
        let (partition, guard) = (partition_of(plan.home), pin());
        loop {
            match find(self.cells(partition, &guard), plan.home.0, IfEmpty::Claim) {
                Found::Held { mut cell, fresh } => {
                    cell.with(|home| home.renew_slots(plan, holds, &self.book));
                    if fresh {
                        // Counted before the cell can be moved, as in `settle_then`.
                        self.upkeep[partition].homes.fetch_add(1, Ordering::Relaxed);
                    }
                    then();
                    if fresh {
                        drop(cell);
                        self.grow_if_full(partition);
                    }
                    return;
                }
                Found::Full => self.grow(partition),
                Found::Absent | Found::Moved => drop(self.lock(partition)),
            }
        }
    }
}
