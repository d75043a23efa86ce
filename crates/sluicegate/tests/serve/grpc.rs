//! gRPC clients at the gateway: refusals are gRPC statuses, and are counted as what they are.

use std::path::Path;

use sluicegate_testkit::http::Asked;
use sluicegate_testkit::port::Port;
use sluicegate_testkit::python;

use crate::bed::Bed;

#[test]
fn the_client_of_python_sees_the_status_of_each_refusal() {
    let upstream = Port::reserve();
    let policy = format!(
        "
tiers:
  small: {{rate: 1/hour, burst: 2}}
  quick: {{rate: 2, burst: 1}}
server: {{upstream: 'http://{}'}}
",
        upstream.address()
    );
    let bed = Bed::start(&policy);
    let (small, quick) = (bed.customer("small", "small"), bed.customer("quick", "quick"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/grpc/ask.py");
    let gateway = bed.server.gateway().to_string();
    let ended = python::run(&script, &[gateway, upstream.address().to_string(), small, quick]);
    for (call, code, error) in [
        ("unreachable", "UNAVAILABLE", "bad_gateway"),
        ("limited", "RESOURCE_EXHAUSTED", "rate_limited"),
        ("missing_key", "UNAUTHENTICATED", "missing_key"),
        ("invalid_key", "PERMISSION_DENIED", "invalid_key"),
    ] {
        let ended = &ended[call];
        assert_eq!(ended["code"], code, "{call}: {ended}");
        assert_eq!(ended["metadata"]["x-sluicegate-error"], error, "{call}: {ended}");
        let details = ended["details"].as_str().unwrap();
        assert!(details.starts_with(&format!("{error}: ")), "{call}: {ended}");
    }
    assert_eq!((&ended["admitted"]["code"], &ended["admitted"]["reply"]), (&"OK".into(), &"hello".into()));
    let limited = &ended["limited"]["metadata"];
    assert_eq!(
        (&limited["ratelimit-remaining"], &limited["grpc-retry-pushback-ms"]),
        (&"0".into(), &"-1".into())
    );
    assert_eq!(ended["retried"]["code"], "OK", "the client waits as long as it is told: {ended}");
}

/// The answer says 200 because gRPC wants it so. What is kept of it says 429.
#[test]
fn a_refused_call_is_kept_with_its_http_status() {
    let bed = Bed::start("tiers: {small: {rate: 1/hour, burst: 1}}");
    let key = bed.customer("acme", "small");
    let asked = Asked::new("POST", "/echo.Echo/Say").key(&key).header("content-type", "application/grpc");
    assert_eq!(bed.gateway(&asked).header("grpc-status"), None);
    let refused = bed.gateway(&asked);
    assert_eq!((refused.status, refused.header("grpc-status")), (200, Some("8")), "{}", refused.text());
    let decision = refused.header("x-sluicegate-decision").unwrap();
    let kept = bed.get(&format!("/admin/v1/decisions/{decision}"));
    assert_eq!((&kept["status"], &kept["error"]), (&429.into(), &"rate_limited".into()), "{kept}");
}
