//! Test keys: a pool of their own, refused where it ends, never billed, in both stores.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_engine::books::{Measure, Others};
use sluicegate_engine::{Books, CallerRequest, Hold, Name};
use sluicegate_ledger::{Position, Record};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};
use tokio::runtime::Runtime;

use crate::place::{Caller, NOW, Place, answer, at, costing, header, request};
use crate::shared_place::{customer, key_of_customer, node};

const PLANS: &str = "
tiers:
  metered: {rate: 1000, quota: 10, on_quota_exceeded: bill_overage}
  capped: {quota: 10, on_quota_exceeded: bill_overage, overage_cap: 5}
  keyed: {quota: 10, quota_pool: key, on_quota_exceeded: bill_overage}
  plain: {quota: 10}
";

fn ask(place: &Place, caller: &Caller, cost: u64) -> String {
    answer(&place.ask(&costing(request(&caller.key), cost), NOW))
}

/// What records say: whose, how much, how much beyond the quota.
fn told(records: &[Record]) -> Vec<(KeyEnv, u64, u64)> {
    records.iter().map(|record| (record.env, record.cost, record.overage)).collect()
}

#[test]
fn they_are_refused_where_their_pool_ends_and_take_nothing_from_live_keys() {
    for (tier, refused) in [
        ("metered", "429 quota_exceeded"),
        ("capped", "402 quota_exceeded"),
        ("keyed", "429 quota_exceeded"),
        ("plain", "402 quota_exceeded"),
    ] {
        let place = Place::new(PLANS);
        let live = place.caller(tier);
        let test = place.key_for(KeyEnv::Test, &format!("acct-{tier}"), &[]);
        assert_eq!(ask(&place, &test, 8), "200", "{tier}");
        assert_eq!(ask(&place, &test, 3), refused, "{tier}");
        assert_eq!(ask(&place, &test, 2), "200", "{tier}");
        let last = place.ask(&request(&test.key), NOW);
        assert_eq!(answer(&last), refused, "{tier}");
        assert_eq!(header(&last, "X-Quota-Remaining").as_deref(), Some("0"), "{tier}");
        assert_eq!(ask(&place, &live, 10), "200", "{tier}: live keys have all of theirs");
        let (live_env, test_env) = (KeyEnv::Live, KeyEnv::Test);
        assert_eq!(told(&place.records()), [(test_env, 8, 0), (test_env, 2, 0), (live_env, 10, 0)], "{tier}");
    }
}

#[test]
fn only_live_keys_are_billed() {
    let place = Place::new(PLANS);
    let live = place.caller("metered");
    let tests = [(); 2].map(|()| place.key_for(KeyEnv::Test, "acct-metered", &[]));
    assert_eq!(ask(&place, &live, 13), "200");
    assert_eq!(ask(&place, &tests[0], 6), "200");
    assert_eq!(ask(&place, &tests[1], 6), "429 quota_exceeded", "they share one pool");
    // The true cost may lie above it, and is not billed either.
    let held = CallerRequest { hold: Hold::Yes, ..request(&tests[1].key) };
    let permit = place.ask(&held, NOW).permit.unwrap();
    place.engine.finish(&permit, Some(200), Some(40), at(1)).unwrap();
    let records = place.records();
    let billed: Vec<u64> = records.iter().map(|record| record.overage).collect();
    assert_eq!(billed, [3, 0, 0, 0], "{records:?}");
    assert_eq!(records[3].env, KeyEnv::Test, "a correction is of the same key");
    // Each comes back after a crash as it was.
    let place = place.crash(PLANS);
    assert_eq!(ask(&place, &tests[0], 1), "429 quota_exceeded");
    let more = place.ask(&request(&live.key), NOW);
    assert_eq!((answer(&more).as_str(), header(&more, "X-Quota-Overage").as_deref()), ("200", Some("4")));
}

#[test]
fn their_meters_agree_with_the_records() {
    let place = Place::new(PLANS);
    let runtime = Runtime::new().unwrap();
    for tier in ["metered", "keyed"] {
        let live = place.caller(tier);
        let test = place.key_for(KeyEnv::Test, &format!("acct-{tier}"), &[]);
        assert_eq!((ask(&place, &live, 12), ask(&place, &test, 7)), ("200".to_owned(), "200".to_owned()));
    }
    let books = {
        let _entered = runtime.enter();
        Arc::new(Books::open(Arc::clone(&place.engine), place.dir()).unwrap())
    };
    let counts = runtime.block_on(books.quotas(None, &Others::new())).unwrap();
    let said = |measure: Measure| {
        let counts = counts.iter().filter(|count| count.measure == measure);
        let mut said: Vec<_> =
            counts.map(|it| (it.key.map(KeyEnv::of_tagged), it.records, it.drift())).collect();
        said.sort_unstable();
        said
    };
    let (live, test) = (Some(KeyEnv::Live), Some(KeyEnv::Test));
    assert_eq!(said(Measure::Used), [(None, 12, 0), (live, 12, 0), (test, 7, 0), (test, 7, 0)]);
    assert_eq!(said(Measure::Overage), [(None, 2, 0), (live, 2, 0)], "nothing of test keys is billed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_apart_in_redis_too() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let node = node(PLANS, &redis.url(), Duration::from_secs(10), &dir).await;
    let live = customer(&node).await;
    let test = key_of_customer(&node, KeyEnv::Test).await;
    let ask =
        async |key: &str, cost: u64| answer(&node.decided(&costing(request(key), cost), node.now()).await);
    assert_eq!(ask(&test, 9).await, "200");
    assert_eq!(ask(&test, 2).await, "429 quota_exceeded");
    assert_eq!(ask(&live, 12).await, "200");
    assert_eq!(ask(&test, 1).await, "200");
    assert_eq!(ask(&test, 1).await, "429 quota_exceeded");
    let mut records = Vec::new();
    node.spool().read(Position(0), |_, record| records.push(*record)).unwrap();
    assert_eq!(told(&records), [(KeyEnv::Test, 9, 0), (KeyEnv::Live, 12, 2), (KeyEnv::Test, 1, 0)]);
}

#[test]
fn a_name_that_a_test_key_has_used_is_not_free_for_a_live_key() {
    let place = Place::new(PLANS);
    let live = place.caller("plain");
    let test = place.key_for(KeyEnv::Test, "acct-plain", &[]);
    let named = |key| CallerRequest {
        idempotency_key: Some(Name::Given { text: "order-7", query: None }),
        ..request(key)
    };
    for caller in [&test, &live, &test, &live] {
        assert_eq!(answer(&place.ask(&named(&caller.key), NOW)), "200");
    }
    assert_eq!(told(&place.records()), [(KeyEnv::Test, 1, 0), (KeyEnv::Live, 1, 0)]);
}
