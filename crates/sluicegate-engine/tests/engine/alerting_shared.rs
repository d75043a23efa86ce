//! Conditions of several nodes that share a Redis: added up, fired once, and told by a node itself what it alone knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::time::Timestamp;
use sluicegate_engine::{CallerRequest, Credential, Engine, Rejected};
use sluicegate_store::alerts::{AlertKind, AlertState, Alerts, News, RateCaller, Which};
use sluicegate_store::directory::Page;
use sluicegate_store::redis::alerts::counts::{SharedCounts, Slice};
use sluicegate_store::redis::{Address, Link, LinkOptions, NodeId};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};
use tempfile::TempDir;

use crate::place::{nobody, request};
use crate::shared_place;

const PLANS: &str =
    "tiers: {open: {rate: 100000}}\nidentity: {anonymous: open}\nalerts: {webhook: 'http://h/'}";
/// Where a minute begins.
const START: u32 = 1_791_201_600;

fn at(secs: u32) -> Timestamp {
    Timestamp::from_secs(START + secs)
}

fn link_options() -> LinkOptions {
    LinkOptions { deadline: Duration::from_secs(10), ..LinkOptions::default() }
}

async fn node(redis: &RedisServer, dir: &TempDir) -> Arc<Engine> {
    shared_place::node(PLANS, &redis.url(), link_options().deadline, dir).await
}

async fn counts(redis: &RedisServer) -> SharedCounts {
    let link = Link::open(&Address::parse(&redis.url()).unwrap(), &link_options()).unwrap();
    link.ready(Duration::from_secs(10)).await.unwrap();
    SharedCounts::new(link, NodeId(99))
}

async fn decide(engine: &Engine, admitted: u32, refused: u32) {
    let headers = http::HeaderMap::new();
    for _ in 0..admitted {
        assert!(engine.decided(&nobody(&headers), engine.now()).await.is_admitted());
    }
    let address = Some("192.0.2.9".parse().unwrap());
    for _ in 0..refused {
        let asked = CallerRequest { address, credential: Credential::Ambiguous, ..request("") };
        assert!(!engine.decided(&asked, engine.now()).await.is_admitted());
    }
}

async fn tend(nodes: &[Arc<Engine>], now: Timestamp) {
    for node in nodes {
        node.tend_alerts(now).await;
    }
}

/// The oldest first.
async fn news(alerts: &Alerts) -> Vec<News> {
    let listed = alerts.list(Page::default(), Which::All).await.unwrap();
    listed.items.into_iter().rev().map(|alert| alert.news).collect()
}

async fn of_kind(node: &Engine, word: &str) -> Vec<News> {
    let mut all = news(node.alerts()).await;
    all.retain(|news| news.kind.as_str() == word);
    all
}

fn states(news: &[News]) -> Vec<(&'static str, AlertState)> {
    news.iter().map(|news| (news.kind.as_str(), news.state())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nodes_see_together_fires_once_and_whoever_goes_on_resolves_it() {
    let redis = RedisServer::new(Kind::Redis);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let nodes = [node(&redis, &dirs[0]).await, node(&redis, &dirs[1]).await];
    tend(&nodes, at(0)).await;
    // Neither node alone has a hundred requests, nor one an address with more than a thousand refusals.
    decide(&nodes[0], 50, 2).await;
    decide(&nodes[1], 44, 4).await;
    tend(&nodes, at(10)).await;
    tend(&nodes, at(20)).await;
    assert_eq!(news(nodes[0].alerts()).await, [], "not all nodes may have told what they saw");
    tend(&nodes, at(30)).await;
    tend(&nodes, at(40)).await;
    let told = news(nodes[0].alerts()).await;
    assert_eq!(
        told.iter().map(|news| news.kind.clone()).collect::<Vec<_>>(),
        [AlertKind::RefusalsShare { refused: 6, requests: 100 }]
    );
    assert_eq!(news(nodes[1].alerts()).await, told);
    assert_eq!(nodes[0].alerts().posted().await.unwrap().pending, 1, "for whoever delivers");
    // Whoever had the lease is gone, it has run out, and another goes on.
    let left = &nodes[1..];
    redis.ask(&["DEL", "sg1:{alerts}:lease:rules"]);
    for step in 5..=16 {
        tend(left, at(step * 10)).await;
    }
    assert_eq!(states(&news(left[0].alerts()).await), [("refusals.share", AlertState::Resolved)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_and_rates_are_added_up_over_nodes_and_minutes() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let nodes = [node(&redis, &dir).await];
    let others = counts(&redis).await;
    tend(&nodes, at(0)).await;
    decide(&nodes[0], 0, 501).await;
    tend(&nodes, at(10)).await;
    let own = nodes[0].prefixes_of("192.0.2.9".parse().unwrap()).own;
    let minute = |minute: u64| Slice::Minute(u64::from(START) / 60 + minute);
    let keep = Duration::from_secs(600);
    let rate = format!("c {:032x} 0 rate 0 0 10 1", 5);
    for number in 0..5 {
        let mut told = vec![(rate.clone(), 270)];
        if number == 0 {
            told.push((format!("a {own:016x}"), 500));
        }
        others.add(minute(number), &told, keep).await.unwrap();
        // The same caller at another node: only together they are above.
        others.add(minute(number), &[(rate.clone(), 271)], keep).await.unwrap();
    }
    for step in 2..=31 {
        tend(&nodes, at(step * 10)).await;
    }
    let told = of_kind(&nodes[0], "address.refusals").await;
    assert_eq!(told[0].kind, AlertKind::AddressRefusals { address: own, refusals: 1_001 });
    // The fifth minute has ended, and not all may have told of it.
    assert_eq!(of_kind(&nodes[0], "caller.rate").await, []);
    tend(&nodes, at(320)).await;
    let told = of_kind(&nodes[0], "caller.rate").await;
    let AlertKind::CallerRate(rate) = &told[0].kind else { panic!("{told:?}") };
    assert_eq!((rate.used, rate.per_minute), (541, 600));
    assert_eq!(rate.caller, RateCaller::Client(format!("cl_{:032x}", 5)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_finds_out_about_itself_it_keeps_and_tells_while_the_store_is_away() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let nodes = [node(&redis, &dir).await];
    let rejected = Rejected { problems: 1, first: "policy.yaml:1:1: wrong".to_owned() };
    nodes[0].note_reload(Some(rejected));
    tend(&nodes, at(0)).await;
    let own = nodes[0].own_alerts().unwrap();
    let kept = news(own).await;
    assert_eq!(states(&kept), [("reload.rejected", AlertState::Firing)]);
    assert_eq!(news(nodes[0].alerts()).await, kept, "and every node shows it");
    let AlertKind::ReloadRejected { node: Some(name), .. } = &kept[0].kind else { panic!("{kept:?}") };
    assert_eq!(name.len(), 16);
    let posted = [own.posted().await.unwrap().pending, nodes[0].alerts().posted().await.unwrap().pending];
    assert_eq!(posted, [1, 0], "the node delivers it itself, and nobody else does");
    nodes[0].note_reload(None);
    tend(&nodes, at(1)).await;
    assert_eq!(states(&news(nodes[0].alerts()).await), [("reload.rejected", AlertState::Resolved)]);
    let firing: BTreeMap<String, _> = nodes[0].alerts().firing().await.unwrap().into_iter().collect();
    assert_eq!(firing.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drift_of_nodes_is_added_up_and_nodes_that_are_gone_are_forgotten() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let nodes = [node(&redis, &dir).await];
    let others = counts(&redis).await;
    tend(&nodes, at(0)).await;
    others.put_drift(&format!("{} 2 30", START)).await.unwrap();
    tend(&nodes, at(10)).await;
    let told = news(nodes[0].alerts()).await;
    assert_eq!(told[0].kind, AlertKind::LedgerDrift { quotas: 2, units: 30 });
    others.put_drift(&format!("{} 0 0", START + 15)).await.unwrap();
    tend(&nodes, at(20)).await;
    assert_eq!(states(&news(nodes[0].alerts()).await), [("ledger.drift", AlertState::Resolved)]);
    tend(&nodes, at(4 * 3_600)).await;
    assert_eq!(others.drifts().await.unwrap(), BTreeMap::new());
}
