//! The tiers for people: a heading and a table for each.

use sluicegate_core::calendar::CalendarUnit;
use sluicegate_core::limit::Excess;
use sluicegate_core::policy::{Bypass, Policy, Routes, Tier, TierLimit};
use sluicegate_core::rule::Rule;
use sluicegate_core::rule::bound::{grouped, per};

use crate::table;

const COLUMNS: [&str; 7] = ["limit", "algorithm", "amount", "per", "counts", "when spent", "admits at most"];

/// All tiers, in the order of the file.
pub(super) fn tables(policy: &Policy) -> String {
    let pages: Vec<String> = policy.tiers.iter().map(|tier| page(tier, &policy.routes)).collect();
    pages.join("\n")
}

fn page(tier: &Tier, routes: &Routes) -> String {
    let heading = format!("{} (priority {})", tier.name, tier.priority);
    if tier.bypass == Bypass::Yes {
        return format!("{heading}\n  No limits: callers with a service token pass.\n");
    }
    if tier.limits.is_empty() {
        return format!("{heading}\n  No limits: everything is admitted.\n");
    }
    let mut table = table::with_columns(COLUMNS);
    for entry in &tier.limits {
        table.add_row(row(entry, routes));
    }
    format!("{heading}\n{}", table::text(&table))
}

fn row(entry: &TierLimit, routes: &Routes) -> [String; COLUMNS.len()] {
    let limit = &entry.limit;
    let counts = match super::route_names(entry, routes).as_slice() {
        [] => "all".to_owned(),
        names => names.join(", "),
    };
    let when_spent = match limit.excess {
        Excess::Refuse(status) => format!("refused ({})", status.code()),
        Excess::BillOverage => "billed".to_owned(),
        Excess::BillUpTo(cap) => {
            format!("billed up to {}, then refused ({})", grouped(cap.amount.get()), cap.status.code())
        }
    };
    [
        limit.name.to_string(),
        limit.rule.algorithm().to_owned(),
        amount(&limit.rule),
        limit.per.as_str().to_owned(),
        counts,
        when_spent,
        match limit.log_bytes_max() {
            None => limit.bound(),
            Some(bytes) => format!("{}; takes up to {} bytes", limit.bound(), grouped(bytes)),
        },
    ]
}

/// How much per how long.
fn amount(rule: &Rule) -> String {
    match rule {
        Rule::TokenBucket(bucket) => format!(
            "{}/{}, burst {}",
            grouped(bucket.amount()),
            per(bucket.window()),
            grouped(bucket.burst())
        ),
        Rule::FixedWindow(counted)
        | Rule::SlidingWindow(counted)
        | Rule::SlidingBuckets(counted)
        | Rule::SlidingLog(counted) => format!("{}/{}", grouped(counted.limit.get()), per(counted.window)),
        Rule::Calendar { limit, calendar } => {
            let unit = match calendar.unit() {
                CalendarUnit::Day => "day",
                CalendarUnit::Month | CalendarUnit::BillingMonth => "month",
            };
            format!("{}/{unit}", grouped(limit.get()))
        }
        Rule::Concurrency { limit, .. } => format!("{} at once", grouped(limit.get())),
    }
}
