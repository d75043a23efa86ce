//! What became of requests, by tier, route and limit, and how long that took.

use sluicegate_engine::Front;
use sluicegate_engine::pulse::Kind;

use super::super::Admin;
use super::page::Page;

pub(super) fn write(page: &mut Page, admin: &Admin) {
    let pulse = admin.engine.pulse();
    let counts = pulse.counts();
    let of = |kind: Kind| counts.iter().filter(move |count| count.kind == kind);
    page.counters(
        "sluicegate_decisions_total",
        "Decisions by the tier of the caller and what became of the request. Negotiated tiers are custom, callers \
         that are not known are none, and what has no counter of its own is other.",
        of(Kind::Tier).map(|count| ([("tier", &*count.name), ("outcome", count.outcome.as_str())], count.count)),
    );
    page.counters(
        "sluicegate_refusals_total",
        "Requests that a limit refused, by its name and why.",
        of(Kind::Limit)
            .map(|count| ([("limit", &*count.name), ("reason", count.outcome.as_str())], count.count)),
    );
    page.counters(
        "sluicegate_route_decisions_total",
        "Decisions by route and what became of the request. Those without a route are none.",
        of(Kind::Route)
            .map(|count| ([("route", &*count.name), ("outcome", count.outcome.as_str())], count.count)),
    );
    page.histograms(
        "sluicegate_decision_seconds",
        "How long decisions took, in seconds, by the front end that asked. Above 1,000 decisions a second one in 32 \
         is timed, and counts for 32.",
        Front::ALL.into_iter().map(|front| ([("front", front.as_str())], pulse.took(front))),
    );
}
