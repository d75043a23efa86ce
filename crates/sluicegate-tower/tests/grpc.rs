//! The layer before a tonic server, called by a tonic client: refusals are gRPC statuses.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::Full;
use sluicegate_testkit::grpc::{call, serve_echo};
use sluicegate_tower::Sluicegate;
use tonic::{Code, Status};
use tower::{Layer as _, Service as _};

const POLICY: &str = "
tiers:
  small: {rate: 6/minute, burst: 1}
  spent: {rate: 100, burst: 100, quota: 1}
  wide: {rate: 100_000, burst: 100_000}
shedding: {}
";

struct Place {
    gate: Sluicegate,
    address: SocketAddr,
}

impl Place {
    async fn new() -> Self {
        let gate = Sluicegate::in_memory(POLICY).await.unwrap();
        let address = serve_echo(gate.layer());
        Self { gate, address }
    }

    async fn key(&self, tier: &str) -> String {
        self.gate.accounts().ensure(tier, tier).await.unwrap();
        let (_, key) = self.gate.accounts().create_key(tier, "main").await.unwrap();
        key.expose().to_owned()
    }

    async fn call(&self, key: &str) -> Result<String, Status> {
        call(self.address, &[("x-api-key", key)], "hello").await
    }
}

/// What the status says in metadata.
fn metadata<'s>(status: &'s Status, name: &str) -> Option<&'s str> {
    status.metadata().get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_spent_limit_is_resource_exhausted_with_what_the_limits_say() {
    let place = Place::new().await;
    let key = place.key("small").await;
    assert_eq!(place.call(&key).await.unwrap(), "hello");
    let refused = place.call(&key).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert_eq!(refused.message(), "rate_limited: Limit \"rate\": Wait as long as Retry-After says.");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("rate_limited"));
    assert!(metadata(&refused, "x-sluicegate-decision").unwrap().starts_with("dec_"));
    assert_eq!(metadata(&refused, "ratelimit-remaining"), Some("0"));
    assert_eq!(metadata(&refused, "retry-after"), Some("10"));
    let pushback: u64 = metadata(&refused, "grpc-retry-pushback-ms").unwrap().parse().unwrap();
    assert!((9_000..=10_000).contains(&pushback), "{pushback}");
}

#[tokio::test]
async fn a_spent_quota_is_resource_exhausted_and_not_to_be_retried() {
    let place = Place::new().await;
    let key = place.key("spent").await;
    assert_eq!(place.call(&key).await.unwrap(), "hello");
    let refused = place.call(&key).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("quota_exceeded"));
    assert_eq!(metadata(&refused, "x-quota-remaining"), Some("0"));
    assert_eq!(metadata(&refused, "grpc-retry-pushback-ms"), Some("-1"));
}

#[tokio::test]
async fn a_call_without_a_key_is_unauthenticated_and_one_with_a_wrong_key_is_denied() {
    let place = Place::new().await;
    let missing = call(place.address, &[], "hello").await.unwrap_err();
    assert_eq!(missing.code(), Code::Unauthenticated, "{missing:?}");
    assert_eq!(metadata(&missing, "x-sluicegate-error"), Some("missing_key"));
    let wrong = place.call("sg_live_nobody").await.unwrap_err();
    assert_eq!(wrong.code(), Code::PermissionDenied, "{wrong:?}");
    assert_eq!(metadata(&wrong, "x-sluicegate-error"), Some("invalid_key"));
}

#[tokio::test]
async fn a_call_that_is_shed_is_unavailable() {
    let place = Place::new().await;
    let key = place.key("wide").await;
    let silent = tower::service_fn(|_: Request<()>| {
        std::future::pending::<Result<Response<Full<bytes::Bytes>>, Infallible>>()
    });
    let engine = Arc::clone(place.gate.engine());
    let mut silent = place.gate.layer().layer(silent);
    let mut waiting = Vec::new();
    while engine.loads().look().in_flight < engine.loads().look().limit {
        let request = Request::post("/a").header("x-api-key", &key);
        waiting.push(silent.call(request.body(()).unwrap()));
    }
    let refused = place.call(&key).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert_eq!(metadata(&refused, "x-sluicegate-error"), Some("overloaded"));
    assert_eq!(metadata(&refused, "retry-after"), Some("1"));
    drop(waiting);
}
