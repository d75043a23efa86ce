//! The same where the meters are in a Redis that nodes share, and while it is away.

use std::time::Duration;

use sluicegate_engine::pulse::{Changed, Event, Heard, Kind};
use sluicegate_engine::{ErrorCode, Front, StoreMode};
use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::redis::{Engine as Server, RedisServer};

use crate::place::{costing, request};
use crate::shared_place::{customer, node};

const DEADLINE: Duration = Duration::from_secs(2);
const PLANS: &str = "\
tiers: {metered: {rate: 10, burst: 10, quota: 1_000}}
degraded: {quota: closed}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_shared_store_refuses_is_counted_and_explained() {
    let redis = RedisServer::new(Server::Redis);
    let dir = tempfile::tempdir().unwrap();
    let engine = node(PLANS, &redis.url(), DEADLINE, &dir).await;
    let key = customer(&engine).await;
    assert!(engine.decided(&costing(request(&key), 8), engine.now()).await.is_admitted());
    let refused = engine.decided(&costing(request(&key), 9), engine.now()).await;
    let why = engine.pulse().explanation(refused.id, engine.now()).unwrap();
    assert_eq!((why.brief.error, why.mode), (Some(ErrorCode::RateLimited), StoreMode::Normal));
    assert_eq!(why.brief.account.as_ref().map(|account| account.as_str()), Some("acme"));
    // It may have filled up a little since the first.
    assert!((2..9).contains(&why.cost_admitted), "{}", why.cost_admitted);
    assert_eq!(why.limits.len(), 2);
    let tiers: Vec<_> =
        engine.pulse().counts().into_iter().filter(|count| count.kind == Kind::Tier).collect();
    assert_eq!(
        tiers.iter().map(|count| (&*count.name, count.count)).collect::<Vec<_>>(),
        [("metered", 1); 2]
    );
    assert_eq!(engine.pulse().outcomes(Front::Decision).total(), 2);
    let took = engine.pulse().took(Front::Decision);
    assert_eq!(took.count(), 2);
    // The way to the store is in it, and is timed as well.
    assert!(took.per_mille(500).0 > 10_000, "{:?}", took.per_mille(500));
    let calls = engine.store_counters().unwrap();
    assert!(calls.took.read().count() >= 1 && calls.took.read().count() == calls.calls.get());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_away_denials_say_so_and_those_who_listen_are_told_once() {
    let redis = RedisServer::new(Server::Redis);
    let chaos = ChaosProxy::start(redis.address());
    let dir = tempfile::tempdir().unwrap();
    let engine = node(PLANS, &format!("redis://{}", chaos.address()), DEADLINE, &dir).await;
    let key = customer(&engine).await;
    assert!(engine.decided(&request(&key), engine.now()).await.is_admitted());
    let mut subscription = engine.pulse().subscribe().unwrap();
    chaos.set(Mode::Cut);
    let refused = loop {
        let decision = engine.decided(&request(&key), engine.now()).await;
        if decision.mode == StoreMode::Degraded && engine.store_mode() == StoreMode::Degraded {
            break decision;
        }
    };
    let why = engine.pulse().explanation(refused.id, engine.now()).unwrap();
    assert_eq!((why.brief.error, why.mode), (Some(ErrorCode::Unavailable), StoreMode::Degraded));
    assert_eq!((why.brief.status, why.cost_admitted), (503, 0));
    assert!(why.retry_at().is_some());
    let told = async {
        loop {
            engine.beat(engine.now());
            let heard = tokio::time::timeout(Duration::from_millis(100), subscription.next()).await;
            let Ok(Heard::Event(event)) = heard else { continue };
            if let Event::Change(change) = &*event {
                break change.what;
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(20), told).await.expect("a change of mode is told");
    assert_eq!(told, Changed::Mode);
}
