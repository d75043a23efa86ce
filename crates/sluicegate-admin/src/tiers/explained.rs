//! The tiers for programs: the same for `config explain --json` and for the API.

use serde::Serialize;
use sluicegate_core::limit::{Excess, RefusalStatus};
use sluicegate_core::policy::{Bypass, Policy, Routes, Tier, TierLimit};
use sluicegate_core::rule::Rule;
use utoipa::ToSchema;

/// All tiers of a policy.
#[derive(Serialize, ToSchema)]
#[schema(as = Tiers)]
pub struct ExplainedTiers {
    pub(super) tiers: Vec<ExplainedTier>,
}

/// A tier.
#[derive(Serialize, ToSchema)]
#[schema(as = Tier)]
pub(crate) struct ExplainedTier {
    /// What it is called.
    #[schema(example = "pro")]
    name: String,
    limits: Vec<ExplainedLimit>,
    /// Under pressure the lowest is shed first.
    priority: u32,
    /// Whether callers with a service token pass without any limit.
    bypass: bool,
}

/// A limit.
#[derive(Serialize, ToSchema)]
#[schema(as = Limit)]
pub(crate) struct ExplainedLimit {
    /// What it is called.
    #[schema(example = "rate")]
    name: String,
    #[schema(example = "token_bucket")]
    algorithm: &'static str,
    /// The amount per window.
    #[schema(example = 100)]
    limit: u64,
    /// The window, where it has a fixed length.
    #[schema(required, example = 1)]
    window_seconds: Option<u32>,
    /// How much may come at once.
    #[schema(required, example = 300)]
    burst: Option<u64>,
    /// Who shares it: `key`, `account` or `client`.
    #[schema(example = "key")]
    per: &'static str,
    /// What it protects: `rate`, `concurrency` or `quota`.
    #[schema(example = "rate")]
    axis: &'static str,
    /// The routes that it counts; none: every request.
    routes: Vec<String>,
    /// `block` or `bill_overage`.
    #[schema(example = "block")]
    on_exceeded: &'static str,
    /// How much is served and billed beyond the limit before requests are refused, where there is an end to it.
    #[schema(required, example = 10_000)]
    overage_cap: Option<u64>,
    /// The status of a refusal.
    #[schema(required, example = 429)]
    status: Option<u16>,
    /// What one meter of it takes in memory at the most, in bytes, where that grows with every admission: of a log.
    #[schema(required, example = 1_600)]
    log_bytes_max: Option<u64>,
    /// What it admits at most.
    #[schema(example = "300 at once, then 100 per second")]
    bound: String,
}

impl ExplainedTiers {
    /// All tiers, in the order of the file.
    pub fn of(policy: &Policy) -> Self {
        Self { tiers: policy.tiers.iter().map(|tier| ExplainedTier::of(tier, &policy.routes)).collect() }
    }
}

impl ExplainedTier {
    fn of(tier: &Tier, routes: &Routes) -> Self {
        Self {
            name: tier.name.to_string(),
            limits: tier.limits.iter().map(|entry| ExplainedLimit::of(entry, routes)).collect(),
            priority: tier.priority,
            bypass: tier.bypass == Bypass::Yes,
        }
    }
}

impl ExplainedLimit {
    fn of(entry: &TierLimit, routes: &Routes) -> Self {
        let limit = &entry.limit;
        let (window_seconds, burst) = numbers(&limit.rule);
        let on_exceeded = if limit.excess.is_billed() { "bill_overage" } else { "block" };
        let overage_cap = match limit.excess {
            Excess::BillUpTo(cap) => Some(cap.amount.get()),
            Excess::Refuse(_) | Excess::BillOverage => None,
        };
        let counted = entry.routes.iter().filter_map(|index| routes.get(*index));
        Self {
            name: limit.name.to_string(),
            algorithm: limit.rule.algorithm(),
            limit: limit.rule.per_window(),
            window_seconds,
            burst,
            per: limit.per.as_str(),
            axis: limit.axis.as_str(),
            routes: counted.map(|route| route.name.clone()).collect(),
            on_exceeded,
            overage_cap,
            status: limit.excess.refusal().map(RefusalStatus::code),
            log_bytes_max: limit.log_bytes_max(),
            bound: limit.bound(),
        }
    }
}

/// The seconds of a window that has a fixed length, and the burst.
fn numbers(rule: &Rule) -> (Option<u32>, Option<u64>) {
    match rule {
        Rule::TokenBucket(bucket) => (Some(bucket.window().as_secs()), Some(bucket.burst())),
        Rule::FixedWindow(counted)
        | Rule::SlidingWindow(counted)
        | Rule::SlidingBuckets(counted)
        | Rule::SlidingLog(counted) => (Some(counted.window.as_secs()), None),
        Rule::Calendar { .. } | Rule::Concurrency { .. } => (None, None),
    }
}
