//! Numbers that must lie in a range.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{At, Field, Whole};
use crate::rule::{Amount, bound};

/// The number, if it lies between 1 and `max`. `what` names it in messages.
pub(super) fn at_most(number: u64, max: u64, what: &str, place: Place, sink: &mut Sink) -> Option<u64> {
    let message = match number {
        0 => format!("{what} may not be zero"),
        _ if number > max => format!("{what} may not be more than {} here", readable(max)),
        _ => return Some(number),
    };
    sink.report(place, message, format!("write a number from 1 to {}", readable(max)));
    None
}

/// A number as a policy file may have it: long ones with `_` between the thousands.
pub(super) fn readable(number: u64) -> String {
    bound::grouped(number).replace(',', "_")
}

/// An amount of units.
pub(super) fn amount(number: u64, max: u64, what: &str, place: Place, sink: &mut Sink) -> Option<Amount> {
    at_most(number, max, what, place, sink).and_then(Amount::new)
}

/// A small number from 1 to `max`, or the default.
pub(super) fn count(
    field: &Field<Whole>,
    default: u32,
    max: u32,
    what: &str,
    sink: &mut Sink,
) -> Option<u32> {
    match field.given() {
        Some(At { place, value, .. }) => {
            let number = at_most(value.0, max.into(), what, *place, sink)?;
            u32::try_from(number).ok()
        }
        None => Some(default),
    }
}
