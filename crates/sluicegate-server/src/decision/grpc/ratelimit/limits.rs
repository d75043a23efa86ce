//! Limits that a descriptor has of its own: those that it brings along, and those of the policy.

use std::borrow::Cow;

use sluicegate_core::limit::LimitName;
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::{DescriptorLimit, Enforcement, Policy};
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_engine::{Engine, Throttle};

use super::unit;
use crate::decision::grpc::message::ratelimit::{Entry, RateLimitDescriptor, RateLimitOverride, Unit};
use crate::decision::grpc::status::{Code, Status};

/// What limits brought along are called.
const OVERRIDE: &str = "override";

/// What a descriptor is limited by.
pub(super) enum Limited {
    /// Nothing of its own.
    Not,
    /// Nothing, and the policy says so.
    Free,
    /// This.
    By { throttle: Throttle, unit: Unit, enforcement: Enforcement },
    /// A limit of nothing at all.
    Closed { unit: Unit },
}

/// The limit that a descriptor brings along, or the one that the policy has for it.
pub(super) fn of(
    engine: &Engine,
    policy: &Policy,
    domain: &[u8],
    descriptor: &RateLimitDescriptor,
) -> Result<Limited, Status> {
    match &descriptor.limit {
        Some(brought) => brought_along(engine, brought),
        None => Ok(configured(engine, policy, domain, &descriptor.entries)),
    }
}

/// Where the meter of a descriptor lives. The parts are hashed and never joined: no two descriptors are one.
pub(super) fn subject(engine: &Engine, domain: &[u8], entries: &[Entry]) -> HomeId {
    let mut parts: Vec<&[u8]> = Vec::with_capacity(2 + 2 * entries.len());
    parts.extend([b"descriptor".as_slice(), domain]);
    for entry in entries {
        parts.extend([&*entry.key, &*entry.value]);
    }
    engine.subject(&parts)
}

fn brought_along(engine: &Engine, brought: &RateLimitOverride) -> Result<Limited, Status> {
    let unit = Unit::try_from(brought.unit).unwrap_or(Unit::Unknown);
    let Some(window) = unit::window(unit) else {
        return Err(Status::new(Code::InvalidArgument, "the unit of a limit is not known"));
    };
    let Some(limit) = Amount::new(brought.requests_per_unit.into()) else {
        return Ok(Limited::Closed { unit });
    };
    let name = LimitName::new(OVERRIDE)
        .ok_or_else(|| Status::new(Code::InvalidArgument, "limits brought along have no name"))?;
    let throttle = engine.throttle(&name, &Rule::FixedWindow(Windowed { limit, window }));
    Ok(Limited::By { throttle, unit, enforcement: Enforcement::Refuses })
}

fn configured(engine: &Engine, policy: &Policy, domain: &[u8], entries: &[Entry]) -> Limited {
    if policy.descriptors.is_empty() {
        return Limited::Not;
    }
    // What is no text is some value all the same: it is limited by its key.
    let texts: Vec<_> = entries.iter().map(|entry| (lossy(&entry.key), lossy(&entry.value))).collect();
    let texts = texts.iter().map(|(key, value)| (&**key, &**value));
    match policy.descriptors.find(&lossy(domain), texts) {
        None => Limited::Not,
        Some(DescriptorLimit { rule: None, .. }) => Limited::Free,
        Some(DescriptorLimit { name, rule: Some(rule), enforcement }) => Limited::By {
            throttle: engine.throttle(name, rule),
            unit: unit::of(rule),
            enforcement: *enforcement,
        },
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
