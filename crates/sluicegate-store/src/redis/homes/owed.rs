//! What is asked of a home, and why it may not be settled.

use std::fmt;
use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::{Nanos, Timestamp};

use super::ticket::SentIn;
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
    /// For how long its slots are held when nobody releases them. Nothing: for the lease of their limit.
    pub hold: Option<Nanos>,
    /// Who is billed for it. Nothing: nobody.
    pub billed: Option<Billed>,
}

/// Who is billed for something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Billed {
    /// The serial of the account.
    pub account: u64,
    /// That of the key; 0: none.
    pub key: u64,
    /// The number of the name of its route in records; 0: none.
    pub route: u32,
    /// The decision.
    pub decision: u128,
    /// Of what is undone: how much it had added to the overage, which nobody has recorded.
    pub overage: u64,
}

impl Owed {
    /// What gives back what this charged then. The name of a charge is forgotten with it.
    pub(super) fn refund(mut self, at: Timestamp, charged: Applied) -> Self {
        let charged_at = self.request.mode.charged_at(at);
        self.request.mode = Mode::Refund { charged_at, reserved: self.request.cost };
        let repeated = charged == Applied::Repeated;
        if let (Some(billed), Applied::Admitted { overage }) = (&mut self.billed, charged) {
            billed.overage = overage;
        }
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
        let charged =
            settled.outcome.changes_meters(self.request.mode) && !self.is_refund() && !self.is_renewal();
        let applied = match (settled.repeats, settled.outcome) {
            (None, Outcome::Admitted { overage }) => Applied::Admitted { overage },
            (None, _) => Applied::Admitted { overage: 0 },
            (Some(_), _) => Applied::Repeated,
        };
        charged.then(|| self.clone().refund(settled.now, applied))
    }

    /// Whether it holds a slot for longer that its request has already. It is never undone: that would release the
    /// slot of a request in flight.
    pub(super) fn is_renewal(&self) -> bool {
        self.request.mode == Mode::Force && self.request.which == Charges::Slots
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

impl Away {
    /// That of one who finds too many before it.
    pub(super) fn full() -> Self {
        Self::Refused("too many requests wait for the same meters".into())
    }
}

/// Why the store did not settle something, and what may have settled it all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotSettled {
    /// Why.
    pub away: Away,
    /// The call of which it is not known what it did; nothing: none was made.
    pub call: Option<SentIn>,
}

impl From<Away> for NotSettled {
    fn from(away: Away) -> Self {
        Self { away, call: None }
    }
}

/// Whether decisions go to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMode {
    /// They do.
    Normal,
    /// They do not: the store is away.
    Degraded,
}
