//! What becomes of requests while nothing can be decided about them.

use std::time::Duration;

use http::Request;
use serde_json::json;
use sluicegate_tower::{Decision, DecisionClient, RemoteLayer, Undecided, Unreachable};

use crate::decider::{Decider, Inner, at_once, body_of, header, layer};

/// Whatever is wrong, requests are answered with 503, or they pass without who is calling.
async fn nothing_is_decided(url: &str, why: &str) {
    let client = DecisionClient::new(url).unwrap().with_timeout(Duration::from_millis(200));
    let inner = Inner::default();
    let request = || Request::get("/").header("x-api-key", "k").header("x-sluicegate-account", "root");

    let denied = inner.behind(&RemoteLayer::new(client.clone(), Unreachable::Deny), request()).await;
    assert_eq!((denied.status().as_u16(), header(&denied, "retry-after")), (503, "1"), "{why}");
    assert_eq!(denied.headers()["content-type"], "application/problem+json");
    let undecided = denied.extensions().get::<Undecided>().unwrap().to_string();
    assert!(undecided.contains(why), "{undecided}");
    let problem = body_of(denied).await;
    assert_eq!((&problem["error"], &problem["retry_after_ms"]), (&json!("unavailable"), &json!(1_000)));
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("The decision service cannot be reached"), "{detail}");
    assert!(inner.seen.lock().is_empty());

    let admitted = inner.behind(&RemoteLayer::new(client, Unreachable::Admit), request()).await;
    assert_eq!(admitted.status(), 200);
    assert!(admitted.extensions().get::<Undecided>().is_some());
    let seen = inner.seen.lock().pop().unwrap();
    assert!(seen.extensions().get::<Undecided>().is_some() && seen.extensions().get::<Decision>().is_none());
    assert!(!seen.headers().contains_key("x-sluicegate-account"), "nobody but Sluicegate says who calls");
}

#[tokio::test]
async fn nobody_is_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    nothing_is_decided(&url, "cannot be reached").await;
}

#[tokio::test]
async fn nobody_answers_in_time() {
    let decider = Decider::start(|_, _| (200, String::new(), Duration::from_secs(3_600))).await;
    nothing_is_decided(&decider.url, "no answer within 200 ms").await;
}

#[tokio::test]
async fn the_answer_is_broken_off() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4_096]).await;
        }
    });
    nothing_is_decided(&url, "the answer was lost").await;
}

#[tokio::test]
async fn the_answer_makes_no_sense() {
    let refused_with_200 = json!({
        "allowed": false, "status": 200, "error": "rate_limited", "decision_id": "d", "tier": null, "account": null,
    });
    let status_of_nothing = json!({"allowed": true, "status": 99_999, "decision_id": "d"});
    let bodies = [
        String::new(),
        "<html>hello</html>".to_owned(),
        "{}".to_owned(),
        "{\"allowed\":\"yes\"}".to_owned(),
        refused_with_200.to_string(),
        status_of_nothing.to_string(),
    ];
    for body in bodies {
        let told = body.clone();
        let decider = Decider::start(move |_, _| (200, told.clone(), Duration::ZERO)).await;
        nothing_is_decided(&decider.url, "makes no sense").await;
    }
}

#[tokio::test]
async fn sluicegate_itself_cannot_decide_or_is_none() {
    for (status, error) in [(503, "unavailable"), (404, "not_found"), (413, "body_too_large")] {
        let decider = Decider::start(move |_, _| at_once(status, &json!({"error": error}))).await;
        nothing_is_decided(&decider.url, error).await;
    }
}

#[tokio::test]
async fn a_path_that_can_be_read_in_two_ways_is_the_callers_fault_in_either_mode() {
    let refused =
        json!({"error": "invalid_request", "field": "path", "detail": "expected a path without \"//\""});
    let decider = Decider::start(move |_, _| at_once(400, &refused)).await;
    for unreachable in [Unreachable::Deny, Unreachable::Admit] {
        let inner = Inner::default();
        let answer = inner.behind(&layer(&decider.url, unreachable), Request::get("/a//b")).await;
        assert_eq!(answer.status(), 400);
        let problem = body_of(answer).await;
        assert_eq!(problem["error"], "bad_request");
        assert_eq!(problem["detail"], "expected a path without \"//\"");
        assert!(inner.seen.lock().is_empty());
    }
}
