//! Nodes on one Redis: one limit for all of them, and what is answered while it is away.

use std::time::Duration;

use sluicegate_testkit::redis::{Client, Engine, RedisLaunch, RedisServer, Reply};
use sluicegate_testkit::wait;

use super::bed::{asks, client, field, numbers, with_resp};
use crate::bed::Bed;
use crate::nodes::node_with;

const TIERS: &str = "tiers: {quick: {rate: 1/minute, burst: 10}}\n";

fn redis() -> RedisServer {
    RedisLaunch::new(Engine::Redis).start()
}

fn throttle(client: &mut Client, key: &str) -> Vec<i64> {
    numbers(&asks(client, &["CL.THROTTLE", key, "9", "1", "60"]))
}

/// Asks on and on: that the store is away is found out by asking.
fn wait_until(node: &Bed, client: &mut Client, mode: &str) {
    wait::within(Duration::from_secs(20), mode, || {
        asks(client, &["CL.THROTTLE", "anybody", "1", "1", "60"]);
        (node.health()["store"]["mode"] == mode).then_some(())
    });
}

#[test]
fn two_nodes_have_one_limit_and_pipelines_are_answered_in_order() {
    let redis = redis();
    let nodes = [node_with(TIERS, &redis.url(), with_resp), node_with(TIERS, &redis.url(), with_resp)];
    let mut clients = nodes.each_ref().map(client);
    assert_eq!(throttle(&mut clients[0], "k"), [0, 10, 9, -1, 60]);
    assert_eq!(throttle(&mut clients[1], "k"), [0, 10, 8, -1, 120]);
    // All are begun before any is waited for. Those of one key are counted one after the other.
    let [first, second] = &mut clients;
    for _ in 0..6 {
        first.send(&["CL.THROTTLE", "k", "9", "1", "60"]).unwrap();
        first.send(&["ECHO", "between"]).unwrap();
        first.send(&["CL.THROTTLE", "other", "9", "1", "60"]).unwrap();
    }
    for left in (2..8).rev() {
        assert_eq!(numbers(&first.receive().unwrap())[..3], [0, 10, left]);
        assert_eq!(first.receive().unwrap().text(), "between");
        assert_eq!(numbers(&first.receive().unwrap())[..3], [0, 10, left + 2]);
    }
    let admitted = (0..5).filter(|_| throttle(second, "k")[0] == 0).count();
    assert_eq!(admitted, 2);
    assert_eq!(throttle(second, "k")[..3], [1, 10, 0]);
}

#[test]
fn a_check_is_decided_by_the_store() {
    let redis = redis();
    let nodes = [node_with(TIERS, &redis.url(), with_resp), node_with(TIERS, &redis.url(), with_resp)];
    let key = nodes[0].customer("acme", "quick");
    let mut clients = nodes.each_ref().map(client);
    for n in 0..12 {
        let answer = asks(&mut clients[n % 2], &["SLUICEGATE.CHECK", "KEY", &key]);
        assert_eq!(field(&answer, "status"), Reply::Number(if n < 10 { 200 } else { 429 }), "{answer:?}");
        assert_eq!(field(&answer, "mode").text(), "normal");
    }
}

#[test]
fn while_the_store_is_away_a_share_of_each_limit_is_admitted() {
    let mut redis = redis();
    let policy = format!("{TIERS}degraded: {{cap: 40%, rate: local}}\n");
    let node = node_with(&policy, &redis.url(), with_resp);
    let key = node.customer("acme", "quick");
    let mut client = client(&node);
    assert_eq!(throttle(&mut client, "k"), [0, 10, 9, -1, 60]);
    assert_eq!(field(&asks(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]), "mode").text(), "normal");
    redis.kill();
    wait_until(&node, &mut client, "degraded");
    let answers: Vec<Vec<i64>> = (0..8).map(|_| throttle(&mut client, "new")).collect();
    assert_eq!(answers.iter().filter(|answer| answer[0] == 0).count(), 4, "{answers:?}");
    assert!(answers.iter().all(|answer| answer[1] == 10), "{answers:?}");
    let check = asks(&mut client, &["SLUICEGATE.CHECK", "KEY", &key]);
    assert_eq!(field(&check, "mode").text(), "degraded", "{check:?}");
    assert!(asks(&mut client, &["INFO"]).text().contains("sluicegate_mode:degraded"));
    redis.restart();
    wait_until(&node, &mut client, "normal");
    assert_eq!(throttle(&mut client, "another"), [0, 10, 9, -1, 60]);
}

#[test]
fn where_nothing_may_be_decided_without_the_store_that_is_said() {
    let mut redis = redis();
    let node = node_with(&format!("{TIERS}degraded: {{rate: closed}}\n"), &redis.url(), with_resp);
    let mut client = client(&node);
    assert_eq!(throttle(&mut client, "k"), [0, 10, 9, -1, 60]);
    redis.kill();
    wait_until(&node, &mut client, "degraded");
    let answer = asks(&mut client, &["CL.THROTTLE", "k", "9", "1", "60"]).text();
    assert!(answer.starts_with("UNAVAILABLE "), "{answer}");
}
