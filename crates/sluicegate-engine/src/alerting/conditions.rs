//! What others tell the rules: a policy file that was rejected, and what meters and records were found to be.

use parking_lot::Mutex;

use super::drift::Found;
use crate::books::LastCheck;
use crate::engine::Engine;

/// What is known at the moment.
#[derive(Debug, Default)]
pub(super) struct Conditions(Mutex<Now>);

#[derive(Clone, Debug, Default)]
pub(super) struct Now {
    pub(super) rejected: Option<Rejected>,
    /// The last comparison by this process, if there was one.
    pub(super) drift: Option<Found>,
    /// Whether other nodes were told of it.
    pub(super) drift_told: bool,
}

/// A policy file that did not come into force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// How many problems it has.
    pub problems: u64,
    /// The first of them, in one line.
    pub first: String,
}

impl Conditions {
    pub(super) fn now(&self) -> Now {
        self.0.lock().clone()
    }

    pub(super) fn told_drift(&self) {
        self.0.lock().drift_told = true;
    }
}

impl Engine {
    /// Notes what became of the policy file when it was last read: rejected, or loaded.
    pub fn note_reload(&self, rejected: Option<Rejected>) {
        self.alerting.conditions.0.lock().rejected = rejected;
    }

    /// Notes what a comparison of meters and records came to.
    pub(crate) fn note_drift(&self, check: &LastCheck) {
        let units = u64::try_from(check.units).unwrap_or(u64::MAX);
        let mut now = self.alerting.conditions.0.lock();
        now.drift = Some(Found { quotas: check.drifting, units });
        now.drift_told = false;
    }
}
