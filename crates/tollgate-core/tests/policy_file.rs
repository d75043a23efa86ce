//! Policy files load, and mean what they say.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use tollgate_core::file::{read, render};
use tollgate_core::limit::{Axis, Excess, Per, RefusalStatus};
use tollgate_core::policy::{Document, Tier};
use tollgate_core::rule::{Rule, TokenBucket};
use tollgate_core::time::Window;

fn load(text: &str) -> Document {
    read(text.as_bytes()).unwrap_or_else(|problems| panic!("{}", render(&problems, "policy.yaml", text)))
}

fn tier<'d>(document: &'d Document, name: &str) -> &'d Tier {
    document.policy.tiers.get(name).unwrap()
}

fn bucket(tier: &Tier) -> TokenBucket {
    match &tier.limits[0].limit.rule {
        Rule::TokenBucket(bucket) => *bucket,
        other => panic!("not a bucket: {other:?}"),
    }
}

#[test]
fn the_tiers_of_seed_003_mean_what_they_say() {
    let document = load(include_str!("policies/seed-003.yaml"));
    let names: Vec<&str> = document
        .policy
        .tiers
        .iter()
        .map(|tier| tier.name.as_str())
        .collect();
    assert_eq!(names, ["free", "pro", "enterprise"]);
    let free = tier(&document, "free");
    assert_eq!(bucket(free), TokenBucket::new(10, Window::SECOND, 20).unwrap());
    let quota = &free.limits[1].limit;
    assert_eq!((quota.axis, quota.per), (Axis::Quota, Per::Account));
    assert_eq!(quota.excess, Excess::Refuse(RefusalStatus::PaymentRequired));
    assert!(matches!(&quota.rule, Rule::Calendar { limit, .. } if limit.get() == 50_000));
    assert_eq!(bucket(tier(&document, "pro")).burst(), 300);
    let enterprise = tier(&document, "enterprise");
    assert_eq!(bucket(enterprise).burst(), 2_000);
    assert_eq!(enterprise.limits.len(), 1);
    assert_eq!(document.policy.tiers.smallest().unwrap().name.as_str(), "free");
}
