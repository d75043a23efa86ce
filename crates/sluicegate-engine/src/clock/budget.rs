//! How far a clock may step ahead in small steps: an hour, and another hour for each time that a step must last.

use sluicegate_core::time::Nanos;

use super::gate::STEP_MAX;

/// What small forward steps have used of their budget. It comes back evenly, all of it within `clock.hold`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct StepBudget {
    used_ns: u64,
    /// The monotonic time when that was so.
    at: Nanos,
}

impl StepBudget {
    /// Whether a step fits. One that does uses the budget.
    pub(super) fn take(&mut self, step: Nanos, monotonic: Nanos, hold_for: Nanos) -> bool {
        let elapsed_ns = u128::from(monotonic.0.saturating_sub(self.at.0));
        let back_ns = elapsed_ns * u128::from(STEP_MAX.0) / u128::from(hold_for.0.max(1));
        let used_ns = self.used_ns.saturating_sub(u64::try_from(back_ns).unwrap_or(u64::MAX));
        let after_ns = used_ns.saturating_add(step.0);
        let fits = after_ns <= STEP_MAX.0;
        if fits {
            *self = Self { used_ns: after_ns, at: monotonic };
        }
        fits
    }

    /// All of it is there again: the clock was confirmed.
    pub(super) fn reset(&mut self) {
        self.used_ns = 0;
    }
}
