//! Several nodes on one Redis: one limit for all of them, and what happens while it is away.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};
use sluicegate_testkit::server::Launch;
use sluicegate_testkit::wait;
use tempfile::TempDir;

use crate::bed::{Bed, PROGRAM, check};

const POLICY: &str = "
tiers:
  hundred: {rate: 100_000, burst: 100_000, quota: 100, quota_window: sliding_day}
  quick: {rate: 1, burst: 10}
  metered: {rate: 100_000, burst: 100_000, quota: 1_000_000}
";

/// A Redis and some nodes on it.
pub(crate) struct Nodes {
    pub(crate) redis: RedisServer,
    pub(crate) nodes: Vec<Bed>,
}

impl Nodes {
    pub(crate) fn start(policy: &str, count: usize) -> Self {
        let redis = RedisLaunch::new(Engine::Redis).start();
        let nodes = (0..count).map(|_| node(policy, &redis.url())).collect();
        Self { redis, nodes }
    }

    fn first(&self) -> &Bed {
        &self.nodes[0]
    }

    /// What nodes answer to a check, once it is this on all of them.
    fn expect_soon(&self, key: &str, expected: &str) {
        for node in &self.nodes {
            wait::within(Duration::from_secs(5), expected, || {
                let answer = node.check(&json!({"key": key})).json();
                (answer["error"].as_str().unwrap_or("none") == expected).then_some(())
            });
        }
    }
}

/// A node of its own on this store.
pub(crate) fn node(policy: &str, store: &str) -> Bed {
    node_with(policy, store, |launch| launch)
}

/// The same, with more.
pub(crate) fn node_with(policy: &str, store: &str, more: impl FnOnce(Launch) -> Launch) -> Bed {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let launch = more(launch(policy, store, folder.path()));
    Bed::launched(launch, folder)
}

/// How a node is started.
pub(crate) fn launch(policy: &str, store: &str, folder: &Path) -> Launch {
    Launch::new(PROGRAM, folder)
        .policy(policy)
        .arg("--store")
        .arg(store)
        .variable("SLUICEGATE_SECRET", "a secret that all nodes of this test have")
}

/// What a quota has counted. Nobody can say while a call is in doubt.
pub(crate) fn metered(node: &Bed, account: &str) -> Option<u64> {
    let limits = node.admin(Asked::get(&format!("/admin/v1/accounts/{account}/limits")));
    let limits = (limits.status == 200).then(|| limits.json())?;
    limits["items"].as_array()?.iter().find(|item| item["name"] == "quota")?["used"].as_u64()
}

#[test]
fn three_nodes_admit_a_hundred_of_twelve_hundred() {
    let nodes = Nodes::start(POLICY, 3);
    let key = nodes.first().customer("acme", "hundred");
    let barrier = Barrier::new(30);
    let admitted: usize = thread::scope(|scope| {
        let running: Vec<_> = (0..30)
            .map(|number| {
                let (key, barrier, node) = (&key, &barrier, &nodes.nodes[number % 3]);
                scope.spawn(move || {
                    let mut gateway = Caller::new(node.server.gateway());
                    barrier.wait();
                    let statuses = (0..40).map(|_| gateway.send(&Asked::get("/").key(key)).unwrap().status);
                    statuses.filter(|status| *status == 200).count()
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 100);
    for node in &nodes.nodes {
        assert_eq!(node.used("acme", "quota"), 100);
    }
}

#[test]
fn what_one_node_changes_the_others_obey_within_a_second() {
    let nodes = Nodes::start(POLICY, 3);
    let bed = nodes.first();
    bed.account("acme", "hundred");
    let key = bed.key_with("acme", &json!({}));
    nodes.expect_soon(&key.key, "none");
    let spent = json!({"key": key.key, "cost": 97});
    assert_eq!(bed.check(&spent).json()["allowed"], true);
    nodes.expect_soon(&key.key, "quota_exceeded");
    let put = Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": "metered"}));
    assert_eq!(nodes.nodes[1].admin(put).status, 200);
    nodes.expect_soon(&key.key, "none");
    let revoke = Asked::new("DELETE", &format!("/admin/v1/keys/{}", key.id));
    assert!(nodes.nodes[2].admin(revoke).status < 300);
    nodes.expect_soon(&key.key, "invalid_key");
}

#[test]
fn while_the_store_is_away_known_callers_get_their_share_and_quotas_are_closed() {
    let mut nodes = Nodes::start(POLICY, 1);
    let (quick, metered) =
        (nodes.first().customer("quick", "quick"), nodes.first().customer("metered", "metered"));
    for key in [&quick, &metered] {
        assert_eq!(nodes.first().check(&json!({"key": key})).json()["allowed"], true);
    }
    nodes.redis.kill();
    let bed = nodes.first();
    let answers: Vec<_> = (0..12).map(|_| bed.check(&json!({"key": quick})).json()).collect();
    assert!(answers.iter().all(|answer| answer["mode"] == "degraded"), "{answers:?}");
    // Four of ten, and none of the one per second comes back before two and a half seconds.
    assert_eq!(answers.iter().filter(|answer| answer["allowed"] == true).count(), 4, "{answers:?}");
    let closed = bed.gateway(&Asked::get("/").key(&metered));
    assert_eq!((closed.status, closed.header("x-sluicegate-mode")), (503, Some("degraded")));
    wait::within(Duration::from_secs(20), "it is noticed", || {
        bed.check(&json!({"key": quick}));
        (bed.health()["store"] == json!({"kind": "redis", "mode": "degraded", "directory": "known"}))
            .then_some(())
    });
    let stranger =
        bed.check(&json!({"key": "sg_live_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})).json();
    assert_eq!(stranger["allowed"], false);
    nodes.redis.restart();
    wait::within(Duration::from_secs(4), "normal again", || {
        (nodes.first().health()["store"]["mode"] == "normal").then_some(())
    });
}

#[test]
fn what_was_used_while_the_store_was_away_is_settled_once() {
    let policy = format!("{POLICY}degraded: {{quota: reconcile}}\n");
    let mut nodes = Nodes::start(&policy, 1);
    let key = nodes.first().customer("metered", "metered");
    let ask =
        |bed: &Bed| Caller::new(bed.server.decision()).send(&check(&json!({"key": key}))).unwrap().json();
    (0..5).for_each(|_| assert_eq!(ask(nodes.first())["mode"], "normal"));
    nodes.redis.pause();
    let degraded = (0..20).map(|_| ask(nodes.first())).filter(|answer| answer["allowed"] == true).count();
    assert_eq!(degraded, 20);
    nodes.redis.resume();
    let used = wait::within(Duration::from_secs(5), "the books", || {
        let limits = nodes.first().admin(Asked::get("/admin/v1/accounts/metered/limits"));
        // Until it is known what became of the call that was cut off, nobody can say.
        (limits.status == 200).then_some(())?;
        let limits = limits.json();
        let quota = limits["items"].as_array().unwrap().iter().find(|item| item["name"] == "quota").unwrap();
        quota["used"].as_u64().filter(|used| *used >= 25)
    });
    assert_eq!(used, 25);
    wait::pause(Duration::from_millis(500));
    assert_eq!(nodes.first().used("metered", "quota"), 25);
}
