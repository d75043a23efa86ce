//! Permits where several nodes share a Redis: finished at any of them, settled once, with nodes killed and cut off.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::time::Nanos;
use sluicegate_engine::{
    CallerRequest, Engine, FinishError, Finished, Front, HandedPermit, Hold, Purpose, Renewed, StoreMode,
};
use sluicegate_ledger::{Flags, Kind as RecordKind, Position, Record};
use sluicegate_store::redis::{Address, Link, LinkOptions, PermitClaims};
use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::place::{copy_dir, costing, request};
use crate::shared_place::{customer, node};

const PLANS: &str = "tiers: {metered: {rate: 1000, burst: 1000, quota: 100_000, concurrency: 100}}";
const PATIENCE: Duration = Duration::from_secs(10);

/// A node and its background work.
struct Node {
    engine: Arc<Engine>,
    dir: TempDir,
    tasks: Vec<JoinHandle<()>>,
}

impl Node {
    async fn start(address: &str, dir: TempDir, deadline: Duration) -> Self {
        let engine = node(PLANS, address, deadline, &dir).await;
        let (journal, claims) = (Arc::clone(&engine), Arc::clone(&engine));
        let tasks = vec![
            tokio::spawn(async move { journal.keep_journal().await }),
            tokio::spawn(async move { claims.keep_claims().await }),
        ];
        Self { engine, dir, tasks }
    }

    async fn new(address: &str) -> Self {
        Self::start(address, tempfile::tempdir().unwrap(), PATIENCE).await
    }

    /// The process is killed, and another starts on what it left on disk.
    async fn killed(self, address: &str) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_dir(self.dir.path(), copy.path());
        self.tasks.iter().for_each(JoinHandle::abort);
        Self::start(address, copy, PATIENCE).await
    }

    async fn held(&self, key: &str, cost: u64, hold: Hold) -> HandedPermit {
        let ask = CallerRequest { hold, ..costing(request(key), cost) };
        let decision = self.engine.decided(&ask, self.engine.now()).await;
        self.engine.keep(decision.permit.unwrap(), self.engine.now()).unwrap()
    }

    async fn finish(&self, permit: &HandedPermit, cost: u64) -> Result<Finished, FinishError> {
        self.engine.finish_kept(&permit.text, Some(200), Some(cost), self.engine.now()).await
    }

    async fn used(&self, key: &str, limit: &str) -> u64 {
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(key) };
        let decision = self.engine.decided(&peek, self.engine.now()).await;
        decision.limits.iter().find(|now| now.name.as_str() == limit).map_or(u64::MAX, |now| now.used)
    }

    async fn becomes(&self, key: &str, limit: &str, used: u64) {
        for _ in 0..500 {
            if self.used(key, limit).await == used {
                return;
            }
            // Between two looks at what a real server and the tasks of the engine do.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(self.used(key, limit).await, used);
    }

    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        self.engine.spool().read(Position(0), |_, record| records.push(*record)).unwrap();
        records
    }

    /// What its ledger says was used.
    fn ledger(&self) -> i128 {
        let sign = |kind| if kind == RecordKind::Refund { -1 } else { 1 };
        self.records().iter().map(|record| sign(record.kind) * i128::from(record.cost)).sum()
    }
}

const fn finished(reserved: u64, settled: u64) -> Result<Finished, FinishError> {
    Ok(Finished { reserved, settled })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permit_is_finished_at_another_node_once() {
    let redis = RedisServer::new(Kind::Redis);
    let (one, other) = (Node::new(&redis.url()).await, Node::new(&redis.url()).await);
    let key = customer(&one.engine).await;
    let permit = one.held(&key, 5, Hold::Yes).await;
    assert_eq!(one.used(&key, "concurrency").await, 1);
    assert_eq!(other.finish(&permit, 8).await, finished(5, 8));
    one.becomes(&key, "concurrency", 0).await;
    for node in [&one, &other] {
        assert_eq!(node.finish(&permit, 1).await, finished(5, 8));
        node.engine.spool().flush().unwrap();
    }
    one.becomes(&key, "quota", 8).await;
    assert_eq!(one.ledger() + other.ledger(), 8);
    let renewed = one.engine.renew_kept(&permit.text, Nanos::from_secs(60), one.engine.now()).await;
    assert_eq!(renewed, Err(FinishError::Finished));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_finishes_at_two_nodes_one_settles_and_all_have_its_answer() {
    let redis = RedisServer::new(Kind::Redis);
    let (one, other) = (Node::new(&redis.url()).await, Node::new(&redis.url()).await);
    let key = customer(&one.engine).await;
    let mut total = 0;
    for round in 0..20 {
        let permit = one.held(&key, 5, Hold::Yes).await;
        let finish = async |node: &Node, cost| node.finish(&permit, cost).await;
        let answers = tokio::join!(
            finish(&one, round),
            finish(&other, round + 1),
            finish(&one, round + 2),
            finish(&other, round + 3)
        );
        assert!(answers.0.is_ok(), "{answers:?}");
        assert_eq!([answers.1, answers.2, answers.3], [answers.0; 3]);
        total += answers.0.unwrap().settled;
    }
    [&one, &other].into_iter().for_each(|node| node.engine.spool().flush().unwrap());
    one.becomes(&key, "quota", total).await;
    assert_eq!(one.ledger() + other.ledger(), i128::from(total));
}

/// A node behind a network that fails, and another one on the same Redis.
async fn behind_chaos() -> (RedisServer, ChaosProxy, Node, Node, String) {
    let redis = RedisServer::new(Kind::Redis);
    let chaos = ChaosProxy::start(redis.address());
    let url = format!("redis://{}", chaos.address());
    let dir = tempfile::tempdir().unwrap();
    let cut = Node::start(&url, dir, Duration::from_millis(500)).await;
    let other = Node::new(&redis.url()).await;
    let key = customer(&other.engine).await;
    (redis, chaos, cut, other, key)
}

/// Finishes a permit at a node that never hears what became of its claim.
async fn finish_unheard(
    redis: &RedisServer,
    chaos: &ChaosProxy,
    cut: &Node,
    key: &str,
    permit: &HandedPermit,
    cost: u64,
) {
    let options = LinkOptions { deadline: PATIENCE, ..LinkOptions::default() };
    let link = Link::open(&Address::parse(&redis.url()).unwrap(), &options).unwrap();
    link.ready(PATIENCE).await.unwrap();
    let claims = PermitClaims::new(link);
    for _ in 0..100 {
        while cut.engine.store_mode() != StoreMode::Normal {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // News of the account may come late, and make the node forget it: then it does not come as far as a claim.
        cut.used(key, "quota").await;
        // Commands arrive, and replies do not.
        chaos.set(Mode::HalfCut);
        assert_eq!(cut.finish(permit, cost).await, Err(FinishError::Unavailable));
        // Nor does a node whose connection is just being replaced.
        let announced = cut.records().into_iter().rfind(|record| record.flags.contains(Flags::CLAIMS));
        if let Some(record) = announced
            && claims.find(record.home, record.decision).await.unwrap().is_some()
        {
            return;
        }
        chaos.set(Mode::Pass);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the node never made a claim");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_between_its_claim_and_its_record_loses_and_doubles_nothing() {
    let (redis, chaos, cut, other, key) = behind_chaos().await;
    let permit = cut.held(&key, 5, Hold::Yes).await;
    finish_unheard(&redis, &chaos, &cut, &key, &permit, 9).await;
    // Another node has the answer of the claim, and settles nothing.
    assert_eq!(other.finish(&permit, 2).await, finished(5, 9));
    assert_eq!(other.ledger(), 0);
    assert_eq!(cut.ledger(), 5);
    let next = cut.killed(&redis.url()).await;
    next.becomes(&key, "quota", 9).await;
    assert_eq!(next.ledger(), 9);
    assert_eq!(next.finish(&permit, 2).await, finished(5, 9));
    // A second kill finds nothing to do.
    let last = next.killed(&redis.url()).await;
    last.becomes(&key, "quota", 9).await;
    assert_eq!((last.ledger(), last.finish(&permit, 1).await), (9, finished(5, 9)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_is_unreachable_a_finish_is_to_be_tried_again_and_a_lost_reply_settles_once() {
    let (redis, chaos, cut, other, key) = behind_chaos().await;
    let permit = cut.held(&key, 5, Hold::Yes).await;
    finish_unheard(&redis, &chaos, &cut, &key, &permit, 9).await;
    chaos.set(Mode::Pass);
    for _ in 0..200 {
        // Until the node has noticed that Redis answers again.
        match cut.finish(&permit, 1).await {
            Err(FinishError::Unavailable) => tokio::time::sleep(Duration::from_millis(50)).await,
            answer => {
                assert_eq!(answer, finished(5, 9));
                break;
            }
        }
    }
    cut.engine.spool().flush().unwrap();
    other.becomes(&key, "quota", 9).await;
    assert_eq!((cut.ledger(), other.ledger()), (9, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_is_held_for_as_long_as_a_service_says_and_renewed_at_another_node() {
    let redis = RedisServer::new(Kind::Redis);
    let (one, other) = (Node::new(&redis.url()).await, Node::new(&redis.url()).await);
    let key = customer(&one.engine).await;
    let permit = one.held(&key, 1, Hold::For(Nanos::from_secs(1))).await;
    let now = other.engine.now();
    let renewed = other.engine.renew_kept(&permit.text, Nanos::from_secs(3_600), now).await.unwrap();
    assert_eq!(renewed.lives, Nanos::from_secs(3_600));
    let short = one.held(&key, 1, Hold::For(Nanos::from_secs(1))).await;
    one.becomes(&key, "concurrency", 1).await;
    let late = one.engine.now().plus(Nanos::from_secs(2));
    let expired = other.engine.renew_kept(&short.text, Nanos::from_secs(60), late).await;
    assert_eq!(expired, Err(FinishError::Expired));
    assert_eq!(one.finish(&renewed, 1).await, finished(1, 1));
    one.becomes(&key, "concurrency", 0).await;
    assert_eq!(one.finish(&short, 3).await, finished(1, 3));
}

/// How many calls were made, once no more are.
async fn still(calls: &impl Fn() -> u64) -> u64 {
    let mut last = calls();
    for _ in 0..100 {
        // Between two looks at what a real server and the tasks of the engine do.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let now = calls();
        if now == last {
            return now;
        }
        last = now;
    }
    panic!("calls go on: {last}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_long_requests_of_an_account_cost_redis_one_script_in_a_third_of_their_lease() {
    let redis = RedisServer::new(Kind::Redis);
    let one = Node::new(&redis.url()).await;
    let key = customer(&one.engine).await;
    let own = CallerRequest { front: Front::Gateway, ..request(&key) };
    let began = one.engine.now();
    for _ in 0..60 {
        let permit = one.engine.decided(&own, one.engine.now()).await.permit.unwrap();
        one.engine.enter(&permit);
    }
    let calls = || one.engine.store_counters().unwrap().calls.get();
    let before = still(&calls).await;
    // A minute, second by second. The first requests are a little older than the last. Each step waits for the calls of
    // the one before: those that come while a call is under way would share the next one.
    let mut all = Renewed::default();
    for secs in 0..=60 {
        let renewed = one.engine.renew(began.plus(Nanos::from_secs(secs)));
        all = Renewed { slots: all.slots + renewed.slots, steps: all.steps + renewed.steps };
        if renewed.steps > 0 {
            assert_eq!(still(&calls).await - before, all.steps as u64, "calls for {all:?}");
        }
    }
    assert!((120..=180).contains(&all.slots), "{all:?}");
    assert!((2..=6).contains(&all.steps), "{all:?}");
    assert_eq!(still(&calls).await - before, all.steps as u64, "calls for {all:?}");
    assert_eq!(one.used(&key, "concurrency").await, 60);
}
