//! What overflow buckets promise.

use sluicegate_core::book::LimitId;
use sluicegate_core::limit::LimitName;
use sluicegate_core::plan::HomeId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_store::hash::HomeHasher;

use super::super::known::Throttles;
use super::super::{Throttle, ThrottleAnswer, ThrottleAsk};
use super::{Bucket, CLASSES, OverflowBuckets};

const START: Timestamp = Timestamp::from_secs(1_700_000_000);

fn throttle(rule: &Rule) -> Throttle {
    Throttles::default().get(&LimitName::new("throttle").unwrap(), rule, |_| LimitId::from_number(0))
}

fn bucket(amount: u64, secs: u64, burst: u64) -> Throttle {
    throttle(&Rule::TokenBucket(TokenBucket::new(amount, Window::from_secs(secs).unwrap(), burst).unwrap()))
}

fn per_minute(limit: u64) -> Throttle {
    let window = Window::from_secs(60).unwrap();
    throttle(&Rule::FixedWindow(Windowed { limit: Amount::new(limit).unwrap(), window }))
}

fn subject(number: u64) -> HomeId {
    HomeHasher::new([3; 16]).of_name(&number.to_le_bytes())
}

fn units(cost: u64) -> Amount {
    Amount::new(cost).unwrap()
}

fn fits(buckets: &OverflowBuckets, throttle: &Throttle, number: u64, cost: u64, now: Timestamp) -> bool {
    let answer = buckets.settle(throttle, subject(number), ThrottleAsk::Take(units(cost)), now).answer;
    answer == ThrottleAnswer::Fits
}

#[test]
fn no_subject_that_keeps_within_its_limit_is_refused_however_many_there_are() {
    let buckets = OverflowBuckets::default();
    // Some fill at about the same time, and share; they allow very different amounts.
    let throttles =
        [bucket(1, 10, 6), bucket(100, 1, 6_000), per_minute(30), bucket(3, 7, 25), per_minute(5)];
    let costs = [6, 6_000, 30, 25, 5];
    for number in 0..20_000_u64 {
        let which = (number % 5) as usize;
        assert!(fits(&buckets, &throttles[which], number, costs[which], START), "subject {number}");
    }
    // A window later all of it is there again.
    let later = START.plus(Nanos::from_secs(61));
    for number in 0..20_000_u64 {
        let which = (number % 5) as usize;
        assert!(fits(&buckets, &throttles[which], number, costs[which], later), "subject {number}");
    }
}

#[test]
fn one_that_sends_much_is_refused_and_told_how_long() {
    let (buckets, throttle) = (OverflowBuckets::default(), bucket(1, 1, 10));
    let admitted = (0..10_000).filter(|_| fits(&buckets, &throttle, 1, 1, START)).count();
    assert!((10..=20).contains(&admitted), "alone in its bucket: {admitted}");
    let take = ThrottleAsk::Take(units(1));
    let refused = buckets.settle(&throttle, subject(1), take, START);
    let ThrottleAnswer::Wait(wait) = refused.answer else { panic!("{refused:?}") };
    assert_eq!((refused.limit.remaining, refused.limit.used), (0, 10));
    let just_before = START.plus(Nanos(wait.0 - 1));
    assert!(!fits(&buckets, &throttle, 1, 1, just_before));
    assert!(fits(&buckets, &throttle, 1, 1, START.plus(wait)));
    let never = buckets.settle(&throttle, subject(1), ThrottleAsk::Take(units(11)), START);
    assert_eq!(never.answer, ThrottleAnswer::Never);
}

#[test]
fn looking_and_giving_back_change_nothing() {
    let (buckets, throttle) = (OverflowBuckets::default(), bucket(1, 1, 10));
    while fits(&buckets, &throttle, 1, 1, START) {}
    for ask in [ThrottleAsk::Give(units(10)), ThrottleAsk::Peek(units(1))] {
        assert_eq!(buckets.settle(&throttle, subject(1), ask, START).limit.remaining, 0);
        assert!(!fits(&buckets, &throttle, 1, 1, START), "{ask:?}");
    }
}

#[test]
fn every_limit_there_can_be_has_a_class() {
    let longest = TokenBucket::BY_TIME;
    let largest = Windowed { limit: units(Amount::MAX), window: Window::MAX };
    for rule in [Rule::TokenBucket(longest), Rule::FixedWindow(largest)] {
        let (buckets, throttle) = (OverflowBuckets::default(), throttle(&rule));
        assert!(fits(&buckets, &throttle, 1, rule.capacity(), START));
        assert!((0..10).any(|_| !fits(&buckets, &throttle, 1, rule.capacity(), START)), "{rule:?}");
    }
}

#[test]
fn all_buckets_together_take_twelve_mebibytes() {
    assert!(size_of::<parking_lot::Mutex<Bucket>>() * super::BUCKETS * CLASSES <= 12 << 20);
}
