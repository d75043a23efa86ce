//! What a request holds is given back when it has ended, whichever way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tollgate_tower::InFlight;

use crate::decider::{Decider, Inner, admit, at_once};

const FINISH: &str = "/v1/finish";

#[tokio::test]
async fn a_request_is_finished_with_its_status_when_the_last_byte_is_read() {
    let decider = Decider::admitting().await;
    let inner = Inner { status: StatusCode::BAD_GATEWAY, ..Inner::default() };
    let answer = inner.behind(&decider.layer().holding(), Request::get("/")).await;
    assert_eq!(decider.asked_at("/v1/check")[0]["hold"], true);
    inner.seen.lock().clear();
    assert!(decider.asked_at(FINISH).is_empty(), "before the body is read");
    let mut body = answer.into_body();
    while body.frame().await.is_some() {}
    assert_eq!(decider.heard(FINISH).await, json!({"permit": "permit_1", "status": 502}));
}

#[tokio::test]
async fn a_request_is_finished_when_nobody_reads_its_answer() {
    let decider = Decider::admitting().await;
    let inner = Inner::default();
    let answer = inner.behind(&decider.layer().holding(), Request::get("/")).await;
    inner.seen.lock().clear();
    drop(answer);
    assert_eq!(decider.heard(FINISH).await["status"], 200);
}

#[tokio::test]
async fn a_handler_says_what_its_request_cost() {
    let decider = Decider::admitting().await;
    let inner = Inner::default();
    let answer = inner.behind(&decider.layer().holding(), Request::get("/")).await;
    let request = inner.seen.lock().pop().unwrap();
    let in_flight = request.extensions().get::<InFlight>().unwrap();
    in_flight.cost(7);
    in_flight.cost(5);
    drop((request, answer));
    assert_eq!(decider.heard(FINISH).await, json!({"permit": "permit_1", "status": 200, "cost": 5}));
}

#[tokio::test]
async fn who_goes_away_before_the_decision_is_there_has_used_nothing() {
    let decider = Decider::start(|path, body| {
        let wait = if path == FINISH { Duration::ZERO } else { Duration::from_millis(100) };
        (200, admit(path, body).to_string(), wait)
    })
    .await;
    let (layer, inner) = (decider.layer().holding(), Inner::default());
    let answer = inner.behind(&layer, Request::get("/"));
    assert!(tokio::time::timeout(Duration::from_millis(30), answer).await.is_err());
    assert_eq!(decider.heard(FINISH).await, json!({"permit": "permit_1", "cost": 0}));
    assert!(inner.seen.lock().is_empty());
}

#[tokio::test]
async fn a_request_that_holds_nothing_is_not_finished() {
    let decider = Decider::admitting().await;
    let inner = Inner::default();
    drop(inner.behind(&decider.layer(), Request::get("/")).await);
    assert!(inner.seen.lock().pop().unwrap().extensions().get::<InFlight>().is_none());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(decider.asked_at(FINISH).is_empty());
}

#[tokio::test]
async fn what_could_not_be_recorded_is_said_again_and_what_is_over_is_not() {
    for (status, error, expected) in [(503, "unavailable", 2), (404, "unknown_permit", 1)] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let decider = Decider::start(move |path, body: &Value| match path {
            FINISH if counted.fetch_add(1, Ordering::Relaxed) == 0 => {
                at_once(status, &json!({"error": error}))
            }
            _ => at_once(200, &admit(path, body)),
        })
        .await;
        let inner = Inner::default();
        drop(inner.behind(&decider.layer().holding(), Request::get("/")).await);
        inner.seen.lock().clear();
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(calls.load(Ordering::Relaxed), expected, "{error}");
    }
}
