//! No algorithm admits more in any interval than its bound says, counted from outside.

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate_core::calendar::Period;
use sluicegate_core::limit::{Excess, OverageCap, RefusalStatus};
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp};

use crate::cases;
use crate::driver::Driver;
use crate::strategies::{Terms, cost, counting_rule, time_step};

/// Requests that were admitted: when, and for how much.
type Admissions = Vec<(Timestamp, u64)>;

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn never_above_the_bound_in_any_interval(
        rule in counting_rule(),
        requests in vec((time_step(), any::<bool>(), cost()), 200),
    ) {
        let terms = Terms { rule: rule.clone(), excess: Excess::Refuse(RefusalStatus::TooManyRequests), sold: None };
        let mut driver = Driver::new(&[terms], Timestamp::from_secs(1_790_000_000));
        let mut admitted = Admissions::new();
        for (step, hurry, cost) in requests {
            // Half of the requests follow at once: bursts are where limits are exceeded.
            if !hurry {
                driver.later(step);
            }
            if let Outcome::Admitted { .. } = driver.ask(&[0], cost, Mode::Charge, 0).outcome {
                admitted.push((driver.now, cost));
            }
        }
        check(&rule, &admitted)?;
    }

    /// A quota whose overage is capped admits no more than one with so much more in it.
    #[test]
    fn never_above_the_limit_and_its_overage_in_any_interval(
        rule in counting_rule().prop_filter("has overage", has_overage),
        cap in 1..100u64,
        requests in vec((time_step(), any::<bool>(), cost()), 200),
    ) {
        let cap = Amount::new(cap).unwrap();
        let excess = Excess::BillUpTo(OverageCap { amount: cap, status: RefusalStatus::PaymentRequired });
        let terms = Terms { rule: rule.clone(), excess, sold: None };
        let mut driver = Driver::new(&[terms], Timestamp::from_secs(1_790_000_000));
        let mut admitted = Admissions::new();
        for (step, hurry, cost) in requests {
            if !hurry {
                driver.later(step);
            }
            if let Outcome::Admitted { .. } = driver.ask(&[0], cost, Mode::Charge, 0).outcome {
                admitted.push((driver.now, cost));
            }
        }
        check(&rule.raised(cap), &admitted)?;
    }
}

/// Whether more than its limit can be counted, up to the most that any counts.
fn has_overage(rule: &Rule) -> bool {
    !matches!(rule, Rule::TokenBucket(_)) && rule.capacity() < Amount::MAX - 100
}

fn check(rule: &Rule, admitted: &Admissions) -> Result<(), TestCaseError> {
    match rule {
        Rule::TokenBucket(bucket) => every_interval(admitted, |length, sum| {
            // sum ≤ burst + amount × length / window, without dividing
            let window = u128::from(bucket.window().as_nanos());
            let allowed =
                u128::from(bucket.burst()) * window + u128::from(bucket.amount()) * u128::from(length.0);
            sum * window <= allowed
        }),
        Rule::SlidingBuckets(rule) | Rule::SlidingLog(rule) => every_interval(admitted, |length, sum| {
            length.0 >= rule.window.as_nanos() || sum <= u128::from(rule.limit.get())
        }),
        Rule::FixedWindow(rule) => every_window(admitted, |at| rule.aligned(at), rule.limit.get()),
        Rule::Calendar { limit, calendar } => {
            every_window(admitted, |at| calendar.period_at(at), limit.get())
        }
        Rule::SlidingWindow(rule) => every_estimate(admitted, rule),
        Rule::Concurrency { .. } => Ok(()),
    }
}

/// Every interval from one admission to another. The length is that from the first to the last: a longer one
/// that holds no more admissions allows no less.
fn every_interval(admitted: &Admissions, holds: impl Fn(Nanos, u128) -> bool) -> Result<(), TestCaseError> {
    for (first, (from, _)) in admitted.iter().enumerate() {
        let mut sum = 0;
        for (to, cost) in &admitted[first..] {
            sum += u128::from(*cost);
            prop_assert!(holds(to.since(*from), sum), "{sum} within {:?}", to.since(*from));
        }
    }
    Ok(())
}

fn every_window(
    admitted: &Admissions,
    window: impl Fn(Timestamp) -> Period,
    limit: u64,
) -> Result<(), TestCaseError> {
    for (at, _) in admitted {
        let period = window(*at);
        let sum: u64 =
            admitted.iter().filter(|(other, _)| period.contains(*other)).map(|(_, cost)| cost).sum();
        prop_assert!(sum <= limit, "{sum} in {period:?}");
    }
    Ok(())
}

/// At each admission the estimate, taken from all that was admitted, is at most the limit; and in any window
/// length at most twice the limit is admitted.
fn every_estimate(admitted: &Admissions, rule: &Windowed) -> Result<(), TestCaseError> {
    let length = rule.window.as_nanos();
    for (index, (now, _)) in admitted.iter().enumerate() {
        let current = rule.aligned(*now).start;
        let sum = |window: Timestamp| -> u128 {
            let admitted = admitted[..=index].iter().filter(|(at, _)| rule.aligned(*at).start == window);
            admitted.map(|(_, cost)| u128::from(*cost)).sum()
        };
        let previous = Timestamp::from_nanos(current.as_nanos() - length);
        let weight = u128::from(length - now.since(current).0);
        let estimate = sum(current) + sum(previous) * weight / u128::from(length);
        prop_assert!(estimate <= u128::from(rule.limit.get()), "an estimate of {estimate}");
    }
    every_interval(admitted, |span, sum| span.0 >= length || sum <= 2 * u128::from(rule.limit.get()))
}
