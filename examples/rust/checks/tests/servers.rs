//! Each server does what its first lines say: it answers, and refuses.

use checks::http::{Response, get};
use checks::process::Example;
use checks::stub::Stub;
use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// Two requests pass, and the third is refused with an honest `Retry-After`.
fn expect_two_then_429(url: &str, body: &str) {
    for _ in 0..2 {
        let response = get(url, &[]);
        assert_eq!((response.status, response.body.as_str()), (200, body));
    }
    expect_refusal(&get(url, &[]));
}

fn expect_refusal(response: &Response) {
    assert_eq!(response.status, 429, "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/problem+json"));
    let seconds: u64 = response.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3_600).contains(&seconds), "{response:?}");
}

#[test]
fn axum_minimal_refuses_the_third_request() {
    let folder = tempfile::tempdir().unwrap();
    let example = Example::start("axum-minimal", folder.path(), &[], &[]);
    expect_two_then_429(&example.url(), "hello\n");
}

#[test]
fn axum_embedded_knows_the_caller_and_keeps_accounts_and_usage_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let example = Example::start("axum-embedded", folder.path(), &[], &[]);
    let key = example.line("the key of acme, shown once: ");
    let url = example.url();
    expect_two_then_429(&url, "hello stranger\n");
    let used = |response: &Response| {
        assert_eq!((response.status, response.body.as_str()), (200, "hello acme\n"));
        response.header("x-quota-used").unwrap().to_owned()
    };
    assert_eq!(used(&get(&url, &[("X-API-Key", &key)])), "1");
    assert_eq!(used(&get(&url, &[("X-API-Key", &key)])), "2");
    assert_eq!(get(&url, &[("X-API-Key", "unknown")]).status, 403);
    assert!(example.interrupt().success());

    let example = Example::start("axum-embedded", folder.path(), &[], &[]);
    assert_eq!(used(&get(&example.url(), &[("X-API-Key", &key)])), "3");
}

#[test]
fn axum_remote_answers_as_the_server_decides_and_with_503_without_one() {
    let admitted = r#"{"allowed": true, "status": 200, "error": null, "decision_id": "dec_1", "tier": "pro",
        "account": "acme", "retry_after_ms": 0, "permit": null, "mode": "normal",
        "limits": [{"name": "rate", "limit": 10, "remaining": 9, "reset_ms": 100}],
        "headers": {"RateLimit": "\"rate\";r=9;t=1"}}"#;
    let refused = r#"{"allowed": false, "status": 429, "error": "rate_limited", "decision_id": "dec_2", "tier": "pro",
        "account": "acme", "retry_after_ms": 1500, "limit": "rate", "limits": [], "permit": null, "mode": "normal",
        "headers": {"Retry-After": "2"}}"#;
    let json = "Content-Type: application/json\r\n";
    let server = Stub::answering(&[("200 OK", json, admitted), ("200 OK", json, refused)]);
    let folder = tempfile::tempdir().unwrap();
    let example = Example::start("axum-remote", folder.path(), &[], &[("SLUICEGATE_URL", &server.url)]);
    let url = example.url();

    let response = get(&url, &[("X-API-Key", "sg_live_1")]);
    assert_eq!((response.status, response.body.as_str()), (200, "hello acme\n"));
    assert_eq!(response.header("ratelimit"), Some(r#""rate";r=9;t=1"#));
    let response = get(&url, &[("X-API-Key", "sg_live_1")]);
    assert_eq!((response.status, response.header("retry-after")), (429, Some("2")));
    for request in server.requests() {
        assert_eq!(request.line, "POST /v1/check");
        assert!(
            request.body.contains(r#""key":"sg_live_1""#) && request.body.contains(r#""ip":"127.0.0.1""#)
        );
    }

    // Nothing listens on this port.
    let example =
        Example::start("axum-remote", folder.path(), &[], &[("SLUICEGATE_URL", "http://127.0.0.1:1")]);
    let response = get(&example.url(), &[]);
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")));
}

#[test]
fn hyper_embedded_refuses_the_third_request() {
    let folder = tempfile::tempdir().unwrap();
    let example = Example::start("hyper-embedded", folder.path(), &[], &[]);
    expect_two_then_429(&example.url(), "hello\n");
}

#[tokio::test]
async fn tonic_embedded_refuses_the_third_call_with_resource_exhausted() {
    let folder = tempfile::tempdir().unwrap();
    let example = Example::start("tonic-embedded", folder.path(), &[], &[]);
    let check = async {
        let channel = Endpoint::from_shared(example.url()).unwrap().connect().await.unwrap();
        let mut client = HealthClient::new(channel);
        for _ in 0..2 {
            client.check(HealthCheckRequest::default()).await.unwrap();
        }
        client.check(HealthCheckRequest::default()).await.unwrap_err()
    };
    let status = tokio::time::timeout(checks::STUCK, check).await.unwrap();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
}
