//! What callers are told where the meters are in a Redis. Its clock cannot be advanced: the waits are short, and
//! waited.

use std::time::Duration;

use sluicegate_core::time::Nanos;
use sluicegate_engine::{Answer, CallerRequest, Decision, Engine, Hold};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};

use crate::place::{answer, costing, header, request};
use crate::shared_place::{customer, node};

/// How long a refused caller is told to wait.
fn told(decision: &Decision) -> Nanos {
    match &decision.answer {
        Answer::Denied(denial) => denial.retry_after,
        Answer::Admitted => Nanos::ZERO,
    }
}

async fn ask(engine: &Engine, request: &CallerRequest<'_>) -> Decision {
    engine.decided(request, engine.now()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_that_lowers_the_reputation_tells_the_wait_of_the_lower_level() {
    const PLANS: &str = "
reputation: {applies_to: all, penalty: 30, recover: 1/10m}
tiers: {metered: {rate: 10, burst: 20}}
";
    let (redis, dir) = (RedisServer::new(Kind::Redis), tempfile::tempdir().unwrap());
    let engine = node(PLANS, &redis.url(), Duration::from_secs(10), &dir).await;
    let key = customer(&engine).await;
    assert!(ask(&engine, &costing(request(&key), 20)).await.is_admitted());
    let refused = ask(&engine, &costing(request(&key), 5)).await;
    assert_eq!(answer(&refused), "429 rate_limited");
    // 70 points are left: a burst of 12 from now on, so that 13 of 20 have to come back.
    assert!((1_000..=1_300).contains(&told(&refused).as_millis_ceil()), "{:?}", told(&refused));
    tokio::time::sleep(Duration::from_nanos(told(&refused).0)).await;
    let later = ask(&engine, &costing(request(&key), 5)).await;
    assert_eq!(answer(&later), "200");
    assert_eq!(header(&later, "RateLimit-Limit").as_deref(), Some("6"), "60 % of 10 per second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_house_tells_how_long_requests_have_taken_lately() {
    const PLANS: &str = "tiers: {metered: {concurrency: 1}}";
    let (redis, dir) = (RedisServer::new(Kind::Redis), tempfile::tempdir().unwrap());
    let engine = node(PLANS, &redis.url(), Duration::from_secs(10), &dir).await;
    let key = customer(&engine).await;
    let hold = CallerRequest { hold: Hold::Yes, ..request(&key) };
    let held = ask(&engine, &hold).await;
    let first = engine.keep(held.permit.unwrap(), engine.now()).unwrap().text;
    let refused = ask(&engine, &hold).await;
    assert_eq!(answer(&refused), "429 concurrency_limited");
    assert_eq!(told(&refused), Nanos::from_secs(1), "nothing is known yet");
    let later = engine.now().plus(Nanos(300_000_000));
    engine.finish_kept(&first, Some(200), None, later).await.unwrap();
    // The slot is freed in the background, by a call to a real server: poll until that has happened.
    let mut second = ask(&engine, &hold).await;
    while !second.is_admitted() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        second = ask(&engine, &hold).await;
    }
    let refused = ask(&engine, &hold).await;
    assert!((250..=2_000).contains(&told(&refused).as_millis_ceil()), "{:?}", told(&refused));
}
