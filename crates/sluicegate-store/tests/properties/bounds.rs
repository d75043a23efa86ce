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

/// What happens to a meter over the lives of requests.
#[derive(Clone, Debug)]
enum Life {
    /// A request comes.
    Ask { cost: u64 },
    /// One that was admitted so many ago ends, and has cost a part of what was reserved, in thousandths.
    Less { ago: usize, part: u64 },
    /// One that was admitted so many ago ends, and has cost so much more than was reserved.
    More { ago: usize, excess: u64 },
    /// One ends in a failure: a rate gets nothing back for what reached the service.
    Fail { ago: usize },
    /// One that was admitted so many ago, and may have ended, is sent again under its name. It takes from a rate once
    /// more, and its own end settles nothing.
    Repeat { ago: usize },
}

/// A request that was admitted, and has not ended.
struct Open {
    /// Its place among what was used.
    place: usize,
    reserved: u64,
    at: Timestamp,
}

/// What was used: when, how much, and whether it was asked for before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Used {
    at: Timestamp,
    amount: u64,
    admitted: bool,
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        12 => cost().prop_map(|cost| Life::Ask { cost }),
        4 => (0..6usize, 0..=1_000u64).prop_map(|(ago, part)| Life::Less { ago, part }),
        1 => (0..6usize, 1..400u64).prop_map(|(ago, excess)| Life::More { ago, excess }),
        1 => (0..6usize).prop_map(|ago| Life::Fail { ago }),
        3 => (0..6usize).prop_map(|ago| Life::Repeat { ago }),
    ]
}

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

    /// Refunds, corrections and repeats included: whenever a request is admitted, it and all that was used before it in
    /// any interval are within the bound. So what cost more than was reserved is paid off before anything is admitted.
    #[test]
    fn never_above_the_bound_over_what_was_used_whatever_requests_cost_in_the_end(
        rule in counting_rule(),
        lives in vec((time_step(), any::<bool>(), life()), 200),
    ) {
        let terms = Terms { rule: rule.clone(), excess: Excess::Refuse(RefusalStatus::TooManyRequests), sold: None };
        let mut driver = Driver::new(&[terms], Timestamp::from_secs(1_790_000_000));
        let used = live(&mut driver, &lives);
        for last in (0..used.len()).filter(|last| used[*last].admitted) {
            let until: Admissions = used[..=last].iter().map(|used| (used.at, used.amount)).collect();
            check_last(&rule, &until)?;
        }
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

/// What was used over these lives of requests.
fn live(driver: &mut Driver, lives: &[(u64, bool, Life)]) -> Vec<Used> {
    let (mut open, mut used): (Vec<Open>, Vec<Used>) = (Vec::new(), Vec::new());
    let mut costs = Vec::new();
    for (step, hurry, life) in lives {
        if !hurry {
            driver.later(*step);
        }
        let at = driver.now;
        let mut ended = |ago: &usize| open.len().checked_sub(ago + 1).map(|index| open.remove(index));
        match life {
            Life::Ask { cost } => {
                if let Outcome::Admitted { .. } = driver.ask(&[0], *cost, Mode::Charge, 0).outcome {
                    open.push(Open { place: used.len(), reserved: *cost, at });
                    used.push(Used { at, amount: *cost, admitted: true });
                    costs.push(*cost);
                }
            }
            Life::Less { ago, part } => {
                let Some(Open { place, reserved, at: charged_at }) = ended(ago) else { continue };
                let cost = u64::try_from(u128::from(reserved) * u128::from(*part) / 1_000).unwrap();
                used[place].amount = cost;
                if let Some(reserved) = Amount::new(reserved).filter(|reserved| reserved.get() > cost) {
                    let mode = Mode::Refund { charged_at, reserved };
                    driver.ask(&[0], reserved.get() - cost, mode, 0);
                }
            }
            Life::More { ago, excess } => {
                // No bucket owes more than 31 days for a cost.
                if ended(ago).is_some()
                    && owed_after(driver, *excess) < Nanos::from_secs(31 * 86_400)
                    && (counted_after(driver, *excess) <= Amount::MAX
                        || is_bound_when_cut(&driver.limit(0).rule))
                {
                    driver.ask(&[0], *excess, Mode::Force, 0);
                    used.push(Used { at, amount: *excess, admitted: false });
                }
            }
            Life::Fail { ago } => drop(ended(ago)),
            Life::Repeat { ago } => {
                let Some(cost) = costs.iter().rev().nth(*ago).copied() else { continue };
                if let Outcome::Admitted { .. } = driver.ask(&[0], cost, Mode::Charge, 0).outcome {
                    used.push(Used { at, amount: cost, admitted: true });
                }
            }
        }
    }
    used
}

/// What a meter would count with so much more.
fn counted_after(driver: &Driver, excess: u64) -> u64 {
    driver.ask(&[0], 1, Mode::Peek, 0).readings[0].used + excess
}

/// Whether the bound holds also where a count has stopped at 2^53 − 1. What is cut off there is missing later where
/// usage is forgotten bit by bit, as in windows that slide, and where refunds bring the count below a limit of that
/// size again. Those cases are left out: the page says that counts stop.
fn is_bound_when_cut(rule: &Rule) -> bool {
    matches!(rule, Rule::FixedWindow(_) | Rule::Calendar { .. }) && rule.capacity() <= Amount::MAX / 2
}

/// How long a bucket would owe for so much more.
fn owed_after(driver: &Driver, excess: u64) -> Nanos {
    let Rule::TokenBucket(bucket) = &driver.limit(0).rule else { return Nanos::ZERO };
    let owed = driver.ask(&[0], 1, Mode::Peek, 0).readings[0].reset;
    let window = u128::from(bucket.window().as_nanos());
    let more = u128::from(excess) * window / u128::from(bucket.amount()) + 1;
    Nanos(owed.0.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)))
}

/// Whether more than its limit can be counted, up to the most that any counts.
fn has_overage(rule: &Rule) -> bool {
    !matches!(rule, Rule::TokenBucket(_)) && rule.capacity() < Amount::MAX - 100
}

/// Every interval that ends with the last admission.
fn check_last(rule: &Rule, used: &Admissions) -> Result<(), TestCaseError> {
    let Some((now, _)) = used.last().copied() else { return Ok(()) };
    let sum_from = |from: Timestamp| -> u128 {
        used.iter().filter(|(at, _)| *at >= from).map(|(_, amount)| u128::from(*amount)).sum()
    };
    let mut sum = 0;
    match rule {
        Rule::TokenBucket(bucket) => {
            let window = u128::from(bucket.window().as_nanos());
            for (at, amount) in used.iter().rev() {
                sum += u128::from(*amount);
                let flowed = u128::from(bucket.amount()) * u128::from(now.since(*at).0);
                let allowed = u128::from(bucket.burst()) * window + flowed;
                prop_assert!(sum * window <= allowed, "{sum} within {:?}", now.since(*at));
            }
        }
        Rule::SlidingBuckets(rule) | Rule::SlidingLog(rule) => {
            let counting = used.iter().filter(|(at, _)| now.since(*at).0 < rule.window.as_nanos());
            sum = counting.map(|(_, amount)| u128::from(*amount)).sum();
            prop_assert!(sum <= u128::from(rule.limit.get()), "{sum} in a window");
        }
        Rule::FixedWindow(rule) => {
            let sum = sum_from(rule.aligned(now).start);
            prop_assert!(sum <= u128::from(rule.limit.get()), "{sum} in an aligned window");
        }
        Rule::Calendar { limit, calendar } => {
            let sum = sum_from(calendar.period_at(now).start);
            prop_assert!(sum <= u128::from(limit.get()), "{sum} in a period");
        }
        Rule::SlidingWindow(rule) => {
            let (length, start) = (rule.window.as_nanos(), rule.aligned(now).start);
            let before = Timestamp::from_nanos(start.as_nanos() - length);
            let (current, both) = (sum_from(start), sum_from(before));
            let weight = u128::from(length - now.since(start).0);
            let estimate = current + (both - current) * weight / u128::from(length);
            prop_assert!(estimate <= u128::from(rule.limit.get()), "an estimate of {estimate}");
        }
        Rule::Concurrency { .. } => {}
    }
    Ok(())
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
