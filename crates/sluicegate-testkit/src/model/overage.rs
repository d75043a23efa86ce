//! Overage: what is used beyond what is included, in the period of the meter.

use super::meter::{At, MOST, Meter, Nanos, State};
use super::{Charge, Overage, Rule};

/// What a meter knows of the bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bill {
    /// What is included; nothing where nothing is billed.
    included: Option<u64>,
    /// Of the period that starts at `start`: what was recorded before the last change, and used then.
    recorded: u64,
    used: u64,
    start: Nanos,
}

/// What is included before overage is billed; nothing where none is.
pub(super) fn included(charge: &Charge) -> Option<u64> {
    match charge.rule {
        Rule::FixedWindow { limit, .. } | Rule::Calendar { limit, .. }
            if charge.overage != Overage::Refused =>
        {
            Some(charge.included.unwrap_or(limit))
        }
        _ => None,
    }
}

/// The overage of the period that the meter is in.
pub(super) fn overage(meter: &Meter, at: &At) -> u64 {
    let Some(included) = meter.bill.included else { return 0 };
    let (recorded, then) = match start(meter, at) {
        Some(start) if start == meter.bill.start => (meter.bill.recorded, meter.bill.used),
        _ => (0, 0),
    };
    let used = meter.algorithm().used(at);
    recorded.saturating_add(used.saturating_sub(included.max(then))).min(MOST)
}

/// What `new`, the meter as the charge sees it, knows of the bill after what `old` knew.
pub(super) fn carried(old: &Meter, new: &Meter, charge: &Charge, at: &At) -> Bill {
    let Some(included) = included(charge) else { return Bill::default() };
    let plain = Bill { included: Some(included), ..Bill::default() };
    let same_windows = match (&old.state, &new.state) {
        (State::Window(old), State::Window(new)) => old.windows == new.windows,
        _ => false,
    };
    if same_windows && old.bill.included == Some(included) {
        return old.bill;
    }
    let (used, capacity) = (old.algorithm().used(at), old.algorithm().capacity());
    let recorded = match old.bill.included {
        Some(_) => overage(old, at),
        None if capacity == included => return plain,
        None => 0,
    };
    match start(new, at) {
        Some(start) if recorded > 0 || used > included => Bill { recorded, used, start, ..plain },
        _ => plain,
    }
}

/// The bill of a meter that is made for this charge.
pub(super) fn untouched(charge: &Charge) -> Bill {
    Bill { included: included(charge), ..Bill::default() }
}

/// The start of the period that the meter holds a count of.
fn start(meter: &Meter, at: &At) -> Option<Nanos> {
    match &meter.state {
        State::Window(window) => window.held_start(at),
        _ => None,
    }
}
