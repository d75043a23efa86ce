//! `envoy.service.ratelimit.v3.RateLimitService`: a proxy describes a request, and each description has its limit.
//!
//! A request that one limit refuses takes nothing from any other.

mod answer;
mod asked;
mod caller;
mod limits;
mod outcome;
mod settle;
mod unit;

use sluicegate_engine::Engine;

use super::message::ratelimit::{RateLimitDescriptor, RateLimitRequest, RateLimitResponse};
use super::status::{Code, Status};
use crate::access::Grant;
use asked::Asked;

/// The path of the call.
pub(super) const SHOULD_RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// The most descriptors of a call: each may be a question to a store far away.
const DESCRIPTORS_MAX: usize = 100;

/// The most entries of a descriptor.
const ENTRIES_MAX: usize = 20;

pub(super) async fn should_rate_limit(
    engine: &Engine,
    grant: &Grant,
    request: RateLimitRequest,
) -> Result<RateLimitResponse, Status> {
    check(&request)?;
    let now = engine.now();
    let policy = engine.policy();
    // All are understood before any is settled: a call that is half wrong charges nothing.
    let mut asked = Vec::with_capacity(request.descriptors.len());
    for descriptor in &request.descriptors {
        let one = Asked::of(engine, policy.policy(), &request, descriptor)?;
        one.check_allowed(grant)?;
        asked.push(one);
    }
    let outcomes = settle::all(engine, &asked, grant.actor(), now).await?;
    Ok(answer::of(&outcomes, policy.policy(), now))
}

fn check(request: &RateLimitRequest) -> Result<(), Status> {
    let wrong = |message: String| Err(Status::new(Code::InvalidArgument, message));
    if request.domain.is_empty() {
        return wrong("the domain must not be empty".to_owned());
    }
    if request.descriptors.is_empty() {
        return wrong("there must be a descriptor".to_owned());
    }
    if request.descriptors.len() > DESCRIPTORS_MAX {
        return wrong(format!("there may be at most {DESCRIPTORS_MAX} descriptors"));
    }
    let has = |is: fn(&RateLimitDescriptor) -> bool| request.descriptors.iter().any(is);
    if has(|descriptor| descriptor.entries.is_empty()) {
        return wrong("a descriptor must have an entry".to_owned());
    }
    if has(|descriptor| descriptor.entries.len() > ENTRIES_MAX) {
        return wrong(format!("a descriptor may have at most {ENTRIES_MAX} entries"));
    }
    if has(|descriptor| descriptor.entries.iter().any(|entry| entry.key.is_empty())) {
        return wrong("the key of an entry must not be empty".to_owned());
    }
    Ok(())
}
