//! The same where several nodes share a Redis: the journal tells it what requests cost in the end.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_engine::{Answer, CallerRequest, Engine, Hold, Purpose};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};
use tempfile::TempDir;

use crate::place::{answer, costing, policy, request};
use crate::shared_place::{self, customer};

struct World {
    engine: Arc<Engine>,
    key: String,
    _redis: RedisServer,
    _dir: TempDir,
}

impl World {
    async fn new(plans: &str) -> Self {
        let (redis, dir) = (RedisServer::new(Kind::Redis), tempfile::tempdir().unwrap());
        let engine = shared_place::node(plans, &redis.url(), Duration::from_secs(10), &dir).await;
        let key = customer(&engine).await;
        tokio::spawn({
            let engine = Arc::clone(&engine);
            async move { engine.keep_journal().await }
        });
        Self { engine, key, _redis: redis, _dir: dir }
    }

    /// Asks for so much, and finishes it with this status and true cost.
    async fn finish(&self, cost: u64, status: u16, true_cost: Option<u64>) {
        let held = CallerRequest { hold: Hold::Yes, ..costing(request(&self.key), cost) };
        let permit = self.engine.decided(&held, self.engine.now()).await.permit.unwrap();
        self.engine.finish(&permit, Some(status), true_cost, self.engine.now()).unwrap();
        self.engine.spool().flush().unwrap();
    }

    /// What a limit says that was used.
    async fn used(&self, limit: &str) -> u64 {
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(&self.key) };
        let decision = self.engine.decided(&peek, self.engine.now()).await;
        decision.limits.iter().find(|now| now.name.as_str() == limit).unwrap().used
    }

    /// Waits until the journal has come so far that this limit says so much.
    async fn used_becomes(&self, limit: &str, used: u64) {
        for _ in 0..500 {
            if self.used(limit).await == used {
                return;
            }
            // Between two looks at what a real server and the tasks of the engine do.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(self.used(limit).await, used);
    }

    /// After how many seconds another request is admitted.
    async fn retry_after(&self) -> u64 {
        match self.engine.decided(&request(&self.key), self.engine.now()).await.answer {
            Answer::Denied(denial) => denial.retry_after.as_secs_ceil(),
            Answer::Admitted => 0,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_returns_quota_and_no_rate() {
    let plans = "tiers: {metered: {rate: 3/day, burst: 3, quota: 1000, refund_on: 5xx}}";
    let world = World::new(plans).await;
    for _ in 0..3 {
        world.finish(1, 503, None).await;
    }
    world.used_becomes("quota", 0).await;
    assert_eq!(world.used("rate").await, 3);
    assert!(world.retry_after().await > 7 * 3_600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lower_true_cost_returns_rate_and_quota() {
    let world = World::new("tiers: {metered: {rate: 3/day, burst: 8, quota: 1000}}").await;
    world.finish(8, 200, Some(2)).await;
    world.used_becomes("quota", 2).await;
    assert_eq!(world.used("rate").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_higher_true_cost_is_owed_in_full() {
    let world = World::new("tiers: {metered: {rate: 10, burst: 20, quota: 100000}}").await;
    world.finish(1, 200, Some(10_000)).await;
    world.used_becomes("quota", 10_000).await;
    let wait = world.retry_after().await;
    assert!((980..=999).contains(&wait), "{wait}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_has_another_algorithm_since_is_left_alone() {
    let plans = |algorithm: &str| {
        format!(
            "tiers: {{metered: {{quota: 1000, limits: {{daily: {{algorithm: {algorithm}, limit: 10/day}}}}}}}}"
        )
    };
    let world = World::new(&plans("fixed_window")).await;
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&world.key), 10) };
    let permit = world.engine.decided(&held, world.engine.now()).await.permit.unwrap();
    world.engine.reload(policy(&plans("sliding_log"))).unwrap();
    assert!(world.retry_after().await > 0);
    world.engine.finish(&permit, Some(200), Some(0), world.engine.now()).unwrap();
    world.engine.spool().flush().unwrap();
    world.used_becomes("quota", 0).await;
    assert_eq!(world.used("daily").await, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_of_overage_holds_and_a_cost_that_fits_it_is_refused_for_now_and_not_for_good() {
    let plans = "
reputation: {penalty: 100, recover: 1/s}
tiers:
  metered:
    limits: {few: {algorithm: fixed_window, limit: 1/day, routes: [few]}}
    quota: 10
    on_quota_exceeded: bill_overage
    overage_cap: 5
routes:
  few: {match: /few}
";
    let world = World::new(plans).await;
    let ask = async |path: &'static str, cost: u64| {
        let asked = CallerRequest { path, ..costing(request(&world.key), cost) };
        world.engine.decided(&asked, world.engine.now()).await
    };
    assert_eq!(answer(&ask("/", 13).await), "200");
    assert_eq!(answer(&ask("/", 16).await), "400 cost_exceeds_limit");
    assert_eq!(answer(&ask("/few", 1).await), "200");
    // One of 15 is left of the quota. This refusal leaves a tenth of every limit, at least 1 of each.
    assert_eq!(answer(&ask("/few", 1).await), "429 rate_limited");
    assert_eq!(answer(&ask("/", 14).await), "402 quota_exceeded");
    assert_eq!(answer(&ask("/", 16).await), "400 cost_exceeds_limit");
    assert_eq!(world.used("quota").await, 14);
}

/// Where requests are forwarded here, nobody waits at their end. The next ones wait for the store to know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_passes_behind_a_request_that_cost_more_than_the_quota() {
    let world = World::new("tiers: {metered: {quota: 1000}}").await;
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&world.key), 1) };
    let permit = world.engine.decided(&held, world.engine.now()).await.permit.unwrap();
    world.engine.finish(&permit, Some(200), Some(5_000), world.engine.now()).unwrap();
    for _ in 0..10 {
        let next = world.engine.decided(&request(&world.key), world.engine.now()).await;
        assert!(!next.is_admitted());
    }
    assert_eq!(world.used("quota").await, 5_000);
}
