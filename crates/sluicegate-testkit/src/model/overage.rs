//! Overage: what is used beyond what is included, in the period of the meter.

use std::collections::BTreeMap;

use super::meter::{At, MOST, Meter, Nanos, State};
use super::past::Past;
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

/// The period that the meter holds a count of, whether it is over or not.
pub(super) fn of_held(meter: &Meter) -> Option<Past> {
    let State::Window(window) = &meter.state else { return None };
    let held = window.held?;
    let (recorded, then) = match meter.bill {
        Bill { recorded, used, start, .. } if start == held.start => (recorded, used),
        _ => (0, 0),
    };
    let free = meter.bill.included.map_or(MOST, |included| included.max(then));
    Some(Past::new(held, recorded, free))
}

/// By how much the overage changed in all periods that a meter knows after a call; the one that it left is as it was.
pub(super) fn change(before: &Meter, after: &Meter) -> i128 {
    let overages = |meter: &Meter| -> BTreeMap<Nanos, u64> {
        let periods = meter.past.into_iter().chain(of_held(meter));
        periods.map(|period| (period.start(), period.overage())).collect()
    };
    let before = overages(before);
    let was = |start: &Nanos| i128::from(before.get(start).copied().unwrap_or(0));
    overages(after).iter().map(|(start, overage)| i128::from(*overage) - was(start)).sum()
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
    // In the same windows also a period that is over goes on from there: it may take corrections.
    let held = match (&old.state, same_windows) {
        (State::Window(window), true) => window.held,
        _ => None,
    };
    let used = held.map_or_else(|| old.algorithm().used(at), |held| held.count);
    let recorded = match old.bill.included {
        Some(_) => {
            of_held(old).filter(|_| same_windows).map_or_else(|| overage(old, at), |held| held.overage())
        }
        None if old.algorithm().capacity() == included => return plain,
        None => 0,
    };
    match held.map(|held| held.start).or_else(|| start(new, at)) {
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
