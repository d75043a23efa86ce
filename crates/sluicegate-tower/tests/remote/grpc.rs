//! A tonic server behind the layer, called by a tonic client: refusals are gRPC statuses.

use http::Request;
use serde_json::{Value, json};
use sluicegate_testkit::grpc::{call, serve_echo};
use sluicegate_tower::{RefusalStatus, Unreachable};
use tonic::{Code, Status};

use crate::decider::{Decider, Inner, at_once, header, layer};

/// How a call ends when the decision service answers this to `POST /v1/check`.
async fn refused(status: u16, body: Value) -> Status {
    let decider = Decider::start(move |_, _| at_once(status, &body)).await;
    call(serve_echo(decider.layer()), &[("x-api-key", "k")], "hello").await.unwrap_err()
}

/// A denial by the decision service.
fn denial(status: u16, error: &str, retry_after_ms: u64) -> Value {
    json!({
        "allowed": false, "status": status, "error": error, "decision_id": "dec_1", "tier": "pro", "account": "acme",
        "retry_after_ms": retry_after_ms, "limit": "rate", "limits": [], "permit": null, "mode": "normal",
        "headers": {"RateLimit-Remaining": "0", "Retry-After": "2"},
    })
}

fn metadata<'s>(status: &'s Status, name: &str) -> Option<&'s str> {
    status.metadata().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_call_that_is_admitted_is_answered_by_the_service() {
    let decider = Decider::admitting().await;
    let reply = call(serve_echo(decider.layer()), &[("x-api-key", "k")], "hello").await;
    assert_eq!(reply.unwrap(), "hello");
}

#[tokio::test]
async fn each_denial_has_its_code_and_says_what_the_limits_say() {
    for (status, error, code) in [
        (429, "rate_limited", Code::ResourceExhausted),
        (402, "quota_exceeded", Code::ResourceExhausted),
        (401, "missing_key", Code::Unauthenticated),
        (403, "invalid_key", Code::PermissionDenied),
        (503, "overloaded", Code::Unavailable),
        (400, "cost_exceeds_limit", Code::InvalidArgument),
        (429, "a_word_that_is_newer", Code::ResourceExhausted),
    ] {
        let refused = refused(200, denial(status, error, 1_500)).await;
        assert_eq!(refused.code(), code, "{refused:?}");
        assert!(refused.message().starts_with(&format!("{error}: ")), "{refused:?}");
        assert_eq!(metadata(&refused, "x-sluicegate-error"), Some(error));
        assert_eq!(metadata(&refused, "ratelimit-remaining"), Some("0"));
    }
    let limited = refused(200, denial(429, "rate_limited", 1_500)).await;
    assert_eq!(limited.message(), "rate_limited: Limit \"rate\": Wait as long as Retry-After says.");
    assert_eq!(metadata(&limited, "x-sluicegate-decision"), Some("dec_1"));
    assert_eq!(metadata(&limited, "grpc-retry-pushback-ms"), Some("1500"));
}

#[tokio::test]
async fn a_decision_service_that_cannot_be_reached_is_unavailable() {
    let address = serve_echo(layer("http://127.0.0.1:1", Unreachable::Deny));
    let refused = call(address, &[("x-api-key", "k")], "hello").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("unavailable"));
    assert_eq!(metadata(&refused, "grpc-retry-pushback-ms"), Some("1000"));
}

#[tokio::test]
async fn what_is_wrong_with_a_call_itself_is_an_invalid_argument() {
    let decider = Decider::admitting().await;
    let two_keys = [("x-api-key", "a"), ("authorization", "Bearer b")];
    let refused = call(serve_echo(decider.layer()), &two_keys, "hello").await.unwrap_err();
    assert_eq!(
        (refused.code(), metadata(&refused, "x-sluicegate-error")),
        (Code::InvalidArgument, Some("ambiguous_key"))
    );
    let blamed =
        json!({"error": "invalid_request", "field": "path", "detail": "expected a path without \"//\""});
    let refused = self::refused(400, blamed).await;
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(refused.message(), "bad_request: expected a path without \"//\"");
}

/// Answers are logged and counted by what they mean, whatever gRPC has them say.
#[tokio::test]
async fn the_http_status_of_a_refusal_is_in_its_extensions() {
    let request = Request::post("/echo.Echo/Say").header("content-type", "application/grpc+proto");
    let answer = Inner::default().behind(&layer("http://127.0.0.1:1", Unreachable::Deny), request).await;
    assert_eq!((answer.status().as_u16(), RefusalStatus::of(&answer).as_u16()), (200, 503));
    assert_eq!(header(&answer, "content-type"), "application/grpc+proto");
    assert!(http_body::Body::is_end_stream(answer.body()));
}
