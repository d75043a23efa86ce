//! The gate for the time of a store that several nodes share: Redis decides by its own clock, but not past a bound.

use sluicegate_core::time::{Nanos, Timestamp};

use super::gate::{Change, Confirmation, HeldStep, Hold, Reading, STEP_MAX};

/// How far the store's time may be ahead of this node's timeline.
#[derive(Debug, Default)]
pub(super) struct StoreGate {
    /// A lead of the store that was confirmed. Within [`STEP_MAX`] it needs no confirmation and is zero.
    lead: Nanos,
    hold: Option<Hold>,
}

impl StoreGate {
    /// The confirmed lead.
    pub(super) fn lead(&self) -> Nanos {
        self.lead
    }

    pub(super) fn held(&self, hold_for: Nanos) -> Option<HeldStep> {
        self.hold.map(|hold| hold.step(hold_for))
    }

    /// Follows the store's time if it is plausible beside `now`, this node's timeline, or has lasted.
    pub(super) fn observe(&mut self, reading: &Reading, now: Timestamp, hold_for: Nanos) -> Change {
        let Some(store) = reading.store else { return Change::None };
        let ahead = store.since(now);
        if ahead.0 <= self.lead.0.saturating_add(STEP_MAX.0) {
            // A lead only shrinks by itself: otherwise small steps would add up.
            self.lead = if ahead <= STEP_MAX { Nanos(0) } else { self.lead.min(ahead) };
            return if self.hold.take().is_some() { Change::Undone } else { Change::None };
        }
        let hold = Hold::go_on(self.hold, store, reading.monotonic, ahead);
        if hold.has_lasted(hold_for) {
            return self.follow(ahead, Confirmation::Lasted);
        }
        let begins = hold.begins(self.hold);
        self.hold = Some(hold);
        if begins { Change::Held { ahead } } else { Change::None }
    }

    /// An operator confirms the store's time. Nothing happens where none is held.
    pub(super) fn confirm(&mut self, reading: &Reading, now: Timestamp) -> Change {
        match (self.hold, reading.store) {
            (Some(_), Some(store)) => self.follow(store.since(now), Confirmation::Operator),
            _ => Change::None,
        }
    }

    fn follow(&mut self, ahead: Nanos, why: Confirmation) -> Change {
        self.lead = if ahead <= STEP_MAX { Nanos(0) } else { ahead };
        self.hold = None;
        Change::Followed { ahead, why }
    }
}
