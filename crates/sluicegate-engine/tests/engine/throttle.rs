//! Limits that belong to no account.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sluicegate_core::limit::LimitName;
use sluicegate_core::plan::{HomeId, SubjectClass};
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_engine::{
    CallerRequest, Credential, Engine, StoreMode, Throttle, ThrottleAnswer, ThrottleAsk,
};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer, Reply};

use crate::place::{NOW, Place, answer, at, request};
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

fn nobody<'r>(headers: &'r http::HeaderMap, address: &str) -> CallerRequest<'r> {
    let address = Some(address.parse().unwrap());
    CallerRequest { credential: Credential::Nothing { headers }, address, ..request("") }
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
        let throttle = engine.throttle(&name(), rule);
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
fn limits_without_end_are_all_held_and_only_so_many_are_remembered() {
    let place = Place::new(PLANS);
    let before = place.engine.limits();
    for number in 1..=70_000 {
        let asked =
            Asked { subject: place.engine.subject(&[b"test"]), ..Asked::new(&place.engine, &bucket(number)) };
        assert_eq!(asked.answer(ThrottleAsk::Peek(Amount::ONE), NOW).0, ThrottleAnswer::Fits);
    }
    let remembered = place.engine.limits();
    assert!((65_536..=65_536 + before + 1).contains(&remembered), "{remembered}");
    // One that has no number of its own is held to the unit, and so is one of a window.
    let asked = Asked::new(&place.engine, &bucket(80_000));
    assert_eq!(asked.answer(take(79_999), NOW), (ThrottleAnswer::Fits, 1));
    assert_eq!(asked.answer(take(2), NOW), (ThrottleAnswer::Wait(Nanos::from_secs(10)), 1));
    assert_eq!(asked.answer(take(2), at(10)), (ThrottleAnswer::Fits, 0));
    let subject = place.engine.subject(&[b"test", b"bob"]);
    let asked = Asked { subject, ..Asked::new(&place.engine, &per_hour(1_000_001)) };
    assert_eq!(asked.answer(take(1_000_000), NOW), (ThrottleAnswer::Fits, 1));
    assert_eq!(asked.answer(take(1), NOW), (ThrottleAnswer::Fits, 0));
    assert!(matches!(asked.answer(take(1), NOW).0, ThrottleAnswer::Wait(_)));
}

#[test]
fn what_was_taken_under_a_limit_without_a_number_survives_a_restart() {
    let place = Place::new(PLANS);
    for number in 1..=66_000 {
        place.engine.throttle(&name(), &bucket(number));
    }
    // Thirds of a nanosecond are rounded up: a limit that has no number is remembered by what is owed.
    let thirds = Rule::TokenBucket(TokenBucket::new(3, Window::from_secs(100).unwrap(), 70_001).unwrap());
    assert_eq!(Asked::new(&place.engine, &thirds).answer(take(70_000), NOW), (ThrottleAnswer::Fits, 1));
    let place = place.restart(PLANS);
    assert_eq!(place.recovered.unreadable, 0);
    let asked = Asked::new(&place.engine, &thirds);
    assert!(matches!(asked.answer(take(2), NOW).0, ThrottleAnswer::Wait(_)));
    assert_eq!(asked.answer(take(1), at(1)), (ThrottleAnswer::Fits, 0));
}

const BOUNDED: &str = "
identity: {anonymous: free}
tiers:
  free: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}
  pro: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}
";

/// Has many different subjects asked for, each of which may take all of its limit.
fn flood(engine: &Engine, subjects: std::ops::Range<u32>) {
    let throttle = engine.throttle(&name(), &per_hour(3));
    for number in subjects {
        let subject = engine.subject(&[b"flood", &number.to_le_bytes()]);
        for _ in 0..3 {
            let throttled = engine.throttled_here(&throttle, subject, take(1), NOW).unwrap();
            assert_eq!(throttled.answer, ThrottleAnswer::Fits, "subject {number}");
        }
    }
}

#[test]
fn a_flood_of_throttle_names_changes_nothing_for_accounts_and_clients() {
    let place = Place::with_clients(BOUNDED, 1_280);
    let engine = &place.engine;
    let customer = place.caller("pro");
    let headers = http::HeaderMap::new();
    let client = |address: &str| nobody(&headers, address);
    assert!(place.get(&customer, "/", NOW).is_admitted());
    assert!(place.ask(&client("203.0.113.1"), NOW).is_admitted());
    flood(engine, 0..20_000);
    // Each partition of the table has its part of the bound.
    assert!((640..=1_280).contains(&engine.homes_of(SubjectClass::Asked)), "{engine:?}");
    let crowded = engine.counters().crowded.load(Ordering::Relaxed);
    assert!(crowded > 3 * 18_000, "{crowded}");
    for expected in ["200", "200", "429 rate_limited"] {
        assert_eq!(answer(&place.get(&customer, "/", NOW)), expected);
        assert_eq!(answer(&place.ask(&client("203.0.113.1"), NOW)), expected);
    }
    // Clients that come now have meters of their own.
    let newcomer = client("203.0.113.2");
    let answers = [(); 4].map(|()| answer(&place.ask(&newcomer, NOW)));
    assert_eq!(answers, ["200", "200", "200", "429 rate_limited"]);
    assert_eq!(engine.homes_of(SubjectClass::Client), 2);
    assert_eq!(engine.counters().crowded.load(Ordering::Relaxed), crowded);
}

#[test]
fn what_is_given_back_never_refills_a_bucket_that_subjects_share() {
    let place = Place::with_clients(BOUNDED, 64);
    flood(&place.engine, 0..1_000);
    let asked = Asked::new(&place.engine, &per_hour(1_000_000));
    let all = Amount::new(1_000_000).unwrap();
    while asked.answer(take(1_000_000), NOW).0 == ThrottleAnswer::Fits {}
    for _ in 0..100 {
        assert_eq!(asked.answer(ThrottleAsk::Give(all), NOW).0, ThrottleAnswer::Fits);
        assert!(matches!(asked.answer(take(1_000_000), NOW).0, ThrottleAnswer::Wait(_)));
    }
}

#[test]
fn subjects_have_their_bound_after_a_restart_too() {
    let place = Place::with_clients(BOUNDED, 640);
    flood(&place.engine, 0..3_000);
    let homes = place.engine.homes_of(SubjectClass::Asked);
    assert!(homes <= 640);
    let place = place.restart(BOUNDED);
    assert_eq!(place.engine.homes_of(SubjectClass::Asked), homes);
    flood(&place.engine, 10_000..13_000);
    assert!(place.engine.homes_of(SubjectClass::Asked) <= 640);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn throttles_follow_a_reload_of_the_share_that_is_admitted_while_the_store_is_away() {
    let mut redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let node = shared_place::node(PLANS, &redis.url(), Duration::from_millis(250), &dir).await;
    let throttle = node.throttle(&name(), &per_hour(10));
    let ask = async |who: &[u8]| {
        node.throttled(&throttle, node.subject(&[b"test", who]), take(1), node.now()).await
    };
    for (turn, (degraded, expected)) in
        [("{cap: 40%}", 4), ("{cap: 80%}", 8), ("{rate: open}", 20), ("{rate: closed}", 0)]
            .into_iter()
            .enumerate()
    {
        let policy = crate::place::policy(&format!("{PLANS}\ndegraded: {degraded}"));
        tokio::task::block_in_place(|| node.reload(policy)).unwrap();
        redis.pause();
        let mut admitted = 0;
        for _ in 0..20 {
            let throttled = ask(format!("somebody {turn}").as_bytes()).await;
            assert_eq!(throttled.mode, StoreMode::Degraded);
            admitted += u64::from(throttled.answer == ThrottleAnswer::Fits);
        }
        assert_eq!(admitted, expected, "{degraded}");
        redis.resume();
        while ask(b"whether the store is back").await.mode == StoreMode::Degraded {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_throttle_names_makes_no_more_entries_in_a_shared_store_than_the_cap() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let deadline = Duration::from_secs(10);
    let node = shared_place::node_with_clients(PLANS, &redis.url(), deadline, &dir, 128).await;
    let entries = || match redis.ask(&["DBSIZE"]) {
        Reply::Number(entries) => entries,
        reply => panic!("{reply:?}"),
    };
    let throttle = node.throttle(&name(), &per_hour(3));
    let ask = async |who: u32, ask: ThrottleAsk| {
        let subject = node.subject(&[b"flood", &who.to_le_bytes()]);
        node.throttled(&throttle, subject, ask, node.now()).await.answer
    };
    let before = entries();
    for who in 0..2_000 {
        assert_eq!(ask(who, take(3)).await, ThrottleAnswer::Fits, "subject {who}");
    }
    let made = entries() - before;
    assert!((64..=128).contains(&made), "{made} entries");
    assert_eq!(node.counters().crowded.load(Ordering::Relaxed), 2_000 - u64::try_from(made).unwrap());
    // Those that have a meter of their own keep it, and are held to their limit.
    assert!(matches!(ask(0, take(1)).await, ThrottleAnswer::Wait(_)));
    // What is given back never refills a bucket that subjects share.
    let all = Amount::new(3).unwrap();
    while ask(1_999, take(3)).await == ThrottleAnswer::Fits {}
    for _ in 0..100 {
        assert_eq!(ask(1_999, ThrottleAsk::Give(all)).await, ThrottleAnswer::Fits);
    }
    assert!(matches!(ask(1_999, take(3)).await, ThrottleAnswer::Wait(_)));
    assert!(entries() - before <= 128);
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
