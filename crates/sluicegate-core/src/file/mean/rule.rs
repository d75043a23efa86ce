//! What the numbers of one entry of `limits` mean for its algorithm.

use crate::calendar::{Calendar, CalendarUnit};
use crate::file::sink::Sink;
use crate::file::typed::{Algorithm, AmountPer, At, LimitBody};
use crate::rule::{Amount, CONCURRENCY_LIMIT_MAX, LEASE_DEFAULT, Rule, Windowed};

use super::bucket::{Burst, bucket};
use super::{log, range};

/// The rule, if the numbers fit the algorithm.
pub(super) fn rule(algorithm: Algorithm, body: &LimitBody, sink: &mut Sink) -> Option<Rule> {
    let details = check_details(algorithm, body, sink);
    let limit = body.limit.given()?;
    let rule = match algorithm {
        Algorithm::TokenBucket => {
            let window = per_window(limit, sink);
            let burst = Burst::of(&body.burst, sink);
            let bucket = bucket("`limit`", limit, burst, sink);
            window?;
            Rule::TokenBucket(bucket?)
        }
        Algorithm::FixedWindow => Rule::FixedWindow(windowed(limit, sink)?),
        Algorithm::SlidingWindow => Rule::SlidingWindow(windowed(limit, sink)?),
        Algorithm::SlidingBuckets => Rule::SlidingBuckets(windowed(limit, sink)?),
        Algorithm::SlidingLog => {
            let window = per_window(limit, sink);
            let amount = log::amount(limit.value.amount, "`limit`", limit.place, sink);
            Rule::SlidingLog(Windowed { limit: amount?, window: window? })
        }
        Algorithm::CalendarDay => calendar(limit, CalendarUnit::Day, sink)?,
        Algorithm::CalendarMonth => calendar(limit, CalendarUnit::Month, sink)?,
        Algorithm::BillingMonth => calendar(limit, CalendarUnit::BillingMonth, sink)?,
        Algorithm::Concurrency => Rule::Concurrency {
            limit: plain(limit, CONCURRENCY_LIMIT_MAX, sink)?,
            lease: super::duration(&body.lease, LEASE_DEFAULT, sink)?,
        },
    };
    details.then_some(rule)
}

/// Whether every key is one that the algorithm has.
fn check_details(algorithm: Algorithm, body: &LimitBody, sink: &mut Sink) -> bool {
    let mut fine = true;
    if let (Some(at), false) = (body.burst.given(), algorithm == Algorithm::TokenBucket) {
        let help = "remove `burst`, or use `algorithm: token_bucket`";
        sink.report(at.key, "only a token bucket has a `burst`", help);
        fine = false;
    }
    if let (Some(at), false) = (body.lease.given(), algorithm == Algorithm::Concurrency) {
        let help = "remove `lease`, or use `algorithm: concurrency`";
        sink.report(at.key, "only a concurrency limit has a `lease`", help);
        fine = false;
    }
    fine
}

/// Reports an amount that does not say per how long.
fn per_window(limit: &At<AmountPer>, sink: &mut Sink) -> Option<crate::time::Window> {
    if limit.value.window.is_none() {
        let amount = limit.value.amount;
        let help = format!("write {amount}/second, {amount}/minute, {amount}/day or the like");
        sink.report(limit.place, "this limit does not say per how long", help);
    }
    limit.value.window
}

fn windowed(limit: &At<AmountPer>, sink: &mut Sink) -> Option<Windowed> {
    let window = per_window(limit, sink);
    let amount = range::amount(limit.value.amount, Amount::MAX, "`limit`", limit.place, sink);
    Some(Windowed { limit: amount?, window: window? })
}

/// A number without a window, for algorithms that say per what by themselves.
fn plain(limit: &At<AmountPer>, max: u64, sink: &mut Sink) -> Option<Amount> {
    let amount = range::amount(limit.value.amount, max, "`limit`", limit.place, sink);
    if limit.value.window.is_some() {
        let help = format!("write `limit: {}`: the algorithm says the rest", limit.value.amount);
        sink.report(limit.place, "this algorithm takes a plain number", help);
        return None;
    }
    amount
}

fn calendar(limit: &At<AmountPer>, unit: CalendarUnit, sink: &mut Sink) -> Option<Rule> {
    Some(Rule::Calendar { limit: plain(limit, Amount::MAX, sink)?, calendar: Calendar::utc(unit) })
}
