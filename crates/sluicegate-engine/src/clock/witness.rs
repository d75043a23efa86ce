//! The shared store as a witness: whether its time confirms a step of the wall clock.

use sluicegate_core::time::{Nanos, Timestamp};

use super::budget::StepBudget;
use super::gate::{Reading, STEP_MAX};

/// What a clock that is kept right steps by at the most.
const STEADY_MAX: Nanos = Nanos::from_secs(60);

/// What was seen of the store's time.
///
/// A store on the same machine has the same clock and steps together with it. So a store whose own time was seen to
/// leap confirms nothing until that has lasted as well.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// The store's time minus boot time, which goes on while this machine sleeps.
    offset_ns: Option<i128>,
    /// The monotonic time of the last leap.
    leapt_at: Option<Nanos>,
    small_steps: StepBudget,
}

impl Witness {
    /// Sees a reading.
    pub(super) fn see(&mut self, reading: &Reading, hold_for: Nanos) {
        let Some(store) = reading.store else { return };
        let offset_ns = i128::from(store.as_nanos()) - i128::from(reading.boottime.0);
        let step_ns = self.offset_ns.map_or(0, |before| (offset_ns - before).max(0));
        let step = Nanos(u64::try_from(step_ns).unwrap_or(u64::MAX));
        // Many small steps are a leap as well.
        let is_small = self.small_steps.take(step, reading.monotonic, hold_for);
        if step > STEADY_MAX || !is_small {
            self.leapt_at = Some(reading.monotonic);
        }
        self.offset_ns = Some(offset_ns);
    }

    /// Whether the store has the wall clock's time, and came by it without a leap of its own.
    pub(super) fn confirms(&self, reading: &Reading, hold_for: Nanos) -> bool {
        let agrees =
            |store: Timestamp| reading.wall.since(store) <= STEP_MAX && store.since(reading.wall) <= STEP_MAX;
        let is_steady = self.leapt_at.is_none_or(|at| reading.monotonic.0.saturating_sub(at.0) >= hold_for.0);
        is_steady && reading.store.is_some_and(agrees)
    }
}
