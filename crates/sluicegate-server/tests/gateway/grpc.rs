//! gRPC calls that the gateway refuses: a tonic client sees their status, whatever refuses them.

use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Body as _;
use sluicegate_core::file;
use sluicegate_server::gateway::gateway as whole_gateway;
use sluicegate_server::listen::{Listener, ServeSettings, Shutdown, serve};
use sluicegate_testkit::grpc::{METHOD, call, serve_echo};
use sluicegate_tower::Sluicegate;
use tokio::net::TcpListener;
use tonic::{Code, Status};
use tower_layer::Identity;

use crate::bed::{Setup, at, body, bytes, gateway, raw_upstream, say, status, upstream};
use crate::http2::caller;

/// A gateway as the server runs it: with limits.
struct Limited {
    address: SocketAddr,
    gate: Sluicegate,
}

impl Limited {
    async fn before(upstream: SocketAddr) -> Self {
        let policy = format!(
            "
tiers:
  small: {{rate: 6/minute, burst: 1}}
  spent: {{rate: 100, burst: 100, quota: 1}}
  kind: {{rate: 100, burst: 100, quota: 9, refund_on: 5xx}}
server: {{upstream: 'http://{upstream}', max: {{body: 1_000}}}}
"
        );
        let server = file::read(policy.as_bytes()).unwrap().server;
        let gate = Sluicegate::in_memory(policy).await.unwrap();
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "--gateway").unwrap();
        let address = listener.local_addr();
        let service = whole_gateway(std::sync::Arc::clone(gate.engine()), &server).unwrap();
        tokio::spawn(serve(listener, ServeSettings::new(&server, None), service, Shutdown::new()));
        Self { address, gate }
    }

    async fn before_echo() -> Self {
        Self::before(serve_echo(Identity::new())).await
    }

    async fn key(&self, tier: &str) -> String {
        self.gate.accounts().ensure(tier, tier).await.unwrap();
        let (_, key) = self.gate.accounts().create_key(tier, "main").await.unwrap();
        key.expose().to_owned()
    }

    async fn call(&self, key: &str, message: &str) -> Result<String, Status> {
        call(self.address, &[("x-api-key", key)], message).await
    }

    /// How much of its quota the account of this tier has used.
    async fn used(&self, tier: &str) -> u64 {
        let engine = self.gate.engine();
        let account = engine.directory().account(tier).await.unwrap().unwrap();
        let limits = engine.limits_of(&account, &[], engine.now()).await.unwrap();
        limits.iter().find(|found| found.now.name.as_str() == "quota").unwrap().now.used
    }
}

async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

fn metadata<'s>(status: &'s Status, name: &str) -> Option<&'s str> {
    status.metadata().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_spent_limit_or_quota_is_resource_exhausted_with_what_the_limits_say() {
    let gateway = Limited::before_echo().await;
    for (tier, error, remaining) in
        [("small", "rate_limited", "ratelimit-remaining"), ("spent", "quota_exceeded", "x-quota-remaining")]
    {
        let key = gateway.key(tier).await;
        assert_eq!(gateway.call(&key, "hello").await.unwrap(), "hello");
        let refused = gateway.call(&key, "hello").await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert!(refused.message().starts_with(&format!("{error}: ")), "{refused:?}");
        assert_eq!(metadata(&refused, "x-sluicegate-error"), Some(error));
        assert_eq!(metadata(&refused, remaining), Some("0"));
    }
}

#[tokio::test]
async fn a_call_without_a_key_is_unauthenticated_and_one_with_a_wrong_key_is_denied() {
    let gateway = Limited::before_echo().await;
    let missing = call(gateway.address, &[], "hello").await.unwrap_err();
    assert_eq!(missing.code(), Code::Unauthenticated, "{missing:?}");
    assert_eq!(metadata(&missing, "www-authenticate"), Some("Bearer"));
    let wrong = gateway.call("sg_live_nobody", "hello").await.unwrap_err();
    assert_eq!(wrong.code(), Code::PermissionDenied, "{wrong:?}");
}

/// The gateway's own 502 gives the charge back, though the answer says 200 as gRPC wants it.
#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_unavailable_and_nothing_is_charged() {
    let gateway = Limited::before(closed_port().await).await;
    let refused = gateway.call(&gateway.key("kind").await, "hello").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("bad_gateway"));
    assert_eq!(metadata(&refused, "x-quota-limit"), Some("9"));
    assert_eq!(metadata(&refused, "grpc-retry-pushback-ms"), None, "the client's own backoff");
    assert_eq!(gateway.used("kind").await, 0);
}

#[tokio::test]
async fn a_message_that_is_too_long_is_resource_exhausted() {
    let gateway = Limited::before_echo().await;
    let refused = gateway.call(&gateway.key("kind").await, &"x".repeat(2_000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("body_too_large"));
    assert_eq!(metadata(&refused, "grpc-retry-pushback-ms"), Some("-1"));
}

#[tokio::test]
async fn an_upstream_that_takes_too_long_is_a_deadline_exceeded() {
    let silent = raw_upstream(|_, stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let mut setup = Setup::to(at(silent, ""));
    setup.forward.read = Duration::from_millis(150);
    let refused = call(setup.start().address, &[], "hello").await.unwrap_err();
    assert_eq!(refused.code(), Code::DeadlineExceeded, "{refused:?}");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("gateway_timeout"));
}

#[tokio::test]
async fn what_is_malformed_is_refused_with_headers_that_end_the_stream() {
    let mut caller = caller::<Full<bytes::Bytes>>(gateway(closed_port().await).address).await;
    let request = Request::post("http://a.example/echo.Echo/../Say")
        .header("content-type", "application/grpc+proto")
        .body(Full::from("a body that nobody reads"))
        .unwrap();
    let answer = caller.send_request(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "application/grpc+proto");
    assert_eq!(answer.headers()["grpc-status"], "3");
    let message = answer.headers()["grpc-message"].to_str().unwrap();
    assert!(message.starts_with("bad_request: "), "{message}");
    assert!(!answer.headers().contains_key("content-length"));
    assert!(answer.body().is_end_stream());
}

#[tokio::test]
async fn grpc_web_over_http_1_is_refused_by_headers_too() {
    let address = gateway(closed_port().await).address;
    let request = |content_type: &str| {
        format!(
            "POST {METHOD} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\ncontent-type: {content_type}\r\n\
             content-length: 0\r\n\r\n"
        )
    };
    let answer = say(address, request("application/grpc-web-text+proto")).await;
    assert_eq!((status(&answer), body(&answer)), ("HTTP/1.1 200 OK", ""));
    assert!(answer.contains("content-type: application/grpc-web-text+proto\r\n"), "{answer}");
    assert!(answer.contains("grpc-status: 14\r\n"), "{answer}");
    let answer = say(address, request("application/json")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
    assert!(
        answer.contains("content-type: application/problem+json\r\n") && !answer.contains("grpc"),
        "{answer}"
    );
}

/// What the upstream answers is not the gateway's to change, be it gRPC or not.
#[tokio::test]
async fn answers_of_the_upstream_pass_unchanged() {
    let upstream = upstream(|_| async move {
        let mut answer = Response::new(bytes("slow down"));
        *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain"));
        answer
    });
    let gateway = Limited::before(upstream).await;
    let mut caller = caller::<Empty<bytes::Bytes>>(gateway.address).await;
    let request = Request::post(format!("http://a.example{METHOD}"))
        .header("content-type", "application/grpc")
        .header("x-api-key", gateway.key("kind").await)
        .body(Empty::new())
        .unwrap();
    let answer = caller.send_request(request).await.unwrap();
    assert_eq!(
        (answer.status(), &answer.headers()["content-type"]),
        (StatusCode::TOO_MANY_REQUESTS, &"text/plain".parse().unwrap())
    );
    assert!(!answer.headers().contains_key("grpc-status"));
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "slow down");
}
