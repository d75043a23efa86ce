//! The period before the one that a quota counts in: it takes corrections until 48 hours after its end.

use super::meter::{At, MOST, Meter, Nanos, SECOND, State};
use super::overage::of_held;
use super::window::Held;
use super::{Axis, Charge, Rule};

const KEPT: Nanos = 48 * 3_600 * SECOND;

/// What was used in a period that is over. Its overage is what was recorded and what was used above `free`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Past {
    held: Held,
    recorded: u64,
    free: u64,
}

/// More or less of what was charged.
#[derive(Clone, Copy)]
pub(super) enum Change {
    More(u64),
    Less(u64),
}

/// Whether the meter of a charge keeps the period before: all but rates per fixed window do.
pub(super) fn is_kept(charge: &Charge) -> bool {
    match charge.rule {
        Rule::Calendar { .. } => true,
        Rule::FixedWindow { .. } => charge.axis == Axis::Quota,
        _ => false,
    }
}

/// Changes what was used in a period that is over, if the charge was made in one that is kept; says whether it was.
pub(super) fn correct(meter: &mut Meter, change: Change, charged_at: Nanos, at: &At) -> bool {
    let held_says_something = of_held(meter).is_some_and(|past| past.says_something());
    let State::Window(window) = &mut meter.state else { return false };
    if charged_at >= window.seen(at).start || charged_at >= at.now {
        return false;
    }
    let takes = |held: &Held| held.start <= charged_at && charged_at < held.end && at.now < held.end + KEPT;
    if let Some(held) = window.held.as_mut().filter(|held| takes(held) && held_says_something) {
        change.apply(held);
        return true;
    }
    if let Some(past) = meter.past.as_mut().filter(|past| takes(&past.held) && past.says_something()) {
        change.apply(&mut past.held);
        return true;
    }
    false
}

/// What is kept of the periods before when a meter that was `old` moves on.
pub(super) fn closed(old: &Meter, at: &At) -> Option<Past> {
    let held = of_held(old).filter(Past::says_something);
    held.or(old.past).filter(|past| at.now < past.held.end + KEPT)
}

impl Past {
    pub(super) fn new(held: Held, recorded: u64, free: u64) -> Past {
        Past { held, recorded, free }
    }

    pub(super) fn start(&self) -> Nanos {
        self.held.start
    }

    pub(super) fn overage(&self) -> u64 {
        self.recorded.saturating_add(self.held.count.saturating_sub(self.free)).min(MOST)
    }

    fn says_something(&self) -> bool {
        self.held.count > 0 || self.recorded > 0
    }
}

impl Change {
    fn apply(self, held: &mut Held) {
        held.count = match self {
            Change::More(cost) => held.count.saturating_add(cost).min(MOST),
            Change::Less(cost) => held.count.saturating_sub(cost),
        };
    }
}
