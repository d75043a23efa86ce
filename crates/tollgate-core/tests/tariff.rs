//! Which charges a request's plan has, and what a plan says of itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use tollgate_core::book::LimitBook;
use tollgate_core::file;
use tollgate_core::limit::Axis;
use tollgate_core::plan::{HomeId, Mode};
use tollgate_core::policy::{Bypass, RefundOn};
use tollgate_core::rule::Amount;
use tollgate_core::rule::concurrency::SlotId;
use tollgate_core::tariff::{AccountCalendar, Charges, Plan, Request};
use tollgate_core::time::Timestamp;

fn plan(tier: &str) -> Plan {
    let policy = file::read(format!("tiers: {{pro: {tier}}}").as_bytes()).unwrap().policy;
    let mut book = LimitBook::default();
    Plan::new(policy.tiers.iter().next().unwrap(), &AccountCalendar::default(), 3, |limit| book.enter(limit))
}

/// The names of the limits that a request is charged for.
fn charged(plan: &Plan, which: Charges) -> Vec<String> {
    let (home, now, mode) = (HomeId(1), Timestamp::from_secs(1_790_000_000), Mode::Force);
    let request =
        Request { home, key: None, route: None, cost: Amount::ONE, now, mode, which, slot: SlotId(1) };
    plan.tariff.plan(&request).charges().iter().map(|charge| charge.limit.name.to_string()).collect()
}

#[test]
fn slots_and_amounts_are_the_two_parts_of_all() {
    let plan = plan("{rate: 10, concurrency: 5, quota: 100}");
    assert_eq!(charged(&plan, Charges::All), ["rate", "concurrency", "quota"]);
    assert_eq!(charged(&plan, Charges::Slots), ["concurrency"]);
    assert_eq!(charged(&plan, Charges::Amounts), ["rate", "quota"]);
}

#[test]
fn a_plan_is_its_tier_with_the_limits_in_order() {
    let plan = plan("{rate: 10, quota: 100, priority: 7, refund_on: 5xx}");
    assert_eq!((plan.name.as_str(), plan.number, plan.priority, plan.bypass), ("pro", 3, 7, Bypass::No));
    assert_eq!(plan.refund_on, RefundOn::ServerError);
    let names: Vec<&str> = plan.tariff.limits().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["rate", "quota"]);
    let has = [Axis::Rate, Axis::Concurrency, Axis::Quota].map(|axis| plan.tariff.has(axis));
    assert_eq!(has, [true, false, true]);
}
