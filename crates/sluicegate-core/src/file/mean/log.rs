//! What a sliding log may hold: every admission is an entry, so there is an end to how many.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::rule::{Amount, SLIDING_LOG_LIMIT_MAX};

use super::range;

/// The amount of a log, if that many can be remembered.
pub(super) fn amount(number: u64, what: &str, place: Place, sink: &mut Sink) -> Option<Amount> {
    if number > SLIDING_LOG_LIMIT_MAX {
        report_too_many(format!("{what} may not be more than {} with a sliding log", most()), place, sink);
        return None;
    }
    range::amount(number, SLIDING_LOG_LIMIT_MAX, what, place, sink)
}

fn report_too_many(message: String, place: Place, sink: &mut Sink) {
    let help = format!(
        "write at most {}, or use sliding_buckets, which takes any number and forgets up to a 1,440th of the window \
         later",
        most()
    );
    sink.report(place, message, help);
}

fn most() -> String {
    range::readable(SLIDING_LOG_LIMIT_MAX)
}
