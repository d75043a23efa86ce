//! What is asked of a home, and why it may not be settled.

use std::fmt;
use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::Timestamp;

use crate::redis::meters::{Applied, NameUse, NodeId, RequestName, Settled};

/// What one request owes, owned, so that it can wait in a queue.
#[derive(Clone, Debug)]
pub struct Owed {
    /// What the caller bought.
    pub plan: Arc<Plan>,
    /// The request.
    pub request: Request,
    /// The node that takes the slots, or took those that are released.
    pub holder: NodeId,
    /// What its caller calls it, if it may be repeated.
    pub name: Option<RequestName>,
}

impl Owed {
    /// What gives back what this charged then. The name of a charge is forgotten with it.
    pub(super) fn refund(mut self, at: Timestamp, charged: Applied) -> Self {
        let charged_at = self.request.mode.charged_at(at);
        self.request.mode = Mode::Refund { charged_at, reserved: self.request.cost };
        let repeated = charged == Applied::Repeated;
        if let Some(name) = &mut self.name {
            name.used = if repeated { NameUse::Failed } else { NameUse::Refunded };
        }
        if repeated && self.request.which == Charges::All {
            self.request.which = Charges::Again;
        }
        self
    }

    /// What takes again the amounts that this gave back. A slot that was released stays free, and what a repeat took
    /// comes back by itself.
    pub(super) fn take_again(mut self) -> Option<Self> {
        match self.request.which {
            Charges::Slots | Charges::Again => return None,
            Charges::All | Charges::Everywhere => self.request.which = Charges::Amounts,
            Charges::Amounts | Charges::AmountsBut(_) | Charges::Conduct | Charges::One(_) => {}
        }
        // In the period that it was given back to.
        let charged_at = self.request.mode.charged_at(self.request.now);
        self.request.mode = Mode::Correct { charged_at };
        Some(self)
    }

    /// What undoes it if nobody is there to hear that this came of it. What was given back stays so.
    pub(super) fn undoing(&self, settled: &Settled) -> Option<Self> {
        let charged = settled.outcome.changes_meters(self.request.mode) && !self.is_refund();
        let applied = match settled.repeats {
            None => Applied::Admitted { overage: 0 },
            Some(_) => Applied::Repeated,
        };
        charged.then(|| self.clone().refund(settled.now, applied))
    }

    pub(super) fn is_refund(&self) -> bool {
        matches!(self.request.mode, Mode::Refund { .. })
    }
}

/// Why the store did not settle it. Nothing stays charged, and nothing given back: what a call in doubt may have done
/// is undone as soon as that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Away {
    /// The breaker is open, or the link is down.
    Down,
    /// The call timed out or was cut; or an earlier one of this home is still in doubt.
    InDoubt,
    /// The server refuses, and says why: it is read-only, or out of memory.
    Refused(String),
}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("the store is away"),
            Self::InDoubt => f.write_str("the store did not answer in time"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Away {}

/// Whether decisions go to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMode {
    /// They do.
    Normal,
    /// They do not: the store is away.
    Degraded,
}
