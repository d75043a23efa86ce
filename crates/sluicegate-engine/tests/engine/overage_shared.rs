//! Overage where nodes share a Redis: what the store says of a true cost is recorded once, whatever crashes.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::policy::TierName;
use sluicegate_engine::{CallerRequest, Engine, Hold};
use sluicegate_ledger::{BilledPrint, Flags, Kind, Position, Record, Settlement};
use sluicegate_store::database::Database;
use sluicegate_testkit::redis::{Engine as Server, RedisServer};
use tempfile::TempDir;

use crate::place::{NOW, Place, copy_dir, costing, header, request, wait, writer};
use crate::shared_place::{self, customer};

const PLANS: &str = "tiers: {metered: {quota: 10, on_quota_exceeded: bill_overage, refund_on: 5xx}}";

async fn node(redis: &RedisServer, dir: &TempDir) -> Arc<Engine> {
    shared_place::node(PLANS, &redis.url(), Duration::from_secs(10), dir).await
}

/// Charges a request, and ends it with what it cost in truth.
async fn cost(engine: &Engine, key: &str, reserved: u64, settled: u64) {
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(key), reserved) };
    let permit = engine.decided(&held, engine.now()).await.permit.unwrap();
    engine.finish(&permit, Some(200), Some(settled), engine.now()).unwrap();
    engine.spool().flush().unwrap();
}

/// What every record does to usage and overage.
fn records(engine: &Engine) -> Vec<(Kind, u64, u64)> {
    let mut records = Vec::new();
    let read = engine.spool().read(Position(0), |_, record| {
        records.push((record.kind, record.cost, record.overage));
    });
    read.map(|_| records).unwrap()
}

/// Keeps the journal until there are so many records.
async fn journal(engine: &Arc<Engine>, count: usize) -> Vec<(Kind, u64, u64)> {
    let keeping = tokio::spawn({
        let engine = Arc::clone(engine);
        async move { engine.keep_journal().await }
    });
    for _ in 0..500 {
        if records(engine).len() >= count {
            break;
        }
        // Between two looks at what a real server and the journal do.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    keeping.abort();
    let _ = keeping.await;
    engine.spool().flush().unwrap();
    records(engine)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_store_says_of_corrections_and_refunds_is_recorded() {
    let (redis, dir) = (RedisServer::new(Server::Redis), tempfile::tempdir().unwrap());
    let engine = node(&redis, &dir).await;
    let key = customer(&engine).await;
    cost(&engine, &key, 1, 25).await;
    let corrected = [(Kind::Charge, 1, 0), (Kind::Correction, 24, 0), (Kind::Correction, 0, 15)];
    assert_eq!(journal(&engine, 3).await, corrected);
    cost(&engine, &key, 30, 2).await;
    let refunded = [(Kind::Charge, 30, 30), (Kind::Refund, 28, 0), (Kind::Refund, 0, 28)];
    assert_eq!(journal(&engine, 6).await[3..], refunded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_told_and_not_written_is_written_by_the_next_process() {
    let redis = RedisServer::new(Server::Redis);
    let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let engine = node(&redis, &dir).await;
    let key = customer(&engine).await;
    cost(&engine, &key, 1, 25).await;
    // What a process leaves that is killed when the store has answered, and its answer is not on disk.
    copy_dir(dir.path(), left.path());
    assert_eq!(journal(&engine, 3).await.len(), 3);
    drop(engine);
    let next = node(&redis, &left).await;
    assert_eq!(journal(&next, 3).await[1..], [(Kind::Correction, 24, 0), (Kind::Correction, 0, 15)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_is_not_written_again() {
    let redis = RedisServer::new(Server::Redis);
    let (dir, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let engine = node(&redis, &dir).await;
    let key = customer(&engine).await;
    for settled in [25, 4] {
        cost(&engine, &key, 1, settled).await;
    }
    assert_eq!(journal(&engine, 6).await.len(), 6);
    copy_dir(dir.path(), left.path());
    drop(engine);
    // As if it had not been noted how far the journal was settled.
    let database = Database::open(&left.path().join("sluicegate.db")).unwrap();
    database.set_meta("journal", 0_u64.to_be_bytes().to_vec()).wait().unwrap();
    drop(database);
    let next = node(&redis, &left).await;
    cost(&next, &key, 1, 3).await;
    let written = journal(&next, 9).await;
    let overage: u64 = written.iter().map(|(_, _, overage)| overage).sum();
    assert_eq!((written.len(), overage), (9, 25 + 4 + 3 - 10), "{written:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_recorded_outlasts_a_tier_that_refuses() {
    const TIERS: &str = "tiers: {metered: {quota: 10, on_quota_exceeded: bill_overage}, hard: {quota: 100}}";
    let (redis, dir) = (RedisServer::new(Server::Redis), tempfile::tempdir().unwrap());
    let engine = shared_place::node(TIERS, &redis.url(), Duration::from_secs(10), &dir).await;
    let key = customer(&engine).await;
    for (tier, cost, told) in [("metered", 60, Some("50")), ("hard", 3, None), ("metered", 7, Some("57"))] {
        let tier = TierName::new(tier).unwrap();
        engine.directory().set_tier("acme", tier, &writer()).await.unwrap();
        let decision = engine.decided(&costing(request(&key), cost), engine.now()).await;
        assert_eq!(header(&decision, "X-Quota-Overage").as_deref(), told);
    }
    let overage: u64 = records(&engine).iter().map(|(_, _, overage)| overage).sum();
    assert_eq!(overage, 57);
}

const TWO_PLANS: &str = "
tiers:
  metered: {quota: 10, on_quota_exceeded: bill_overage, refund_on: 5xx}
  larger: {quota: 20, on_quota_exceeded: bill_overage, refund_on: 5xx}
";

/// What the records of ends of requests say of how they are settled.
fn ends(engine: &Engine) -> Vec<(Kind, u64, BilledPrint, Settlement, Flags)> {
    let mut ends = Vec::new();
    let read = engine.spool().read(Position(0), |_, record: &Record| {
        if record.kind != Kind::Charge && record.cost > 0 {
            let flags = record.flags.without(Flags::OWED | Flags::FINISHED);
            ends.push((record.kind, record.cost, record.billed, record.settlement, flags));
        }
    });
    read.map(|_| ends).unwrap()
}

/// A request of each way to end, charged before a change of the tier and ended after it.
async fn end_after_a_change_of_the_tier(engine: &Engine, account: &str, key: &str) {
    let costs = [(Some(200), 9), (Some(200), 1), (Some(503), 3)];
    let mut held = Vec::new();
    for _ in 0..2 * costs.len() {
        let asked = CallerRequest { hold: Hold::Yes, ..costing(request(key), 3) };
        held.push(engine.decided(&asked, engine.now()).await.permit.unwrap());
    }
    let larger = TierName::new("larger").unwrap();
    engine.directory().set_tier(account, larger, &writer()).await.unwrap();
    for (status, cost) in costs {
        let (own, handed) = (held.pop().unwrap(), held.pop().unwrap());
        engine.finish(&own, status, Some(cost), engine.now()).unwrap();
        let handed = engine.keep(handed, engine.now()).unwrap();
        engine.finish_kept(&handed.text, status, Some(cost), engine.now()).await.unwrap();
    }
    engine.spool().flush().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_of_requests_are_recorded_alike_in_memory_and_where_nodes_share_a_store() {
    let (redis, dir) = (RedisServer::new(Server::Redis), tempfile::tempdir().unwrap());
    let shared = shared_place::node(TWO_PLANS, &redis.url(), Duration::from_secs(10), &dir).await;
    let key = customer(&shared).await;
    end_after_a_change_of_the_tier(&shared, "acme", &key).await;
    let in_memory = std::thread::spawn(|| {
        let place = Place::new(TWO_PLANS);
        let caller = place.caller("metered");
        place.engine.clock().set(NOW);
        wait(end_after_a_change_of_the_tier(&place.engine, "acct-metered", &caller.key));
        ends(&place.engine)
    });
    let in_memory = in_memory.join().unwrap();
    assert_eq!(in_memory.len(), 6);
    assert_eq!(ends(&shared), in_memory);
}
