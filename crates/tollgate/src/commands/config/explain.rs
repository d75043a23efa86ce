//! `tollgate config explain FILE`: every tier with its limits as they are meant, in the order in which they are asked.

use tollgate_core::calendar::CalendarUnit;
use tollgate_core::limit::{Axis, Excess, Limit, Per};
use tollgate_core::policy::{Routes, TierLimit};
use tollgate_core::rule::Rule;

use super::problems;
use crate::cli::ConfigFile;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::source::Source;

mod json;
mod table;

pub(super) fn run(args: &ConfigFile) -> anyhow::Result<Exit> {
    let source = Source::open(&args.file)?;
    let policy = match source.document() {
        Ok(document) => document.policy,
        Err(problems) => return problems::report(&source, &problems, args.format()),
    };
    match args.format() {
        Format::Text => output::print(&table::tables(&policy))?,
        Format::Json => output::print_json(&json::Explained::of(&policy))?,
    }
    Ok(Exit::Done)
}

/// The algorithm, as the file names it.
fn algorithm(rule: &Rule) -> &'static str {
    match rule {
        Rule::TokenBucket(_) => "token_bucket",
        Rule::FixedWindow(_) => "fixed_window",
        Rule::SlidingWindow(_) => "sliding_window",
        Rule::SlidingBuckets(_) => "sliding_buckets",
        Rule::SlidingLog(_) => "sliding_log",
        Rule::Calendar { calendar, .. } => match calendar.unit() {
            CalendarUnit::Day => "calendar_day",
            CalendarUnit::Month => "calendar_month",
            CalendarUnit::BillingMonth => "billing_month",
        },
        Rule::Concurrency { .. } => "concurrency",
    }
}

fn per(per: Per) -> &'static str {
    match per {
        Per::Key => "key",
        Per::Account => "account",
        Per::Client => "client",
    }
}

fn axis(axis: Axis) -> &'static str {
    match axis {
        Axis::Rate => "rate",
        Axis::Concurrency => "concurrency",
        Axis::Quota => "quota",
    }
}

/// What a limit admits at most. One that bills what lies beyond it never refuses.
fn bound(limit: &Limit) -> String {
    match limit.excess {
        Excess::Refuse(_) => limit.rule.bound().to_string(),
        Excess::BillOverage => format!("{}; more is billed", limit.rule.bound()),
    }
}

/// The names of the routes that a limit counts; none: it counts every request.
fn route_names<'p>(entry: &TierLimit, routes: &'p Routes) -> Vec<&'p str> {
    entry.routes.iter().filter_map(|index| routes.get(*index)).map(|route| route.name.as_str()).collect()
}
