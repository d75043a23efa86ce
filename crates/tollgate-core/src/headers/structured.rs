//! `RateLimit-Policy` and `RateLimit`: structured fields (RFC 9651), one item for each limit.

use super::{Field, Lines, Shown, push_number};
use crate::calendar::Period;
use crate::limit::Limit;
use crate::rule::Rule;
use crate::settle::Reading;
use crate::time::Timestamp;

/// The largest integer that a structured field can hold.
const INTEGER_MAX: u64 = 999_999_999_999_999;

pub(super) fn write(shown: &Shown<'_>, lines: &mut Lines) {
    lines.line(Field::RateLimitPolicy, |text| {
        for (index, charge) in shown.plan.charges().iter().enumerate() {
            item(text, index, charge.limit);
            policy_parameters(text, charge.limit, charge.period.as_ref(), shown.now());
        }
    });
    lines.line(Field::RateLimit, |text| {
        for (index, (limit, reading)) in shown.readings().enumerate() {
            item(text, index, limit);
            state_parameters(text, limit, reading);
        }
    });
}

/// A limit's name needs no escaping: its alphabet has neither quotes nor backslashes.
fn item(text: &mut String, index: usize, limit: &Limit) {
    text.push_str(if index == 0 { "\"" } else { ", \"" });
    text.push_str(limit.name.as_str());
    text.push('"');
}

fn policy_parameters(text: &mut String, limit: &Limit, period: Option<&Period>, now: Timestamp) {
    text.push_str(";q=");
    push_number(text, limit.rule.capacity().min(INTEGER_MAX));
    match window_s(&limit.rule, period, now) {
        Some(seconds) => {
            text.push_str(";w=");
            push_number(text, seconds);
        }
        None => text.push_str(";qu=\"concurrent-requests\""),
    }
}

fn state_parameters(text: &mut String, limit: &Limit, reading: &Reading) {
    text.push_str(";r=");
    push_number(text, reading.remaining.min(INTEGER_MAX));
    // When a slot is released is up to others.
    if !matches!(limit.rule, Rule::Concurrency { .. }) {
        text.push_str(";t=");
        push_number(text, reading.next.as_secs_ceil());
    }
}

/// The window over which the capacity is allotted: for a bucket, the time in which it fills.
fn window_s(rule: &Rule, period: Option<&Period>, now: Timestamp) -> Option<u64> {
    match rule {
        Rule::TokenBucket(bucket) => Some(bucket.fill_time().as_secs_ceil()),
        Rule::FixedWindow(rule)
        | Rule::SlidingWindow(rule)
        | Rule::SlidingBuckets(rule)
        | Rule::SlidingLog(rule) => Some(u64::from(rule.window.as_secs())),
        Rule::Calendar { calendar, .. } => {
            let period = period.copied().unwrap_or_else(|| calendar.period_at(now));
            Some(period.length().as_secs_ceil())
        }
        Rule::Concurrency { .. } => None,
    }
}
