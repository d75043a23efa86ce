//! The answer of the rate limit service: a status for each descriptor, and what the caller is told.
//!
//! | what was decided | code | beside it |
//! |---|---|---|
//! | admitted | `OK` | the limits' headers |
//! | refused by a limit | `OVER_LIMIT` | the same, `Retry-After`, the problem; `x-sluicegate-status` unless it is 429 |
//! | any other denial | `OVER_LIMIT` | `x-sluicegate-status`, the problem |
//! | nothing can be decided | none | the call fails with `UNAVAILABLE`: the proxy's failure mode decides |

use bytes::Bytes;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::policy::Policy;
use sluicegate_core::time::{Nanos, Timestamp};

use super::outcome::Outcome;
use crate::decision::grpc::message::header::HeaderValue;
use crate::decision::grpc::message::ratelimit::{
    Code, DescriptorStatus, Duration, RateLimit, RateLimitResponse, Unit,
};
use crate::decision::outcome::{STATUS, demand, problem_type};

/// What a proxy answers a refusal with by itself.
const USUAL: u16 = 429;

pub(super) fn of(outcomes: &[Outcome], policy: &Policy, now: Timestamp) -> RateLimitResponse {
    let statuses = outcomes.iter().map(status).collect();
    // The caller is told of one: that which refuses, else that which has the least left.
    let refusing = outcomes.iter().find(|outcome| outcome.is_refused());
    let tightest = || {
        let told = outcomes.iter().filter(|outcome| !matches!(outcome, Outcome::Counted { .. }));
        let limits = told.filter_map(|outcome| Some((outcome, outcome.shown()?.0.remaining)));
        limits.min_by_key(|(_, remaining)| *remaining).map(|(outcome, _)| outcome)
    };
    let mut response = RateLimitResponse {
        overall_code: code(refusing.is_some()).into(),
        statuses,
        ..RateLimitResponse::default()
    };
    let Some(speaks) = refusing.or_else(tightest) else { return response };
    let headers = &mut response.response_headers_to_add;
    headers.extend(speaks.lines(policy, now).shared().map(HeaderValue::from));
    if let Some(told) = speaks.told() {
        headers.extend(speaks.denial().and_then(demand).map(HeaderValue::from));
        if told.status != USUAL {
            headers.push((&STATUS, Bytes::from(told.status.to_string())).into());
        }
        headers.push(problem_type().into());
        response.raw_body = told.document.into();
    }
    response
}

fn code(is_refused: bool) -> Code {
    if is_refused { Code::OverLimit } else { Code::Ok }
}

fn status(outcome: &Outcome) -> DescriptorStatus {
    let plain = DescriptorStatus { code: code(outcome.is_refused()).into(), ..DescriptorStatus::default() };
    let Some((limit, unit)) = outcome.shown() else {
        return match outcome {
            Outcome::Unlimited => DescriptorStatus { limit_remaining: u32::MAX, ..plain },
            Outcome::Closed { unit } => {
                let nothing = RateLimit { unit: (*unit).into(), ..RateLimit::default() };
                DescriptorStatus { current_limit: Some(nothing), ..plain }
            }
            _ => plain,
        };
    };
    DescriptorStatus {
        current_limit: Some(current(limit, unit)),
        limit_remaining: clamped(limit.remaining),
        duration_until_reset: Some(duration(limit.reset)),
        ..plain
    }
}

fn current(limit: &LimitNow, unit: Unit) -> RateLimit {
    RateLimit {
        requests_per_unit: clamped(limit.limit),
        unit: unit.into(),
        name: limit.name.as_str().to_owned(),
    }
}

fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn duration(nanos: Nanos) -> Duration {
    const SECOND: u64 = 1_000_000_000;
    Duration {
        seconds: i64::try_from(nanos.0 / SECOND).unwrap_or(i64::MAX),
        nanos: i32::try_from(nanos.0 % SECOND).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_too_large_are_the_largest() {
        assert_eq!(clamped(u64::MAX), u32::MAX);
        assert_eq!(duration(Nanos(1_500_000_000)), Duration { seconds: 1, nanos: 500_000_000 });
        assert!(duration(Nanos(u64::MAX)).seconds > 0);
    }
}
