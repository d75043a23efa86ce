//! Limits that belong to no account.

use std::time::Duration;

use sluicegate_core::limit::LimitName;
use sluicegate_core::plan::HomeId;
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_engine::{Engine, StoreMode, Throttle, ThrottleAnswer, ThrottleAsk};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};

use crate::place::{NOW, Place, at};
use crate::shared_place;

const PLANS: &str = "tiers: {metered: {rate: 1}}";

fn name() -> LimitName {
    LimitName::new("throttle").unwrap()
}

/// So many in a burst, one each ten seconds.
fn bucket(burst: u64) -> Rule {
    Rule::TokenBucket(TokenBucket::new(6, Window::from_secs(60).unwrap(), burst).unwrap())
}

fn per_hour(limit: u64) -> Rule {
    let limit = Amount::new(limit).unwrap();
    Rule::FixedWindow(Windowed { limit, window: Window::from_secs(3_600).unwrap() })
}

fn take(cost: u64) -> ThrottleAsk {
    ThrottleAsk::Take(Amount::new(cost).unwrap())
}

struct Asked<'e> {
    engine: &'e Engine,
    throttle: Throttle,
    subject: HomeId,
}

impl<'e> Asked<'e> {
    fn new(engine: &'e Engine, rule: &Rule) -> Self {
        let throttle = engine.throttle(&name(), rule).unwrap();
        Self { engine, throttle, subject: engine.subject(&[b"test", b"alice"]) }
    }

    fn answer(&self, ask: ThrottleAsk, now: Timestamp) -> (ThrottleAnswer, u64) {
        let throttled = self.engine.throttled_here(&self.throttle, self.subject, ask, now).unwrap();
        (throttled.answer, throttled.limit.remaining)
    }
}

#[test]
fn a_throttle_admits_its_burst_and_then_says_how_long_to_wait() {
    let place = Place::new(PLANS);
    let asked = Asked::new(&place.engine, &bucket(3));
    for left in [2, 1, 0] {
        assert_eq!(asked.answer(take(1), NOW), (ThrottleAnswer::Fits, left));
    }
    assert_eq!(asked.answer(take(1), NOW), (ThrottleAnswer::Wait(Nanos::from_secs(10)), 0));
    assert_eq!(asked.answer(take(1), at(10)), (ThrottleAnswer::Fits, 0));
    assert_eq!(asked.answer(take(4), at(10)), (ThrottleAnswer::Never, 0));
    assert!(place.records().is_empty(), "it is on nobody's bill");
}

#[test]
fn looking_takes_nothing_and_what_is_given_back_can_be_taken_again() {
    let place = Place::new(PLANS);
    let asked = Asked::new(&place.engine, &bucket(2));
    let two = Amount::new(2).unwrap();
    assert_eq!(asked.answer(ThrottleAsk::Peek(two), NOW), (ThrottleAnswer::Fits, 2));
    assert_eq!(asked.answer(take(2), NOW), (ThrottleAnswer::Fits, 0));
    assert_eq!(asked.answer(ThrottleAsk::Give(two), NOW), (ThrottleAnswer::Fits, 2));
    assert_eq!(asked.answer(ThrottleAsk::Give(two), NOW), (ThrottleAnswer::Fits, 2), "no more than all");
    assert_eq!(asked.answer(take(2), NOW), (ThrottleAnswer::Fits, 0));
}

#[test]
fn subjects_are_told_apart_by_their_parts_and_not_by_how_they_read_together() {
    let place = Place::new(PLANS);
    let engine = &place.engine;
    assert_ne!(engine.subject(&[b"a", b"bc"]), engine.subject(&[b"ab", b"c"]));
    let asked = Asked::new(engine, &bucket(1));
    let other = Asked { subject: engine.subject(&[b"test", b"bob"]), ..Asked::new(engine, &bucket(1)) };
    assert_eq!(asked.answer(take(1), NOW).0, ThrottleAnswer::Fits);
    assert_eq!(other.answer(take(1), NOW).0, ThrottleAnswer::Fits);
}

#[test]
fn what_was_taken_counts_when_the_limit_changes() {
    let place = Place::new(PLANS);
    assert_eq!(Asked::new(&place.engine, &per_hour(10)).answer(take(4), NOW).1, 6);
    assert_eq!(Asked::new(&place.engine, &per_hour(5)).answer(take(1), NOW).1, 0);
}

#[test]
fn a_restart_forgets_nothing_that_lasts() {
    let place = Place::new(PLANS);
    assert_eq!(Asked::new(&place.engine, &per_hour(3)).answer(take(2), NOW).1, 1);
    let place = place.restart(PLANS);
    let asked = Asked::new(&place.engine, &per_hour(3));
    assert_eq!(asked.answer(take(1), NOW), (ThrottleAnswer::Fits, 0));
    assert!(matches!(asked.answer(take(1), NOW).0, ThrottleAnswer::Wait(_)));
}

#[test]
fn there_is_an_end_to_different_limits_and_those_that_are_known_stay_in_use() {
    let place = Place::new(PLANS);
    let limits = (1..).map(per_hour).map(|rule| place.engine.throttle(&name(), &rule));
    let made = limits.take_while(Result::is_ok).count();
    assert_eq!(made, 4_096);
    let asked = Asked::new(&place.engine, &per_hour(1));
    assert_eq!(asked.answer(take(1), NOW).0, ThrottleAnswer::Fits);
    let error = place.engine.throttle(&name(), &per_hour(1 << 30)).unwrap_err();
    assert!(error.to_string().contains("4096 different limits"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_share_a_store_share_throttles_and_each_has_a_part_while_it_is_away() {
    let mut redis = RedisServer::new(Kind::Redis);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let deadline = Duration::from_secs(10);
    let nodes = [
        shared_place::node(PLANS, &redis.url(), deadline, &dirs[0]).await,
        shared_place::node(PLANS, &redis.url(), deadline, &dirs[1]).await,
    ];
    let mut admitted = 0;
    for turn in 0..20 {
        let asked = Asked::new(&nodes[turn % 2], &per_hour(10));
        assert!(asked.engine.throttled_here(&asked.throttle, asked.subject, take(1), NOW).is_none());
        let now = asked.engine.now();
        let throttled = asked.engine.throttled(&asked.throttle, asked.subject, take(1), now).await;
        assert_eq!(throttled.mode, StoreMode::Normal);
        admitted += u64::from(throttled.answer == ThrottleAnswer::Fits);
    }
    assert_eq!(admitted, 10);
    redis.kill();
    // Whoever is known to be refused is refused without the store.
    let subject = nodes[0].subject(&[b"test", b"bob"]);
    let asked = Asked { subject, ..Asked::new(&nodes[0], &per_hour(10)) };
    let mut admitted = 0;
    for _ in 0..20 {
        let now = asked.engine.now();
        let throttled = asked.engine.throttled(&asked.throttle, asked.subject, take(1), now).await;
        assert_eq!(throttled.mode, StoreMode::Degraded);
        admitted += u64::from(throttled.answer == ThrottleAnswer::Fits);
    }
    assert_eq!(admitted, 4, "40 % of the limit");
}
