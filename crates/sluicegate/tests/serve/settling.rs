//! Two nodes whose Redis is stopped and killed under load: what both ledgers have is what was admitted, and the meters
//! agree with them once everything is settled.

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::server::ADMIN_TOKEN;
use sluicegate_testkit::wait;

use crate::bed::{Bed, PROGRAM};
use crate::nodes::node;

const POLICY: &str = "
tiers:
  monthly: {quota: 1_000_000_000}
  daily: {quota: 1_000_000_000, quota_window: sliding_day}
  keyed: {quota: 1_000_000_000, quota_pool: key}
degraded: {quota: reconcile}
";
const TIERS: [&str; 3] = ["monthly", "daily", "keyed"];
/// Between two things that happen.
const DECISIONS: u64 = 5_000;
const BATCH: u64 = 50;
/// Between two batches of one caller: nodes that decide alone are fast.
const PAUSE: Duration = Duration::from_millis(20);

/// What was admitted, by account.
type Admitted = BTreeMap<&'static str, u64>;

/// Those who ask, and whoever directs.
#[derive(Default)]
struct Asking {
    made: AtomicU64,
    over: AtomicBool,
}

/// Tells those who ask to end, also when whoever directs has failed.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Asking {
    /// Asks a node until it is over.
    fn ask(&self, node: &Bed, keys: &[String; 3], seed: u64) -> Admitted {
        let (mut dice, mut decision) = (Dice::new(seed), Caller::new(node.server.decision()));
        let mut admitted = Admitted::new();
        while !self.over.load(Ordering::Relaxed) {
            let asked: Vec<(usize, u64)> =
                (0..BATCH).map(|_| (usize::try_from(dice.below(3)).unwrap(), dice.below(5) + 1)).collect();
            let checks: Vec<Value> =
                asked.iter().map(|(place, cost)| json!({"key": keys[*place], "cost": cost})).collect();
            let batch = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": checks}));
            let answer = decision.send(&batch).unwrap().json();
            for ((place, cost), result) in asked.iter().zip(answer["results"].as_array().unwrap()) {
                assert_eq!(result["allowed"], true, "{result}");
                *admitted.entry(TIERS[*place]).or_default() += cost;
            }
            self.made.fetch_add(BATCH, Ordering::Relaxed);
            wait::pause(PAUSE);
        }
        admitted
    }

    /// Waits until the store is there for both, and some more decisions are made.
    fn go_on(&self, nodes: &[Bed; 2]) {
        for node in nodes {
            wait::until("normal", || (node.health()["store"]["mode"] == "normal").then_some(()));
        }
        let goal = self.made.load(Ordering::Relaxed) + DECISIONS;
        wait::until("decisions", || (self.made.load(Ordering::Relaxed) >= goal).then_some(()));
    }
}

/// What `sluicegate usage reconcile` says of a node.
pub(crate) fn reconcile(bed: &Bed, args: &[&str]) -> (Output, Value) {
    let output = Command::new(PROGRAM)
        .args(["usage", "reconcile", "--json", "--admin-url", &url(bed)])
        .args(args)
        .env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN)
        .output()
        .unwrap();
    let said = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output, said)
}

pub(crate) fn url(bed: &Bed) -> String {
    format!("http://{}", bed.server.admin())
}

#[test]
fn two_nodes_agree_with_their_store_on_what_was_used_while_it_was_away() {
    // Every write is with the system before it is answered, so that it outlives the process.
    let launch = RedisLaunch::new(Engine::Redis).line("appendonly yes").line("appendfsync no");
    let mut redis = launch.start();
    let nodes = [node(POLICY, &redis.url()), node(POLICY, &redis.url())];
    let keys = TIERS.map(|tier| nodes[0].customer(tier, tier));
    for (node, key) in nodes.iter().flat_map(|node| keys.iter().map(move |key| (node, key))) {
        assert_eq!(node.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
    }
    let (asking, mut admitted) = (Asking::default(), Admitted::new());
    thread::scope(|scope| {
        let (nodes, keys, asking) = (&nodes, &keys, &asking);
        let over = Over(&asking.over);
        let ask = |seed: u64, node| scope.spawn(move || asking.ask(node, keys, seed));
        let running = [ask(1, &nodes[0]), ask(2, &nodes[1]), ask(3, &nodes[0]), ask(4, &nodes[1])];
        asking.go_on(nodes);
        redis.pause();
        wait::pause(Duration::from_secs(1));
        redis.resume();
        asking.go_on(nodes);
        redis.kill();
        wait::pause(Duration::from_secs(1));
        redis.restart();
        asking.go_on(nodes);
        drop(over);
        for (tier, cost) in running.into_iter().flat_map(|running| running.join().unwrap()) {
            *admitted.entry(tier).or_default() += cost;
        }
    });
    println!("{} decisions", asking.made.load(Ordering::Relaxed));
    expect_the_sum(&nodes, &admitted);
    for (one, other) in [(&nodes[0], &nodes[1]), (&nodes[1], &nodes[0])] {
        let said = wait::until("everything is settled", || {
            let (output, said) = reconcile(one, &["--node", &url(other)]);
            output.status.success().then_some(said)
        });
        assert_eq!((&said["drift"]["units"], &said["compared"]), (&0.into(), &3.into()), "{said}");
    }
    for (tier, cost) in &admitted {
        assert_eq!(nodes[0].used(tier, "quota"), *cost, "{tier}");
    }
}

/// The ledgers of both nodes have what was admitted, also what was admitted without the store.
fn expect_the_sum(nodes: &[Bed; 2], admitted: &Admitted) {
    let mut alone = 0;
    for (tier, cost) in admitted {
        let usage = nodes.each_ref().map(|node| node.get(&format!("/admin/v1/usage?account={tier}")));
        let sum = |name: &str| usage.iter().map(|usage| usage[name].as_u64().unwrap()).sum::<u64>();
        assert_eq!(sum("total"), *cost, "{tier}");
        alone += sum("degraded");
    }
    println!("{admitted:?}, {alone} of it without the store");
    assert!(alone > 0);
}
