//! `refund_on: 5xx` through the real binary: what is given back, for whose failure, and what never is.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use sluicegate_testkit::http::{Asked, Caller, connect};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::node_with;
use crate::repeats::failing;

const POLICY: &str = "tiers: {kind: {rate: 2/hour, burst: 10, quota: 1_000, refund_on: 5xx}}";

/// Sends 300 requests to an upstream that answers each with 503.
fn a_failing_upstream_refills_no_rate(bed: &Bed) {
    let key = bed.customer("acme", "kind");
    let mut gateway = Caller::new(bed.server.gateway());
    let statuses: Vec<u16> =
        (0..300).map(|_| gateway.send(&Asked::get("/").key(&key)).unwrap().status).collect();
    let reached = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!(reached, 10, "{statuses:?}");
    assert!(statuses[10..].iter().all(|status| *status == 429), "{statuses:?}");
    wait::until("the quota is given back", || (bed.used("acme", "quota") == 0).then_some(()));
    assert_eq!(bed.used("acme", "rate"), 10, "the rate protects the service, and is not");
}

#[test]
fn requests_that_fail_at_the_upstream_use_the_rate_and_no_quota() {
    let upstream = failing(usize::MAX);
    let bed = Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url()));
    a_failing_upstream_refills_no_rate(&bed);
}

#[test]
fn requests_that_fail_at_the_upstream_use_the_rate_and_no_quota_on_redis() {
    let upstream = failing(usize::MAX);
    let redis = RedisLaunch::new(Engine::Redis).start();
    let bed = node_with(POLICY, &redis.url(), |launch| launch.arg("--upstream").arg(upstream.url()));
    a_failing_upstream_refills_no_rate(&bed);
}

/// An upstream that reads all of a request, and fails if that ends early.
fn strict() -> Upstream {
    Upstream::start(|_, mut stream: TcpStream| {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        let _ = stream.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    })
}

#[test]
fn a_body_that_its_caller_breaks_is_400_and_nothing_is_given_back() {
    let upstream = strict();
    let policy = "tiers: {kind: {rate: 100_000, burst: 100_000, quota: 1_000, refund_on: 5xx}}";
    let bed = Bed::start_with(policy, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "kind");
    let head =
        format!("POST / HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (sent, body) in ["5\r\nhello\r\nno size\r\n", "5\r\nhello and more\r\n"].into_iter().enumerate() {
        let mut stream = connect(bed.server.gateway()).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
        assert_eq!(bed.used("acme", "quota"), sent as u64 + 1);
    }
}
