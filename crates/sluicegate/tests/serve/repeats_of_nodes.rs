//! Names that several nodes share: a request is charged once, whichever node its repeat reaches.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::json;
use sluicegate_engine::DecisionId;
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer, Reply};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered, node, node_with};
use crate::repeats::{failing, post, post_nothing};

const POLICY: &str = "
routes: {all: {match: /**, repeats: free}}
tiers:
  metered: {rate: 100_000, burst: 100_000, quota: 100_000}
  slow: {rate: 1/hour, burst: 5, quota: 100_000}
  kind: {rate: 100_000, burst: 100_000, quota: 100_000, refund_on: 5xx}
";

/// What a quota has counted, once nothing is on its way any more.
fn settled(node: &Bed, expected: u64) {
    wait::within(Duration::from_secs(10), "the books", || {
        (metered(node, "acme") == Some(expected)).then_some(())
    });
}

fn a_repeat_at_another_node_is_charged_once(engine: Engine) {
    let redis = RedisLaunch::new(engine).start();
    let nodes = [node(POLICY, &redis.url()), node(POLICY, &redis.url())];
    let key = nodes[0].customer("acme", "metered");
    let first = nodes[0].gateway(&post(&key, "a")).json()["headers"]["x-sluicegate-decision"].clone();
    for node in [&nodes[1], &nodes[0], &nodes[1]] {
        let repeat = node.gateway(&post(&key, "a"));
        assert_eq!((repeat.status, repeat.header("x-quota-used")), (200, Some("1")));
        assert_eq!(repeat.json()["headers"]["x-sluicegate-decision"], first);
        let other = Asked::new("PUT", "/orders").key(&key).header("Idempotency-Key", "a").body("{}");
        let conflict = node.gateway(&other);
        assert_eq!((conflict.status, conflict.json()["error"].clone()), (422, json!("idempotency_conflict")));
    }
    assert_eq!(nodes[1].used("acme", "quota"), 1);
}

#[test]
fn a_repeat_at_another_node_is_charged_once_on_redis() {
    a_repeat_at_another_node_is_charged_once(Engine::Redis);
}

#[test]
fn a_repeat_at_another_node_is_charged_once_on_valkey() {
    a_repeat_at_another_node_is_charged_once(Engine::Valkey);
}

#[test]
fn of_fifty_pairs_that_race_at_two_nodes_each_is_charged_once() {
    let nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "metered");
    let barrier = Barrier::new(2);
    let decisions = thread::scope(|scope| {
        let racing = [0, 1].map(|number| {
            let (key, barrier, node) = (&key, &barrier, &nodes.nodes[number]);
            scope.spawn(move || {
                let mut gateway = Caller::new(node.server.gateway());
                let send = |pair: usize| {
                    barrier.wait();
                    let answer = gateway.send(&post(key, &format!("pair-{pair}"))).unwrap();
                    assert_eq!(answer.status, 200, "{answer:?}");
                    answer.json()["headers"]["x-sluicegate-decision"].clone()
                };
                (0..50).map(send).collect::<Vec<_>>()
            })
        });
        racing.map(|thread| thread.join().unwrap())
    });
    assert_eq!(decisions[0], decisions[1]);
    assert_eq!(nodes.nodes[0].used("acme", "quota"), 50);
}

#[test]
fn one_name_is_no_way_around_the_rate_of_all_nodes() {
    let nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "slow");
    let statuses: Vec<u16> =
        (0..8).map(|number| nodes.nodes[number % 2].gateway(&post(&key, "a")).status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
    assert_eq!(nodes.nodes[1].used("acme", "quota"), 1);
}

#[test]
fn a_node_that_is_killed_takes_no_name_along_and_knows_its_own_again() {
    let mut nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "metered");
    assert_eq!(nodes.nodes[0].gateway(&post(&key, "a")).status, 200);
    nodes.nodes[0].server.kill();
    assert_eq!(nodes.nodes[1].gateway(&post(&key, "a")).header("x-quota-used"), Some("1"));
    nodes.nodes[0].restart();
    assert_eq!(nodes.nodes[0].gateway(&post(&key, "a")).header("x-quota-used"), Some("1"));
}

#[test]
fn a_retry_at_another_node_after_a_failure_is_charged_once_with_a_refund_and_without() {
    for tier in ["metered", "kind"] {
        let redis = RedisLaunch::new(Engine::Redis).start();
        let upstream = failing(1);
        let start = || node_with(POLICY, &redis.url(), |launch| launch.arg("--upstream").arg(upstream.url()));
        let nodes = [start(), start()];
        let key = nodes[0].customer("acme", tier);
        assert_eq!(nodes[0].gateway(&post_nothing(&key, "a")).status, 503);
        settled(&nodes[1], if tier == "kind" { 0 } else { 1 });
        for node in [&nodes[1], &nodes[0], &nodes[1]] {
            assert_eq!(node.gateway(&post_nothing(&key, "a")).status, 200);
        }
        assert_eq!(nodes[0].used("acme", "quota"), 1);
    }
}

/// Whether a decision has a name in the store.
fn has_name(redis: &RedisServer, decision: &str) -> bool {
    let id = DecisionId::parse(decision).unwrap().0.to_le_bytes();
    redis.ask(&["KEYS", "sg1:*:i:*"]).list().iter().any(|key| match redis.ask(&["GET", &key.text()]) {
        Reply::Bytes(bytes) => bytes.get(8..24) == Some(&id[..]),
        _ => false,
    })
}

/// The first answer of a node after the store went away. Where the node heard only then that the key is new, it would
/// have to ask for it once more, and refuses; then everything is once more as it was before.
fn first_while_away(nodes: &mut Nodes, key: &str) -> Answer {
    for _ in 0..5 {
        nodes.redis.pause();
        let first = nodes.nodes[0].gateway(&post(key, "a"));
        if first.status != 503 {
            return first;
        }
        nodes.redis.resume();
        wait::within(Duration::from_secs(20), "the store again", || {
            let answer = nodes.nodes[0].gateway(&post(key, "before"));
            (answer.status == 200 && answer.header("x-sluicegate-mode").is_none()).then_some(())
        });
    }
    panic!("the node forgets its key again and again");
}

#[test]
fn what_was_charged_while_the_store_was_away_is_known_to_the_others_afterwards() {
    for quota in ["local", "reconcile"] {
        let policy = format!("{POLICY}degraded: {{quota: {quota}, cap: 100%}}\n");
        let mut nodes = Nodes::start(&policy, 2);
        let key = nodes.nodes[0].customer("acme", "metered");
        for node in &nodes.nodes {
            assert_eq!(node.gateway(&post(&key, "before")).status, 200);
        }
        let first = first_while_away(&mut nodes, &key);
        assert_eq!((first.status, first.header("x-sluicegate-mode")), (200, Some("degraded")));
        let here = nodes.nodes[0].gateway(&post(&key, "a"));
        assert_eq!(
            here.json()["headers"]["x-sluicegate-decision"],
            first.json()["headers"]["x-sluicegate-decision"]
        );
        nodes.redis.resume();
        // Not the one whose answer was lost, which is undone.
        let decision = first.json()["headers"]["x-sluicegate-decision"].as_str().unwrap().to_owned();
        wait::within(Duration::from_secs(10), "the store knows the name", || {
            has_name(&nodes.redis, &decision).then_some(())
        });
        settled(&nodes.nodes[1], 2);
        let there = nodes.nodes[1].gateway(&post(&key, "a"));
        assert_eq!(there.header("x-sluicegate-mode"), None, "{there:?}");
        assert_eq!(
            there.json()["headers"]["x-sluicegate-decision"],
            first.json()["headers"]["x-sluicegate-decision"]
        );
        assert_eq!(nodes.nodes[1].used("acme", "quota"), 2, "{quota}");
    }
}

fn one_name_for_five_hundred_bodies_is_charged_for_each_that_is_delivered(engine: Engine) {
    let redis = RedisLaunch::new(engine).start();
    let node = node("tiers: {metered: {rate: 100_000, burst: 100_000, quota: 5}}", &redis.url());
    let key = node.customer("acme", "metered");
    let mut gateway = Caller::new(node.server.gateway());
    let mut forwarded = 0;
    for body in 0..500 {
        let asked =
            Asked::new("POST", "/orders").key(&key).header("Idempotency-Key", "a").body(body.to_string());
        let answer = gateway.send(&asked).unwrap();
        forwarded += usize::from(answer.status == 200);
        assert!(matches!(answer.status, 200 | 402), "{answer:?}");
    }
    assert_eq!((forwarded, node.used("acme", "quota")), (5, 5));
}

#[test]
fn one_name_for_five_hundred_bodies_is_charged_for_each_that_is_delivered_on_redis() {
    one_name_for_five_hundred_bodies_is_charged_for_each_that_is_delivered(Engine::Redis);
}

#[test]
fn one_name_for_five_hundred_bodies_is_charged_for_each_that_is_delivered_on_valkey() {
    one_name_for_five_hundred_bodies_is_charged_for_each_that_is_delivered(Engine::Valkey);
}

/// Waits until the store has heard how every attempt under the one name has ended.
fn wait_until_ended(redis: &RedisServer) {
    wait::until("all attempts have ended", || {
        let names = redis.ask(&["KEYS", "sg1:*:i:*"]);
        let name = names.list().first()?.text();
        let open = redis.ask(&["GETRANGE", name.as_str(), "32", "33"]);
        (open == Reply::Bytes(vec![0, 0])).then_some(())
    });
}

#[test]
fn a_retry_is_free_five_times_while_the_upstream_fails_at_any_node() {
    let redis = RedisLaunch::new(Engine::Redis).start();
    let upstream = failing(usize::MAX);
    let policy = "tiers: {metered: {rate: 100_000, burst: 100_000, quota: 100}}";
    let nodes = [(); 2]
        .map(|()| node_with(policy, &redis.url(), |launch| launch.arg("--upstream").arg(upstream.url())));
    let key = nodes[0].customer("acme", "metered");
    for (attempt, used) in [1, 1, 1, 1, 1, 1, 2, 3].into_iter().enumerate() {
        assert_eq!(nodes[attempt % 2].gateway(&post_nothing(&key, "a")).status, 503);
        assert_eq!(nodes[0].used("acme", "quota"), used, "after {attempt} repeats");
        wait_until_ended(&redis);
    }
}
