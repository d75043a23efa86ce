//! The tiers for programs.

use serde::Serialize;
use tollgate_core::limit::{Excess, Limit};
use tollgate_core::policy::{Bypass, Policy, Routes, Tier, TierLimit};
use tollgate_core::rule::Rule;

/// What `config explain --json` prints.
#[derive(Serialize)]
pub(super) struct Explained<'p> {
    tiers: Vec<TierEntry<'p>>,
}

#[derive(Serialize)]
struct TierEntry<'p> {
    name: &'p str,
    limits: Vec<LimitEntry<'p>>,
    priority: u32,
    bypass: bool,
}

#[derive(Serialize)]
struct LimitEntry<'p> {
    name: &'p str,
    algorithm: &'static str,
    limit: u64,
    window_seconds: Option<u32>,
    burst: Option<u64>,
    per: &'static str,
    axis: &'static str,
    routes: Vec<&'p str>,
    on_exceeded: &'static str,
    status: Option<u16>,
    bound: String,
}

impl<'p> Explained<'p> {
    /// All tiers, in the order of the file.
    pub(super) fn of(policy: &'p Policy) -> Self {
        Self { tiers: policy.tiers.iter().map(|tier| TierEntry::of(tier, &policy.routes)).collect() }
    }
}

impl<'p> TierEntry<'p> {
    fn of(tier: &'p Tier, routes: &'p Routes) -> Self {
        Self {
            name: tier.name.as_str(),
            limits: tier.limits.iter().map(|entry| LimitEntry::of(entry, routes)).collect(),
            priority: tier.priority,
            bypass: tier.bypass == Bypass::Yes,
        }
    }
}

impl<'p> LimitEntry<'p> {
    fn of(entry: &'p TierLimit, routes: &'p Routes) -> Self {
        let limit: &Limit = &entry.limit;
        let (amount, window_seconds, burst) = numbers(&limit.rule);
        let (on_exceeded, status) = match limit.excess {
            Excess::Refuse(status) => ("block", Some(status.code())),
            Excess::BillOverage => ("bill_overage", None),
        };
        Self {
            name: limit.name.as_str(),
            algorithm: limit.rule.algorithm(),
            limit: amount,
            window_seconds,
            burst,
            per: limit.per.as_str(),
            axis: limit.axis.as_str(),
            routes: super::route_names(entry, routes),
            on_exceeded,
            status,
            bound: limit.bound(),
        }
    }
}

/// The amount, the seconds of a window that has a fixed length, and the burst.
fn numbers(rule: &Rule) -> (u64, Option<u32>, Option<u64>) {
    match rule {
        Rule::TokenBucket(bucket) => (bucket.amount(), Some(bucket.window().as_secs()), Some(bucket.burst())),
        Rule::FixedWindow(counted)
        | Rule::SlidingWindow(counted)
        | Rule::SlidingBuckets(counted)
        | Rule::SlidingLog(counted) => (counted.limit.get(), Some(counted.window.as_secs()), None),
        Rule::Calendar { limit, .. } | Rule::Concurrency { limit, .. } => (limit.get(), None, None),
    }
}
