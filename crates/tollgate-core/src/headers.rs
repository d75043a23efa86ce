//! What the meters say, as response headers, in the four families that clients read.
//!
//! Headers are handed to a sink one by one, formatted in place: the caller decides what they become.

mod field;
mod fields;
mod structured;

pub use field::Field;

use std::fmt::Write as _;

use arrayvec::ArrayString;

use crate::limit::{Axis, Excess, Limit, LimitName, RefusalStatus};
use crate::plan::ChargePlan;
use crate::policy::responses::{HeaderFamily, Responses};
use crate::settle::{Outcome, Reading};
use crate::time::Timestamp;

/// The longest header value: sixteen limits with names of 64 characters, and their numbers.
const VALUE_MAX: usize = 2_048;

/// A header value while it is being written.
type Value = ArrayString<VALUE_MAX>;

/// Writes the headers of a settled plan: the meters', and `Retry-After` where the refusal is one that can be
/// waited out.
pub fn write(
    plan: &ChargePlan<'_>,
    outcome: Outcome,
    readings: &[Reading],
    responses: &Responses,
    mut sink: impl FnMut(Field, &str),
) {
    let shown = Shown { plan, outcome, readings };
    for family in &responses.headers {
        match family {
            HeaderFamily::Ietf => structured::write(&shown, &mut sink),
            HeaderFamily::RateLimit => fields::rate(&shown, &mut sink),
            HeaderFamily::XRateLimit => fields::x_rate(&shown, &mut sink),
            HeaderFamily::XQuota => fields::quota(&shown, responses.quota_reset, &mut sink),
        }
    }
    // Who is refused for a spent quota, or served beyond it, is told so whatever families were chosen.
    if shown.is_beyond_quota() && !responses.headers.contains(&HeaderFamily::XQuota) {
        fields::quota(&shown, responses.quota_reset, &mut sink);
    }
    if let Some(seconds) = shown.retry_after() {
        put(&mut sink, Field::RetryAfter, format_args!("{seconds}"));
    }
}

fn put(sink: &mut impl FnMut(Field, &str), field: Field, value: std::fmt::Arguments<'_>) {
    let mut text = Value::new();
    // A value that does not fit is left out whole: half a header would be worse than none.
    if text.write_fmt(value).is_ok() {
        sink(field, &text);
    }
}

/// A settled plan, as headers look at it.
struct Shown<'a> {
    plan: &'a ChargePlan<'a>,
    outcome: Outcome,
    readings: &'a [Reading],
}

impl Shown<'_> {
    fn now(&self) -> Timestamp {
        self.plan.now
    }

    fn readings(&self) -> impl Iterator<Item = (&Limit, &Reading)> {
        self.plan.charges().iter().map(|charge| charge.limit).zip(self.readings)
    }

    fn refusing(&self) -> Option<&Limit> {
        match self.outcome {
            Outcome::Admitted { .. } => None,
            Outcome::Refused { by, .. } | Outcome::NeverFits { by } => {
                self.plan.charges().get(by).map(|charge| charge.limit)
            }
        }
    }

    fn is_beyond_quota(&self) -> bool {
        self.refusing().is_some_and(|limit| limit.axis == Axis::Quota)
            || self.readings().any(|(_, reading)| reading.overage > 0)
    }

    /// The one limit that stands for an axis where only one can be shown: the one that refuses, else the
    /// shorthand, else the one with the least left.
    fn of_axis(&self, axis: Axis, shorthand: &str) -> Option<(&Limit, &Reading)> {
        let on_axis = || self.readings().filter(|(limit, _)| limit.axis == axis);
        let named = |name: &LimitName| on_axis().find(|(limit, _)| limit.name == *name);
        let refusing = self.refusing().and_then(|limit| named(&limit.name));
        refusing
            .or_else(|| on_axis().find(|(limit, _)| limit.name.as_str() == shorthand))
            .or_else(|| on_axis().min_by_key(|(_, reading)| reading.remaining))
    }

    /// Whole seconds, rounded up, for refusals that pass with time. Who has spent a plan that is answered
    /// with 402 or 403 is not told to come back: clients would hammer against a wall.
    fn retry_after(&self) -> Option<u64> {
        let Outcome::Refused { retry_after, .. } = self.outcome else { return None };
        let status = self.refusing().map(|limit| limit.excess);
        (status == Some(Excess::Refuse(RefusalStatus::TooManyRequests))).then(|| retry_after.as_secs_ceil())
    }
}
