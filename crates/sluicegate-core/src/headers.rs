//! What the meters say, as response headers, in the four families that clients read.
//!
//! They are written straight to where they go: the text of an answer, or the lines of a message.

mod field;
mod fields;
mod lines;
mod structured;

pub use field::Field;
pub use lines::{Lines, Sink, Spans, push_number};

use crate::limit::{Axis, LimitName};
use crate::limit_now::LimitNow;
use crate::policy::responses::{HeaderFamily, Responses};
use crate::time::Timestamp;

/// A settled plan, as headers look at it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// When it was settled.
    pub now: Timestamp,
    /// What its limits say.
    pub limits: &'a [LimitNow],
    /// The one that refuses, if one does.
    pub refused_by: Option<&'a LimitName>,
    /// What `Retry-After` says, in seconds, where the refusal is one that can be waited out.
    pub retry_after_s: Option<u64>,
}

/// Writes the headers of a settled plan: the meters', and `Retry-After`.
pub fn write(shown: &Shown<'_>, responses: &Responses, sink: &mut impl Sink) {
    for family in &responses.headers {
        match family {
            HeaderFamily::Ietf => structured::write(shown, sink),
            HeaderFamily::RateLimit => fields::rate(shown, sink),
            HeaderFamily::XRateLimit => fields::x_rate(shown, sink),
            HeaderFamily::XQuota => fields::quota(shown, responses.quota_reset, sink),
        }
    }
    // Who is refused for a spent quota, or served beyond it, is told so whatever families were chosen.
    if shown.is_beyond_quota() && !responses.headers.contains(&HeaderFamily::XQuota) {
        fields::quota(shown, responses.quota_reset, sink);
    }
    if let Some(seconds) = shown.retry_after_s {
        sink.number(Field::RetryAfter, seconds);
    }
}

impl Shown<'_> {
    fn refusing(&self) -> Option<&LimitNow> {
        let name = self.refused_by?;
        self.limits.iter().find(|limit| limit.name == *name)
    }

    fn is_beyond_quota(&self) -> bool {
        self.refusing().is_some_and(|limit| limit.axis == Axis::Quota)
            || self.limits.iter().any(|limit| limit.overage > 0)
    }

    /// The one limit that stands for an axis where only one can be shown: the one that refuses, else the
    /// shorthand, else the one with the least left.
    fn of_axis(&self, axis: Axis, shorthand: &str) -> Option<&LimitNow> {
        let on_axis = || self.limits.iter().filter(|limit| limit.axis == axis);
        self.refusing()
            .filter(|limit| limit.axis == axis)
            .or_else(|| on_axis().find(|limit| limit.name.as_str() == shorthand))
            .or_else(|| on_axis().min_by_key(|limit| limit.remaining))
    }
}
