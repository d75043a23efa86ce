//! What the meters say, as response headers, in the four families that clients read.
//!
//! The values are written into one text: the caller decides what they become.

mod field;
mod fields;
mod lines;
mod structured;

pub use field::Field;
pub use lines::{Lines, Spans, push_number};

use crate::limit::{Axis, Excess, Limit, LimitName, RefusalStatus};
use crate::plan::ChargePlan;
use crate::policy::responses::{HeaderFamily, Responses};
use crate::settle::{Outcome, Reading};
use crate::time::Timestamp;

/// The headers of a settled plan: the meters', and `Retry-After` where the refusal is one that can be waited out.
pub fn lines(plan: &ChargePlan<'_>, outcome: Outcome, readings: &[Reading], responses: &Responses) -> Lines {
    let shown = Shown { plan, outcome, readings };
    let mut lines = Lines::new();
    for family in &responses.headers {
        match family {
            HeaderFamily::Ietf => structured::write(&shown, &mut lines),
            HeaderFamily::RateLimit => fields::rate(&shown, &mut lines),
            HeaderFamily::XRateLimit => fields::x_rate(&shown, &mut lines),
            HeaderFamily::XQuota => fields::quota(&shown, responses.quota_reset, &mut lines),
        }
    }
    // Who is refused for a spent quota, or served beyond it, is told so whatever families were chosen.
    if shown.is_beyond_quota() && !responses.headers.contains(&HeaderFamily::XQuota) {
        fields::quota(&shown, responses.quota_reset, &mut lines);
    }
    if let Some(seconds) = shown.retry_after() {
        lines.number(Field::RetryAfter, seconds);
    }
    lines
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
