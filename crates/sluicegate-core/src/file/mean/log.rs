//! What a sliding log may hold: every admission is an entry, so there is an end to how many.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::limit::Excess;
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

/// Reports overage that a log would have to remember without end.
pub(super) fn check_overage(limit: Amount, excess: Excess, place: Place, sink: &mut Sink) -> Option<()> {
    if !excess.is_billed() {
        return Some(());
    }
    let Some(more) = excess.reach() else {
        let message = "a sliding log remembers every admission, and what is billed here has no end";
        let help =
            "add an `overage_cap`, or use sliding_buckets, calendar_month, billing_month or calendar_day";
        sink.report(place, message, help);
        return None;
    };
    if limit.get().saturating_add(more) > SLIDING_LOG_LIMIT_MAX {
        let message = format!("with its overage, a sliding log may not have more than {}", most());
        report_too_many(message, place, sink);
        return None;
    }
    Some(())
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
