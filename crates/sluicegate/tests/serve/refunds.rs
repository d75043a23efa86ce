//! `refund_on: 5xx` through the real binary: nothing is given back for a failure of the caller's own making.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use sluicegate_testkit::http::{Asked, connect};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;

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

/// Only a gRPC call has its status there. A service that puts it on other answers, or passes it on, has not failed.
#[test]
fn a_grpc_status_on_the_answer_to_an_ordinary_request_gives_nothing_back() {
    let upstream = Upstream::start(|_, mut stream: TcpStream| {
        let _ = stream.write_all(
            b"HTTP/1.1 200 OK\r\ngrpc-status: 13\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
        );
    });
    let policy = "tiers: {kind: {rate: 100_000, burst: 100_000, quota: 1_000, refund_on: 5xx}}";
    let bed = Bed::start_with(policy, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "kind");
    let post = Asked::new("POST", "/orders").key(&key);
    assert_eq!(bed.gateway(&post.clone().header("Content-Type", "application/json")).status, 200);
    assert_eq!(bed.gateway(&post.clone()).status, 200);
    assert_eq!(bed.gateway(&Asked::get("/orders").key(&key)).status, 200);
    wait::pause(std::time::Duration::from_millis(300));
    assert_eq!(bed.used("acme", "quota"), 3);
    assert_eq!(bed.gateway(&post.header("Content-Type", "application/grpc")).status, 200);
    wait::until("the call is given back", || {
        let usage = bed.get("/admin/v1/usage?account=acme");
        (usage["requests"] == 4 && usage["total"] == 3).then_some(())
    });
    assert_eq!(bed.used("acme", "quota"), 3);
}
