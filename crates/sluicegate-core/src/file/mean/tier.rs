//! What the body of a tier means: its shorthands and its further limits, in the order in which they are asked.

use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::typed::{At, Field, RefundWord, TierBody, Whole};
use crate::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use crate::policy::{Bypass, RefundOn, Tier, TierLimit, TierName};
use crate::rule::{CONCURRENCY_LIMIT_MAX, LEASE_DEFAULT, Rule};

use super::bucket::{Burst, bucket};
use super::{limit, overage, quota, range, shadow};

/// The tier, if nothing about it is wrong. `place` is where its name stands; `routes` are the names that its limits may
/// use, nothing if they are not known.
pub(in crate::file) fn tier(
    body: &TierBody,
    name: &TierName,
    place: Place,
    routes: Option<&[&str]>,
    sink: &mut Sink,
) -> Option<Tier> {
    let well_shaped = check_shape(body, name, place, sink);
    let shorthands = [rate(body, sink), concurrency(body, sink), quota::quota(body, sink)];
    let entries = limit::limits(&body.limits, routes, sink);
    let priority = priority(&body.priority, sink);
    let entries = entries?;
    shadow::report(&entries, sink);
    let one_is_billed =
        overage::check_one_billed(shorthands[2].as_ref().and_then(Option::as_ref), &entries, sink);
    let mut limits: Vec<TierLimit> = Vec::new();
    for shorthand in shorthands {
        limits.extend(shorthand?.map(|limit| TierLimit { limit, routes: Vec::new() }));
    }
    limits.extend(entries.into_iter().map(|entry| entry.limit));
    if limits.len() > Tier::LIMITS_MAX {
        let message = format!("the tier `{name}` has {} limits, which is too many", limits.len());
        let help = format!("a request settles all of them at once: keep at most {}", Tier::LIMITS_MAX);
        sink.report(place, message, help);
        return None;
    }
    if !well_shaped || !one_is_billed {
        return None;
    }
    limits.sort_by_key(|entry| entry.limit.axis);
    Some(Tier {
        name: name.clone(),
        limits,
        priority: priority?,
        bypass: match body.bypass.value() {
            Some(true) => Bypass::Yes,
            Some(false) | None => Bypass::No,
        },
        refund_on: match body.refund_on.value() {
            Some(RefundWord::ServerError) => RefundOn::ServerError,
            None => RefundOn::Nothing,
        },
    })
}

/// Whether the tier says something, and says only one thing: limits, or that there are none.
fn check_shape(body: &TierBody, name: &TierName, place: Place, sink: &mut Sink) -> bool {
    let limits_absent = body.rate.is_absent()
        && body.concurrency.is_absent()
        && body.quota.is_absent()
        && body.limits.is_absent();
    let details_absent =
        body.burst.is_absent() && body.burst_multiplier.is_absent() && quota::details_absent(body);
    match body.bypass.given() {
        Some(At { key, value: true, .. }) if !(limits_absent && details_absent) => {
            let message =
                format!("the tier `{name}` has limits and a bypass, which is for tiers without any");
            sink.report(*key, message, "remove `bypass`, or everything that limits");
            false
        }
        Some(At { value: true, .. }) => true,
        // Details without what they detail are complained about on their own.
        _ if limits_absent && details_absent && !matches!(body.bypass, Field::Wrong) => {
            let message = format!("the tier `{name}` has no limits");
            let help = "give it a `rate`, a `quota`, a `concurrency` or `limits`; if nothing is to be capped, write \
                        `quota: null`, and for internal services `bypass: true`";
            sink.report(place, message, help);
            false
        }
        _ => true,
    }
}

fn priority(field: &Field<Whole>, sink: &mut Sink) -> Option<u32> {
    let Some(at) = field.given() else {
        return Some(0);
    };
    let priority = u32::try_from(at.value.0).ok();
    if priority.is_none() {
        let help = format!("write a number from 0 to {}", range::readable(u32::MAX.into()));
        sink.report(at.place, "this priority is too large", help);
    }
    priority
}

/// The `rate` shorthand: every key has its own bucket. The outer option: whether it could be meant.
fn rate(body: &TierBody, sink: &mut Sink) -> Option<Option<Limit>> {
    let rate = match &body.rate {
        Field::Given(rate) => Some(rate),
        Field::Wrong | Field::Absent => None,
    };
    let burst = Burst::or_multiplied(&body.burst, &body.burst_multiplier, rate, sink);
    let Some(rate) = rate else {
        if body.rate.is_absent() {
            report_orphans(body, sink);
            return Some(None);
        }
        return None;
    };
    Some(Some(Limit {
        name: LimitName::new(LimitName::RATE)?,
        axis: Axis::Rate,
        per: Per::Key,
        rule: Rule::TokenBucket(bucket("`rate`", rate, burst, sink)?),
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
        sold: None,
    }))
}

fn report_orphans(body: &TierBody, sink: &mut Sink) {
    let orphans = [
        body.burst.given().map(|at| (at.key, "burst")),
        body.burst_multiplier.given().map(|at| (at.key, "burst_multiplier")),
    ];
    for (key, name) in orphans.into_iter().flatten() {
        let help = "add a `rate`, or remove it";
        sink.report(key, format!("`{name}` stands without a `rate`"), help);
    }
}

/// The `concurrency` shorthand: shared by an account.
fn concurrency(body: &TierBody, sink: &mut Sink) -> Option<Option<Limit>> {
    let at = match &body.concurrency {
        Field::Given(at) => at,
        Field::Wrong => return None,
        Field::Absent => return Some(None),
    };
    let limit = range::amount(at.value.0, CONCURRENCY_LIMIT_MAX, "`concurrency`", at.place, sink)?;
    Some(Some(Limit {
        name: LimitName::new(LimitName::CONCURRENCY)?,
        axis: Axis::Concurrency,
        per: Per::Account,
        rule: Rule::Concurrency { limit, lease: LEASE_DEFAULT },
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
        sold: None,
    }))
}
