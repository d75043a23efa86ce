//! Traces: the caller's goes on with the upstream, and whoever collects them gets a span for each request.

use std::time::Duration;

use serde_json::Value;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::receiver::{Reaction, Receiver};
use sluicegate_testkit::wait;

use crate::bed::Bed;

const POLICY: &str = "
tiers: {slow: {rate: 1/hour, burst: 2}}
routes: {things: {match: \"GET /things/*\"}}
";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn collected(collector: &Receiver, count: usize) -> Vec<Value> {
    wait::within(Duration::from_secs(20), "the spans", || {
        let batches = collector.accepted().into_iter().map(|received| {
            assert_eq!(received.line, "POST /hook/v1/traces HTTP/1.1");
            assert_eq!(received.headers["x-team"], "gate");
            serde_json::from_str::<Value>(&received.body).unwrap()
        });
        let spans: Vec<Value> = batches
            .flat_map(|batch| batch["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone())
            .collect();
        (spans.len() >= count).then_some(spans)
    })
}

fn attribute(span: &Value, key: &str) -> Option<String> {
    let found = span["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    let value = &found["value"];
    value["stringValue"].as_str().or_else(|| value["intValue"].as_str()).map(str::to_owned)
}

fn traced(collector: &Receiver) -> Bed {
    Bed::start_with(POLICY, |launch| {
        launch
            .arg("--otlp-endpoint")
            .arg(collector.url())
            .variable("OTEL_EXPORTER_OTLP_HEADERS", "x-team=gate")
    })
}

#[test]
fn the_callers_trace_goes_on_and_every_request_is_a_span_of_it() {
    let collector = Receiver::start([]);
    let bed = traced(&collector);
    let key = bed.customer("acme", "slow");
    let asked = || Asked::get("/things/1?secret=x").key(&key);
    let passed = bed.gateway(&asked().header("traceparent", CALLER).header("tracestate", "vendor=1"));
    let headers = &passed.json()["headers"];
    let parent = headers["traceparent"].as_str().unwrap().to_owned();
    assert_eq!((&parent[3..35], headers["tracestate"].as_str()), (TRACE, Some("vendor=1")));
    assert_ne!(parent, CALLER, "the upstream goes on under the span of the gateway");
    // A caller without a trace begins one, and one that says nonsense, too.
    let begun = bed.gateway(&asked().header("traceparent", "nonsense").header("tracestate", "vendor=1"));
    let headers = &begun.json()["headers"];
    assert!(headers["traceparent"].as_str().is_some_and(|own| !own.contains(TRACE) && own.ends_with("-01")));
    assert!(headers["tracestate"].is_null());
    assert_eq!(bed.gateway(&asked()).status, 429);

    let spans = collected(&collector, 3);
    let of = |status: &str| {
        spans
            .iter()
            .find(|span| attribute(span, "http.response.status_code").as_deref() == Some(status))
            .unwrap()
    };
    let passed = spans.iter().find(|span| span["traceId"] == TRACE).unwrap();
    assert_eq!(
        (passed["parentSpanId"].as_str(), passed["spanId"].as_str()),
        (Some("b7ad6b7169203331"), Some(&parent[36..52]))
    );
    assert_eq!(
        (passed["name"].as_str(), attribute(passed, "url.path").as_deref()),
        (Some("GET things"), Some("/things/1"))
    );
    assert_eq!(attribute(passed, "sluicegate.account").as_deref(), Some("acme"));
    assert_eq!(attribute(of("429"), "sluicegate.error").as_deref(), Some("rate_limited"));
    assert!(!spans.iter().any(|span| span.to_string().contains("secret") || span.to_string().contains(&key)));
}

/// The answer to a gRPC call says 200, its span what it was refused with.
#[test]
fn the_span_of_a_refused_grpc_call_has_its_http_status() {
    let collector = Receiver::start([]);
    let bed = traced(&collector);
    let call = Asked::new("POST", "/echo.Echo/Say").header("content-type", "application/grpc");
    assert_eq!(bed.gateway(&call).header("grpc-status"), Some("16"));
    let spans = collected(&collector, 1);
    assert_eq!(attribute(&spans[0], "http.response.status_code").as_deref(), Some("401"));
    assert_eq!(attribute(&spans[0], "sluicegate.error").as_deref(), Some("missing_key"));
}

#[test]
fn a_trace_that_nobody_keeps_goes_on_and_leaves_no_span() {
    let collector = Receiver::start([]);
    let bed = traced(&collector);
    let key = bed.customer("acme", "slow");
    let quiet = format!("{}-00", &CALLER[..52]);
    let passed = bed.gateway(&Asked::get("/a").key(&key).header("traceparent", quiet.as_str()));
    let header = passed.json()["headers"]["traceparent"].as_str().unwrap().to_owned();
    assert!(header.contains(TRACE) && header.ends_with("-00"), "{header}");
    assert_eq!(bed.gateway(&Asked::get("/b").key(&key)).status, 200);
    let spans = collected(&collector, 1);
    assert_eq!((spans.len(), attribute(&spans[0], "url.path").as_deref()), (1, Some("/b")));
}

#[test]
fn a_collector_that_is_away_keeps_nobody_waiting_and_is_used_when_it_is_back() {
    let collector = Receiver::start([Reaction::Answer(503), Reaction::Reset]);
    let bed = traced(&collector);
    let answers = |count: usize| {
        for _ in 0..count {
            assert_eq!(bed.gateway(&Asked::get("/a")).status, 401);
        }
    };
    for seen in 1..=3 {
        answers(5);
        wait::within(Duration::from_secs(20), "a batch", || {
            (collector.received().len() >= seen).then_some(())
        });
    }
    assert_eq!(collected(&collector, 5).len(), 5);
}
