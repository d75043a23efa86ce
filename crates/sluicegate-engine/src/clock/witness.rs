//! The shared store as a witness: whether its time confirms a step of the wall clock.

use sluicegate_core::time::{Nanos, Timestamp};

use super::gate::{Reading, STEP_MAX};

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
}

impl Witness {
    /// Sees a reading.
    pub(super) fn see(&mut self, reading: &Reading) {
        let Some(store) = reading.store else { return };
        let offset_ns = i128::from(store.as_nanos()) - i128::from(reading.boottime.0);
        if self.offset_ns.is_some_and(|before| offset_ns - before > i128::from(STEP_MAX.0)) {
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
