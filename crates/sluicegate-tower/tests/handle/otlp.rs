//! Spans of requests, sent to a collector.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use sluicegate_testkit::receiver::Receiver;
use sluicegate_testkit::wait;
use sluicegate_tower::Sluicegate;
use sluicegate_tower::otlp::OtlpSettings;

use crate::send;

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_a_span_that_says_what_was_decided() {
    let collector = Receiver::start([]);
    let policy = "{identity: {anonymous: free}, tiers: {free: {rate: 1/hour, burst: 1}}}";
    let gate = Sluicegate::in_memory(policy).await.unwrap();
    let settings = OtlpSettings::new(collector.url()).service_name("shop");
    let app = Router::new()
        .route("/", get(async || "hello"))
        .layer(gate.layer())
        .layer(gate.otlp_layer(settings).unwrap());
    for expected in [200, 429] {
        assert_eq!(send(&app, None).await.status(), expected);
    }
    let waiting = tokio::task::spawn_blocking(move || {
        wait::within(Duration::from_secs(20), "the spans", || {
            let bodies: String = collector.accepted().into_iter().map(|received| received.body).collect();
            (bodies.matches("\"spanId\"").count() >= 2).then_some(bodies)
        })
    });
    let bodies = waiting.await.unwrap();
    assert!(bodies.contains("\"shop\"") && bodies.contains("rate_limited"), "{bodies}");
    assert!(gate.otlp_layer(OtlpSettings::new("not a url")).is_err());
}
