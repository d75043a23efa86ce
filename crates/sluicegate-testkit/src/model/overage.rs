//! Overage: what is used beyond what is included, in the period of the meter.

use std::collections::BTreeMap;

use super::meter::{At, MOST, Meter, Nanos, State};
use super::past::{self, Past};
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

/// What a change of the bill makes of `new`, which has the rule of the charge and what `old` used.
pub(super) fn carry(old: &Meter, new: &mut Meter, charge: &Charge, at: &At) {
    let included = included(charge);
    let same_windows = match (&old.state, &new.state) {
        (State::Window(old), State::Window(new)) => old.windows == new.windows,
        _ => false,
    };
    if same_windows && old.bill.included == included {
        new.bill = old.bill;
        return;
    }
    new.bill = Bill { included, ..Bill::default() };
    // A change that is noticed after the period has ended leaves that as it is.
    if same_windows && past::is_kept(charge) && start(old, at).is_none() {
        new.past = past::closed(old, at);
        new.begin_window(at);
        return;
    }
    let (recorded, used) = (recorded(old, at), old.algorithm().used(at));
    if let Some(start) = start(new, at)
        && (recorded > 0 || included.is_some_and(|included| used > included))
    {
        new.bill = Bill { included, recorded, used, start };
    }
}

/// What was recorded in the period of now; where nothing is billed, before it was not.
fn recorded(meter: &Meter, at: &At) -> u64 {
    of_held(meter).filter(|_| start(meter, at).is_some()).map_or(0, |held| held.overage())
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
