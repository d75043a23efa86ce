//! What a request holds is given back when it has ended, whichever way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sluicegate_tower::InFlight;
use tower::{Layer as _, Service as _};

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
async fn a_service_without_an_answer_is_finished_as_failed() {
    let decider = Decider::admitting().await;
    let broken = tower::service_fn(async |_: Request<()>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::other("no connection"))
    });
    let mut service = decider.layer().holding().layer(broken);
    let failed = service.call(Request::get("/").body(()).unwrap()).await;
    assert_eq!(failed.err().unwrap().to_string(), "no connection");
    assert_eq!(decider.heard(FINISH).await, json!({"permit": "permit_1", "status": 502}));
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
    tokio::select! {
        biased;
        _ = decider.heard("/v1/check") => {}
        _ = inner.behind(&layer, Request::get("/")) => panic!("the decision came too early"),
    }
    assert_eq!(decider.heard(FINISH).await, json!({"permit": "permit_1", "cost": 0}));
    assert!(inner.seen.lock().is_empty());
}

#[tokio::test]
async fn a_request_that_holds_nothing_is_not_finished() {
    let decider = Decider::admitting().await;
    let inner = Inner::default();
    drop(inner.behind(&decider.layer(), Request::get("/")).await);
    assert!(inner.seen.lock().pop().unwrap().extensions().get::<InFlight>().is_none());
    // The next one is: what had to be said of the first was said before.
    drop(inner.behind(&decider.layer().holding(), Request::get("/")).await);
    inner.seen.lock().clear();
    decider.heard(FINISH).await;
    assert_eq!(decider.asked_at(FINISH).len(), 1);
}

#[tokio::test]
async fn what_could_not_be_recorded_is_said_again_and_what_is_over_is_not() {
    let calls = Arc::new(AtomicUsize::new(0));
    let decider = Decider::start(move |path, body: &Value| match (path, body["permit"].as_str()) {
        (FINISH, Some("over")) => at_once(404, &json!({"error": "unknown_permit"})),
        (FINISH, _) if calls.fetch_add(1, Ordering::Relaxed) == 0 => {
            at_once(503, &json!({"error": "unavailable"}))
        }
        (FINISH, _) => at_once(200, &admit(path, body)),
        _ => {
            let mut answer = admit(path, body);
            answer["permit"] = json!(body["path"].as_str().unwrap().trim_start_matches('/'));
            at_once(200, &answer)
        }
    })
    .await;
    let inner = Inner::default();
    let said = |permit: &str| {
        let finished = decider.asked_at(FINISH);
        finished.iter().filter(|body| body["permit"] == permit).count()
    };
    // The one that is over first: if it were said again, that would be before the other is.
    for (path, permit) in [("/over", "over"), ("/busy", "busy")] {
        drop(inner.behind(&decider.layer().holding(), Request::get(path)).await);
        inner.seen.lock().clear();
        decider.until(|| (said(permit) > 0).then_some(())).await;
    }
    decider.until(|| (said("busy") == 2).then_some(())).await;
    assert_eq!(said("over"), 1);
}

#[tokio::test]
async fn the_permit_of_a_long_request_is_renewed_and_the_last_one_is_finished() {
    let decider = Decider::start(|path, body| {
        let mut answer = match path {
            "/v1/renew" => json!({"permit": format!("{}+", body["permit"].as_str().unwrap())}),
            _ => admit(path, body),
        };
        if path != FINISH {
            answer["permit_expires_ms"] = json!(300);
        }
        at_once(200, &answer)
    })
    .await;
    let inner = Inner::default();
    let answer = inner.behind(&decider.layer().holding(), Request::get("/")).await;
    inner.seen.lock().clear();
    // At a third of its life, and again.
    decider.until(|| (decider.asked_at("/v1/renew").len() >= 2).then_some(())).await;
    let renewals = decider.asked_at("/v1/renew");
    assert_eq!(renewals[0], json!({"permit": "permit_1", "hold_for": "1s"}));
    assert_eq!(renewals[1]["permit"], "permit_1+");
    drop(answer);
    let finished = decider.heard(FINISH).await;
    assert!(finished["permit"].as_str().unwrap().starts_with("permit_1+"), "{finished}");
}
