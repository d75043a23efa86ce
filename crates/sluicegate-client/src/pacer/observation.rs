//! What one response says about the rate limits, reduced to what pacing needs.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};

use crate::limits::{HeaderTime, LimitState, Limits, Window};

/// What a response says about the rate limits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Observation {
    /// How long all requests must wait, if this one was refused for a rate limit.
    pub(super) refused_for: Option<Duration>,
    pub(super) limits: Vec<ObservedLimit>,
}

/// What a response says about one limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ObservedLimit {
    pub(super) name: String,
    /// How many requests fit now.
    pub(super) remaining: u64,
    /// How long until more fit, at most.
    pub(super) next: Duration,
    pub(super) quota: Quota,
}

/// What a response says about the size of a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quota {
    /// The most that fit, and the time in which they are granted.
    Policy {
        capacity: u64,
        window: Duration,
    },
    /// Only the most that fit. The reset of a token bucket is the time until it is full, so more fits earlier than
    /// `next`. `next` is rounded up by less than `rounding`.
    Capacity {
        capacity: u64,
        rounding: Duration,
    },
    Unknown,
}

/// Headers give whole seconds.
pub(super) const ROUNDING: Duration = Duration::from_secs(1);

/// The name of the limit in the header families that have no names.
const UNNAMED: &str = "";

impl Observation {
    pub(super) fn of(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Self {
        // A spent quota is final: no wait of this client refills it, so it must not hold back other requests.
        if status == StatusCode::PAYMENT_REQUIRED {
            return Self::default();
        }
        let limits = Limits::from_headers(headers);
        let is_refusal = status == StatusCode::TOO_MANY_REQUESTS;
        let refused_for = is_refusal.then(|| limits.wait(now)).flatten();
        let server_now = limits.date.unwrap_or(now);
        let mut observed = named(&limits);
        if observed.is_empty() {
            // All families describe the same limits, so one of them is enough. The named one says the most.
            observed.extend(limits.rate.or(limits.x_rate).and_then(|window| unnamed(window, server_now)));
        }
        Self { refused_for, limits: observed }
    }
}

/// The limits of `RateLimit`, with what `RateLimit-Policy` says about them.
fn named(limits: &Limits) -> Vec<ObservedLimit> {
    let observe = |state: &LimitState| {
        let policy = limits.policies.iter().find(|policy| policy.name == state.name);
        // A request is not one byte, and a concurrency slot is not freed by time.
        if policy.is_some_and(|policy| policy.unit.as_deref().is_some_and(|unit| unit != "requests")) {
            return None;
        }
        let policy = policy.and_then(|policy| Some((policy.quota, policy.window?)));
        let policy = policy.filter(|(capacity, window)| *capacity > 0 && !window.is_zero());
        let quota = policy.map_or(Quota::Unknown, |(capacity, window)| Quota::Policy { capacity, window });
        let (name, remaining) = (state.name.clone(), state.remaining);
        Some(ObservedLimit { name, remaining, next: state.next?, quota })
    };
    limits.states.iter().filter_map(observe).collect()
}

fn unnamed(window: Window, now: SystemTime) -> Option<ObservedLimit> {
    let (remaining, reset) = (window.remaining?, window.reset?);
    let rounding = match reset {
        // The difference of two times: the reset was rounded up, and `Date` down.
        HeaderTime::At(_) => ROUNDING * 2,
        _ => ROUNDING,
    };
    let quota = window.limit.map_or(Quota::Unknown, |capacity| Quota::Capacity { capacity, rounding });
    Some(ObservedLimit { name: UNNAMED.to_owned(), remaining, next: reset.wait(now), quota })
}
