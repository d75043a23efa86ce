//! Numbers that must lie in a range.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{At, Field, Whole};
use crate::rule::Amount;

/// The number, if it lies between 1 and `max`.
pub(super) fn at_most(number: u64, max: u64, place: Place, sink: &mut Sink) -> Option<u64> {
    if number == 0 {
        let help = format!("write a number from 1 to {max}");
        sink.report(place, "a limit of zero would refuse everything", help);
        return None;
    }
    if number > max {
        let help = format!("write a number from 1 to {max}");
        sink.report(place, format!("{number} is more than this can be"), help);
        return None;
    }
    Some(number)
}

/// An amount of units.
pub(super) fn amount(number: u64, max: u64, place: Place, sink: &mut Sink) -> Option<Amount> {
    at_most(number, max, place, sink).and_then(Amount::new)
}

/// A small number from 1 to `max`, or the default.
pub(super) fn count(field: &Field<Whole>, default: u32, max: u32, sink: &mut Sink) -> Option<u32> {
    let Some(At { place, value, .. }) = field.given() else {
        return Some(default);
    };
    match u32::try_from(value.0) {
        Ok(number) if (1..=max).contains(&number) => Some(number),
        _ => {
            let help = format!("write a number from 1 to {max}");
            sink.report(*place, format!("{} is out of range", value.0), help);
            None
        }
    }
}
