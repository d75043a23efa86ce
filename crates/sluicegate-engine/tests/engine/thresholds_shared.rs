//! Shares of quotas where several nodes share a Redis: whoever notices, they are announced once.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::rule::Amount;
use sluicegate_engine::{CallerRequest, Engine, Hold};
use sluicegate_store::alerts::{Alert, AlertKind, Which};
use sluicegate_store::directory::Page;
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};
use tempfile::TempDir;

use crate::place::{costing, request};
use crate::shared_place::{self, customer};

const PLANS: &str =
    "tiers: {metered: {quota: 40, quota_window: billing_month, on_quota_exceeded: bill_overage}}";

async fn node(redis: &RedisServer, dir: &TempDir) -> Arc<Engine> {
    shared_place::node(PLANS, &redis.url(), Duration::from_secs(10), dir).await
}

async fn alerts(engine: &Engine) -> Vec<Alert> {
    engine.alerts().list(Page::default(), Which::All).await.unwrap().items
}

/// What was announced, in order.
fn levels(alerts: &[Alert]) -> Vec<String> {
    let level = |alert: &Alert| match &alert.news.kind {
        AlertKind::QuotaThreshold { percent, .. } => percent.to_string(),
        AlertKind::QuotaOverage(_) => "overage".to_owned(),
        other => panic!("no quota: {other:?}"),
    };
    let mut levels: Vec<String> = alerts.iter().map(level).collect();
    levels.sort();
    levels
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_notice_at_once_announce_each_share_once() {
    let redis = RedisServer::new(Kind::Redis);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let nodes = [node(&redis, &dirs[0]).await, node(&redis, &dirs[1]).await];
    let key = customer(&nodes[0]).await;
    let mut running = Vec::new();
    for node in &nodes {
        for _ in 0..25 {
            let (node, key) = (Arc::clone(node), key.clone());
            running.push(tokio::spawn(async move {
                node.decided(&request(&key), node.now()).await.is_admitted()
            }));
        }
    }
    for one in running {
        assert!(one.await.unwrap());
    }
    tokio::join!(nodes[0].announce_thresholds(), nodes[1].announce_thresholds());
    let seen = alerts(&nodes[0]).await;
    assert_eq!(levels(&seen), ["100", "50", "80", "90", "overage"]);
    assert_eq!(alerts(&nodes[1]).await, seen, "every node shows the same");
    let told: u64 = nodes.iter().flat_map(|node| node.thresholds_announced()).map(|(_, count)| count).sum();
    assert_eq!(told, 5);
    // A node that starts anew knows nothing, and announces nothing.
    let dir = tempfile::tempdir().unwrap();
    let third = node(&redis, &dir).await;
    assert!(third.decided(&request(&key), third.now()).await.is_admitted());
    third.announce_thresholds().await;
    assert_eq!(alerts(&third).await, seen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_whose_alert_did_not_reach_the_list_is_completed_by_whoever_finds_it() {
    let redis = RedisServer::new(Kind::Redis);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let one = node(&redis, &dirs[0]).await;
    let key = customer(&one).await;
    assert!(one.decided(&costing(request(&key), 20), one.now()).await.is_admitted());
    one.announce_thresholds().await;
    let seen = alerts(&one).await;
    assert_eq!(levels(&seen), ["50"]);
    // As if it had been killed between the mark and the list.
    let marks = redis.ask(&["KEYS", "sg1:{*}:once:*"]);
    let mark = marks.list()[0].text();
    let pending = redis.ask(&["ZRANGE", "sg1:{alerts}:list", "0", "0"]).list()[0].text();
    redis.ask(&["SET", &mark, &pending, "XX", "KEEPTTL"]);
    redis.ask(&["DEL", "sg1:{alerts}:list"]);
    assert_eq!(alerts(&one).await, []);
    let other = node(&redis, &dirs[1]).await;
    assert!(other.decided(&request(&key), other.now()).await.is_admitted());
    other.announce_thresholds().await;
    assert_eq!(alerts(&other).await, seen, "the very same alert");
    assert_eq!(redis.ask(&["GET", &mark]).text(), "done");
    let ttl: i64 = redis.ask(&["PTTL", &mark]).text().parse().unwrap();
    assert!(ttl > 0, "{ttl}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_true_cost_that_the_journal_settles_is_announced() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let engine = node(&redis, &dir).await;
    let key = customer(&engine).await;
    let held = CallerRequest { hold: Hold::Yes, cost: Amount::new(1), ..request(&key) };
    let permit = engine.decided(&held, engine.now()).await.permit.unwrap();
    engine.finish(&permit, Some(200), Some(33), engine.now()).unwrap();
    engine.spool().flush().unwrap();
    let keeping = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { tokio::join!(engine.keep_journal(), engine.keep_thresholds()) }
    });
    for _ in 0..500 {
        if levels(&alerts(&engine).await) == ["50", "80"] {
            return keeping.abort();
        }
        // Between two looks at what a real server and the tasks of the engine do.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(levels(&alerts(&engine).await), ["50", "80"]);
}
