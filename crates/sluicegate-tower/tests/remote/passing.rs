//! What a request and its answer carry that was admitted elsewhere.

use std::time::Duration;

use http::Request;
use serde_json::json;
use sluicegate_tower::gateway::{DecisionSlot, DecisionSummary};
use sluicegate_tower::{Decision, Mode};

use crate::decider::{Decider, Inner, admit, at_once, body_of, header};

#[tokio::test]
async fn who_calls_is_told_by_sluicegate_and_not_by_the_caller() {
    let decider = Decider::admitting().await;
    let inner = Inner::default();
    let lies = Request::get("/").header("x-sluicegate-account", "root").header("x_sluicegate_tier", "max");
    let answer = inner.behind(&decider.layer(), lies).await;
    assert_eq!(answer.headers()["ratelimit-remaining"], "299");
    let seen = inner.seen.lock().pop().unwrap();
    let accounts: Vec<_> = seen.headers().get_all("x-sluicegate-account").iter().collect();
    assert_eq!(accounts, ["acme"]);
    assert_eq!(seen.headers()["x-sluicegate-tier"], "pro");
    assert_eq!(seen.headers()["x-sluicegate-decision"], "dec_1");
    assert!(!seen.headers().contains_key("x_sluicegate_tier"));
    let decision = seen.extensions().get::<Decision>().unwrap();
    assert_eq!((decision.id(), decision.account(), decision.tier()), ("dec_1", Some("acme"), Some("pro")));
    assert_eq!(decision.mode(), Mode::Normal);
    let rate = decision.limit("rate").unwrap();
    assert_eq!((rate.limit, rate.remaining, rate.reset), (100, 299, Duration::from_millis(10)));
    assert_eq!((decision.limits().count(), decision.limit("quota")), (1, None));
}

#[tokio::test]
async fn of_two_promises_the_smaller_stands() {
    let decider = Decider::admitting().await;
    let mut inner = Inner::default();
    inner.headers.insert("x-ratelimit-remaining", "0".parse().unwrap());
    let answer = inner.behind(&decider.layer(), Request::get("/")).await;
    assert_eq!(answer.headers()["x-ratelimit-remaining"], "0");
    assert!(!answer.headers().contains_key("x-ratelimit-limit"));
    assert_eq!(answer.headers()["ratelimit-remaining"], "299");
}

#[tokio::test]
async fn a_store_that_is_away_is_told_to_handlers_and_callers() {
    let decider = Decider::start(|path, body| {
        let mut decision = admit(path, body);
        decision["mode"] = json!("degraded");
        decision["headers"]["X-Sluicegate-Mode"] = json!("degraded");
        at_once(200, &decision)
    })
    .await;
    let inner = Inner::default();
    let answer = inner.behind(&decider.layer(), Request::get("/")).await;
    assert_eq!(answer.headers()["x-sluicegate-mode"], "degraded");
    let seen = inner.seen.lock();
    assert_eq!(seen[0].extensions().get::<Decision>().unwrap().mode(), Mode::Degraded);
}

#[tokio::test]
async fn a_denial_of_a_newer_sluicegate_is_still_a_denial() {
    let decider = Decider::start(|_, _| {
        let denied = json!({
            "allowed": false, "status": 451, "error": "not_here", "decision_id": "dec_2", "tier": null,
            "account": null, "headers": {"Retry-After": "9"},
        });
        at_once(200, &denied)
    })
    .await;
    let (inner, noted) = (Inner::default(), DecisionSlot::default());
    let answer = inner.behind(&decider.layer(), Request::get("/").extension(noted.clone())).await;
    assert_eq!((answer.status().as_u16(), header(&answer, "retry-after")), (451, "9"));
    assert_eq!(body_of(answer).await["error"], "not_here");
    let DecisionSummary { decision, error, .. } = noted.get().unwrap();
    assert_eq!((decision.as_str(), *error), ("dec_2", Some("other")));
    assert!(inner.seen.lock().is_empty());
}
