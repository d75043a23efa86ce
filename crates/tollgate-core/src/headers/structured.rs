//! `RateLimit-Policy` and `RateLimit`: structured fields (RFC 9651), one item for each limit.

use std::fmt::Write as _;

use super::{Field, Shown, Value};
use crate::calendar::Period;
use crate::limit::Limit;
use crate::rule::Rule;
use crate::settle::Reading;
use crate::time::Timestamp;

/// The largest integer that a structured field can hold.
const INTEGER_MAX: u64 = 999_999_999_999_999;

pub(super) fn write(shown: &Shown<'_>, sink: &mut impl FnMut(Field, &str)) {
    let mut policy = Value::new();
    let mut state = Value::new();
    for ((limit, reading), charge) in shown.readings().zip(shown.plan.charges()) {
        let period = charge.period.as_ref();
        let fits = item(&mut policy, limit)
            .and_then(|()| policy_parameters(&mut policy, limit, period, shown.now()))
            .and_then(|()| item(&mut state, limit))
            .and_then(|()| state_parameters(&mut state, limit, reading));
        if fits.is_err() {
            return;
        }
    }
    if !policy.is_empty() {
        sink(Field::RateLimitPolicy, &policy);
        sink(Field::RateLimit, &state);
    }
}

/// A limit's name needs no escaping: its alphabet has neither quotes nor backslashes.
fn item(list: &mut Value, limit: &Limit) -> std::fmt::Result {
    let separator = if list.is_empty() { "" } else { ", " };
    write!(list, "{separator}\"{}\"", limit.name)
}

fn policy_parameters(
    out: &mut Value,
    limit: &Limit,
    period: Option<&Period>,
    now: Timestamp,
) -> std::fmt::Result {
    write!(out, ";q={}", limit.rule.capacity().min(INTEGER_MAX))?;
    match window_s(&limit.rule, period, now) {
        Some(seconds) => write!(out, ";w={seconds}"),
        None => write!(out, ";qu=\"concurrent-requests\""),
    }
}

fn state_parameters(out: &mut Value, limit: &Limit, reading: &Reading) -> std::fmt::Result {
    write!(out, ";r={}", reading.remaining.min(INTEGER_MAX))?;
    match limit.rule {
        // When a slot is released is up to others.
        Rule::Concurrency { .. } => Ok(()),
        _ => write!(out, ";t={}", reading.next.as_secs_ceil()),
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
