//! An account with many keys, each with limits of its own, on Redis.

use serde_json::json;
use sluicegate_testkit::http::Caller;
use sluicegate_testkit::redis::{Engine, RedisLaunch};

use crate::bed::check;
use crate::nodes::node;

/// More than one Redis string holds the meters of.
const KEYS: usize = 1_500;

#[test]
fn every_key_of_fifteen_hundred_has_its_own_quota_on_redis() {
    let redis = RedisLaunch::new(Engine::Redis).start();
    let node = node("tiers: {keyed: {rate: 1_000, burst: 1_000, quota: 2, quota_pool: key}}", &redis.url());
    let mut keys = vec![node.customer("acme", "keyed")];
    keys.extend((1..KEYS).map(|_| node.key_with("acme", &json!({})).key));
    let mut decisions = Caller::new(node.server.decision());
    for expected in [(true, 1), (true, 0), (false, 0)] {
        for (number, key) in keys.iter().enumerate() {
            let answer = decisions.send(&check(&json!({"key": key}))).unwrap().json();
            let limits = answer["limits"].as_array().unwrap_or_else(|| panic!("{answer}"));
            let quota = limits.iter().find(|limit| limit["name"] == "quota").unwrap();
            let said = (answer["allowed"].as_bool().unwrap(), quota["remaining"].as_u64().unwrap());
            assert_eq!((said, &answer["mode"]), (expected, &json!("normal")), "key {number}: {answer}");
        }
    }
}
