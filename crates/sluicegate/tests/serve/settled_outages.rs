//! What is used while a store cannot be reached is in its meters when it is back, and billed once, however quotas are
//! decided meanwhile.

use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{metered, node};

const TIERS: &str = "
tiers:
  metered: {rate: 100_000, burst: 100_000, quota: 10, on_quota_exceeded: bill_overage}
";

/// Spends so much, and gives the mode of the decision.
fn spend(node: &Bed, key: &str, cost: u64) -> String {
    let answer = node.check(&json!({"key": key, "cost": cost})).json();
    assert_eq!(answer["allowed"], true, "{answer}");
    answer["mode"].as_str().unwrap().to_owned()
}

fn wait_until(node: &Bed, mode: &str) {
    wait::within(Duration::from_secs(20), mode, || (node.health()["store"]["mode"] == mode).then_some(()));
}

/// Waits until the meter says so, and stays there.
fn expect_metered(node: &Bed, used: u64) {
    wait::within(Duration::from_secs(10), "the usage of the outage", || {
        metered(node, "acme").filter(|metered| *metered >= used)
    });
    let agree = node.admin(Asked::new("POST", "/admin/v1/usage/reconcile?against=meters")).json();
    assert_eq!(agree["differences"], json!([]), "{agree}");
    assert_eq!(metered(node, "acme"), Some(used));
}

fn usage_of_an_outage_is_settled(quota: &str) {
    let mut redis = RedisLaunch::new(Engine::Redis).start();
    let policy = format!("{TIERS}degraded: {{rate: local, quota: {quota}}}\n");
    let mut node = node(&policy, &redis.url());
    let key = node.customer("acme", "metered");
    assert_eq!(spend(&node, &key, 8), "normal");

    redis.pause();
    for _ in 0..4 {
        assert_eq!(spend(&node, &key, 1), "degraded");
    }
    redis.resume();
    wait_until(&node, "normal");
    expect_metered(&node, 12);

    // The same over the end of the process.
    redis.pause();
    assert_eq!(spend(&node, &key, 3), "degraded");
    node.server.kill();
    redis.resume();
    node.restart();
    expect_metered(&node, 15);
    let answer = node.check(&json!({"key": key})).json();
    assert_eq!(answer["headers"]["X-Quota-Overage"], "6", "{answer}");
}

#[test]
fn usage_that_was_counted_locally_in_an_outage_is_billed_when_the_store_is_back() {
    usage_of_an_outage_is_settled("local");
}

#[test]
fn usage_that_was_not_counted_in_an_outage_is_billed_when_the_store_is_back() {
    usage_of_an_outage_is_settled("open");
}

#[test]
fn usage_that_was_reconciled_after_an_outage_is_billed_once() {
    usage_of_an_outage_is_settled("reconcile");
}
