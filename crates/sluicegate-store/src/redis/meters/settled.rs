//! What came of what was asked.

use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::Timestamp;

/// What became of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// How it came out.
    pub outcome: Outcome,
    /// What its meters say.
    pub readings: Readings,
    /// When, by the clock of the server. A refund says this of what it gives back.
    pub now: Timestamp,
    /// The decision that it repeats. If it was admitted, only what counts repeats was charged.
    pub repeats: Option<u128>,
}

/// What became of a call whose answer was lost. It can never happen again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// It was done.
    Applied {
        /// When, by the clock of the server. A refund says this of what it gives back.
        at: Timestamp,
        /// For each of its plans, how that came out as far as it changed what is due on admission.
        plans: Vec<Applied>,
    },
    /// It was not done, or changed nothing, and never will.
    Never,
}

/// What one plan of a call did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// It was charged, or given back.
    Admitted {
        /// By how much the overage of the billed quota grew; of a refund, by how much it fell.
        overage: u64,
    },
    /// It repeats another, and was charged with what counts repeats.
    Repeated,
    /// It changed nothing, except what is due on refusal.
    Refused,
}
