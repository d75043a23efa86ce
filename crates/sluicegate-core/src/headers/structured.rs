//! `RateLimit-Policy` and `RateLimit`: structured fields (RFC 9651), one item for each limit.

use super::{Field, Shown, Sink, push_number};
use crate::limit_now::LimitNow;

/// The largest integer that a structured field can hold.
const INTEGER_MAX: u64 = 999_999_999_999_999;

pub(super) fn write<S: Sink>(shown: &Shown<'_>, sink: &mut S) {
    if shown.limits.is_empty() {
        return;
    }
    sink.line(Field::RateLimitPolicy, |text| {
        for (index, limit) in shown.limits.iter().enumerate() {
            item::<S>(text, index, limit);
            policy_parameters::<S>(text, limit);
        }
    });
    sink.line(Field::RateLimit, |text| {
        for (index, limit) in shown.limits.iter().enumerate() {
            item::<S>(text, index, limit);
            state_parameters(text, limit);
        }
    });
}

/// A limit's name needs no escaping: its alphabet has neither quotes nor backslashes.
fn item<S: Sink>(text: &mut String, index: usize, limit: &LimitNow) {
    if index > 0 {
        text.push_str(", ");
    }
    text.push_str(S::QUOTE);
    text.push_str(limit.name.as_str());
    text.push_str(S::QUOTE);
}

fn policy_parameters<S: Sink>(text: &mut String, limit: &LimitNow) {
    text.push_str(";q=");
    push_number(text, limit.capacity.min(INTEGER_MAX));
    match limit.window_s {
        Some(seconds) => {
            text.push_str(";w=");
            push_number(text, seconds);
        }
        None => {
            text.push_str(";qu=");
            text.push_str(S::QUOTE);
            text.push_str("concurrent-requests");
            text.push_str(S::QUOTE);
        }
    }
}

fn state_parameters(text: &mut String, limit: &LimitNow) {
    text.push_str(";r=");
    push_number(text, limit.remaining.min(INTEGER_MAX));
    // When a slot is released is up to others.
    if limit.window_s.is_some() {
        text.push_str(";t=");
        push_number(text, limit.next.as_secs_ceil());
    }
}
