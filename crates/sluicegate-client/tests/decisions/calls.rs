//! One call at a time.

use std::future::pending;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluicegate_client::decision::{
    AddressError, BATCH_MAX, CallError, Caller, Check, DecisionClient, Finish, Permit, Visitor,
};
use sluicegate_client::limits::{Limits, Mode};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::decider::{admit, decision, start};
use crate::server::{Server, no_server};

fn client(server: &Server) -> DecisionClient {
    DecisionClient::new(&server.url("/")).unwrap()
}

fn check() -> Check {
    Check::of(Caller::key("sg_live_1")).path("/reports")
}

#[tokio::test]
async fn what_is_asked_is_sent_and_what_is_answered_is_read() {
    let (server, asked) = start(admit).await;
    let client = client(&server);
    let full =
        check().method(Method::PUT).cost(5).idempotency_key("n1").hold().address([192, 0, 2, 1].into());
    let answer = client.check(full).await.unwrap();
    assert!(answer.allowed && answer.retry_after().is_none() && answer.mode == Mode::Normal);
    assert_eq!((answer.status.as_u16(), answer.decision_id.as_str()), (200, "/reports"));
    assert_eq!((answer.tier.as_deref(), answer.account.as_deref()), (Some("pro"), Some("acct_pro")));
    assert_eq!(answer.permit.unwrap().as_str(), "permit_1");
    assert_eq!((answer.limits[0].name.as_str(), answer.limits[0].remaining), ("rate", 299));
    assert_eq!(Limits::from_headers(&answer.headers).rate.unwrap().remaining, Some(299));

    let headers = [("User-Agent".to_owned(), "curl".to_owned())].into();
    let visitor = Visitor { ip: Some([192, 0, 2, 2].into()), cookie: Some("a=b".into()), headers };
    client.peek(Check::of(Caller::Visitor(visitor))).await.unwrap_err();
    client.check(Check::of(Caller::service_token("t")).path("/")).await.unwrap();
    let bodies: Vec<Value> = asked.lock().unwrap().iter().map(|(_, body)| body.clone()).collect();
    assert_eq!(
        bodies,
        [
            json!({"key": "sg_live_1", "client": {"ip": "192.0.2.1"}, "method": "PUT", "path": "/reports",
                   "cost": 5, "idempotency_key": "n1", "hold": true}),
            json!({"client": {"ip": "192.0.2.2", "cookie": "a=b", "headers": {"User-Agent": "curl"}}, "peek": true}),
            json!({"service_token": "t", "path": "/"}),
        ]
    );
}

#[tokio::test]
async fn a_refusal_is_a_decision_and_says_how_long() {
    let (server, _) = start(|_, check| {
        let mut answer = decision(check);
        answer["allowed"] = json!(false);
        answer["status"] = json!(429);
        answer["error"] = json!("rate_limited");
        answer["retry_after_ms"] = json!(250);
        answer["mode"] = json!("degraded");
        (200, answer)
    })
    .await;
    let answer = client(&server).check(check()).await.unwrap();
    assert_eq!((answer.allowed, answer.status), (false, StatusCode::TOO_MANY_REQUESTS));
    assert_eq!((answer.error.as_deref(), answer.mode), (Some("rate_limited"), Mode::Degraded));
    assert_eq!(answer.retry_after(), Some(Duration::from_millis(250)));
}

#[tokio::test]
async fn calls_share_a_connection() {
    let (server, _) = start(admit).await;
    let client = client(&server);
    for _ in 0..10 {
        client.clone().check(check()).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_batch_is_answered_in_order_and_has_at_most_a_thousand_checks() {
    let (server, asked) = start(admit).await;
    let client = client(&server);
    let checks: Vec<Check> = (0..=BATCH_MAX).map(|n| check().path(format!("/{n}"))).collect();
    let answers = client.check_batch(&checks[..BATCH_MAX]).await.unwrap();
    assert!(answers.iter().enumerate().all(|(n, answer)| answer.decision_id == format!("/{n}")));
    assert_eq!(client.check_batch(&[]).await.unwrap(), []);
    assert!(matches!(client.check_batch(&checks).await, Err(CallError::TooMany(1_001))));
    assert_eq!(crate::decider::sizes(&asked), [1_000]);
}

#[tokio::test]
async fn a_request_is_finished_at_its_true_cost() {
    let (server, asked) = start(|_, _| (200, json!({"permit": "p", "reserved": 5, "settled": 3}))).await;
    let finish = Finish::of(Permit::new("p")).status(StatusCode::OK).cost(3);
    let finished = client(&server).finish(finish).await.unwrap();
    assert_eq!((finished.reserved, finished.settled), (5, 3));
    let (path, body) = asked.lock().unwrap()[0].clone();
    assert_eq!((path.as_str(), body), ("/v1/finish", json!({"permit": "p", "status": 200, "cost": 3})));
}

#[tokio::test]
async fn what_sluicegate_refuses_is_an_error_with_its_words() {
    let (server, _) =
        start(|_, _| (404, json!({"error": "unknown_permit", "detail": "No such permit."}))).await;
    let error = client(&server).finish(Finish::of(Permit::new("p"))).await.unwrap_err();
    assert_eq!(error.to_string(), "404 Not Found: unknown_permit: No such permit.");
}

#[tokio::test]
async fn answers_that_make_no_sense_are_errors() {
    for nonsense in [json!({}), json!([]), json!({"allowed": true, "status": 7, "decision_id": "x"})] {
        let (server, _) = start(move |_, _| (200, nonsense.clone())).await;
        assert!(matches!(client(&server).check(check()).await, Err(CallError::Unreadable(_))));
    }
    let (server, _) = start(|_, body| (200, json!({"results": [decision(&body["checks"][0])]}))).await;
    let error = client(&server).check_batch(&[check(), check()]).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer makes no sense: 1 results for 2 checks");
}

#[tokio::test]
async fn a_server_that_hangs_is_not_waited_for() {
    let server = Server::start(|_| pending()).await;
    let client = client(&server).with_timeout(Duration::from_millis(50));
    assert!(matches!(client.check(check()).await, Err(CallError::TimedOut(_))));
    let batching = client.clone().batching(10, Duration::from_millis(1));
    assert!(matches!(batching.check(check()).await, Err(CallError::TimedOut(_))));
    let other_way_round =
        client.batching(10, Duration::from_millis(1)).with_timeout(Duration::from_millis(20));
    let error = other_way_round.check(check()).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer within 20 ms");
}

#[tokio::test]
async fn an_answer_that_never_came_is_told_from_a_call_that_was_never_made() {
    let unreachable = DecisionClient::new(&format!("http://{}", no_server().await)).unwrap();
    assert!(matches!(unreachable.check(check()).await, Err(CallError::Unreachable(_))));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = DecisionClient::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let cut = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        // The whole request is read before the connection is cut.
        let mut buffer = [0; 4_096];
        stream.read(&mut buffer).await.unwrap()
    });
    assert!(matches!(client.check(check()).await, Err(CallError::Lost(_))));
    assert!(cut.await.unwrap() > 0);
}

#[tokio::test]
async fn an_address_is_one_of_plain_http() {
    for wrong in ["", "127.0.0.1:8081", "/v1", "http://", "not a url"] {
        assert_eq!(DecisionClient::new(wrong).unwrap_err(), AddressError::Invalid, "{wrong}");
    }
    assert_eq!(DecisionClient::new("https://127.0.0.1").unwrap_err(), AddressError::NotHttp);
}

#[test]
fn a_key_is_never_shown() {
    let shown = format!("{:?} {:?}", check(), Check::of(Caller::service_token("sg_live_1")));
    assert!(!shown.contains("sg_live_1"), "{shown}");
}

#[tokio::test]
async fn a_token_is_sent_with_each_call() {
    let server = Server::start(|request: http::Request<bytes::Bytes>| async move {
        let sent = request.headers().get("authorization");
        let status = if sent.is_some_and(|sent| sent == "Bearer sgt_token") { 200 } else { 401 };
        let document = decision(&json!({"path": "/"})).to_string();
        http::Response::builder().status(status).body(http_body_util::Full::from(document)).unwrap()
    })
    .await;
    let plain = client(&server);
    assert!(plain.check(check()).await.is_err());
    assert!(plain.clone().with_token("sgt_token").unwrap().check(check()).await.is_ok());
    assert!(plain.with_token("no\ntoken").is_err());
}
