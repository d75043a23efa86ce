//! `Idempotency-Key` through the real binary: when a request that is sent again is charged once.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;

const POLICY: &str = "
routes: {all: {match: /**, repeats: free}}
tiers:
  metered: {rate: 100_000, burst: 100_000, quota: 1_000}
  kind: {rate: 100_000, burst: 100_000, quota: 1_000, refund_on: 5xx}
";

pub(crate) fn post(key: &str, name: &str) -> Asked {
    Asked::new("POST", "/orders?a=1").key(key).header("Idempotency-Key", name).body("{}")
}

/// The same request as a proxy asks about it.
fn forwarded(key: &str, name: &str, uri: &str) -> Asked {
    Asked::get("/v1/forward-auth")
        .key(key)
        .header("Idempotency-Key", name)
        .header("X-Forwarded-Method", "POST")
        .header("X-Forwarded-Uri", uri)
}

fn decision(answer: &Answer) -> Value {
    answer.json()["headers"]["x-sluicegate-decision"].clone()
}

#[test]
fn a_repeat_through_the_gateway_is_charged_once() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "metered");
    let first = bed.gateway(&post(&key, "\"order-7\""));
    for _ in 0..3 {
        let repeat = bed.gateway(&post(&key, "order-7"));
        assert_eq!((repeat.status, decision(&repeat)), (200, decision(&first)));
        assert_eq!(repeat.header("x-quota-used"), Some("1"));
    }
    assert_eq!(bed.used("acme", "quota"), 1);
    assert_eq!(bed.gateway(&post(&key, "order-8")).header("x-quota-used"), Some("2"));
    // What only reads is charged each time.
    let get = Asked::get("/orders").key(&key).header("Idempotency-Key", "order-9");
    (0..2).for_each(|_| assert_eq!(bed.gateway(&get).status, 200));
    assert_eq!(bed.used("acme", "quota"), 4);
}

#[test]
fn a_name_for_another_request_is_422_and_what_is_no_name_400_on_every_face() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "metered");
    assert_eq!(bed.gateway(&post(&key, "a")).status, 200);
    let ask = |asked: &Asked| Caller::new(bed.server.decision()).send(asked).unwrap();
    let other = Asked::new("POST", "/orders?a=2").key(&key).header("Idempotency-Key", "a").body("{}");
    let conflicts = [bed.gateway(&other), ask(&forwarded(&key, "a", "/orders?a=2"))];
    for answer in conflicts {
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!("idempotency_conflict")));
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.header("x-quota-used"), Some("1"));
    }
    assert_eq!(ask(&forwarded(&key, "a", "/orders?a=1")).status, 200, "both faces know one request");
    let check = json!({"key": key, "method": "POST", "path": "/orders", "idempotency_key": "a"});
    assert_eq!(bed.check(&check).json()["status"], 422);
    let long = "x".repeat(256);
    for name in ["", "\"a", "\"a\" b", long.as_str()] {
        for answer in [bed.gateway(&post(&key, name)), ask(&forwarded(&key, name, "/orders"))] {
            assert_eq!(answer.status, 400, "{name}");
            assert_eq!(answer.json()["error"], "invalid_idempotency_key", "{name}");
        }
    }
    let two = post(&key, "b").header("Idempotency-Key", "c");
    assert_eq!(bed.gateway(&two).json()["error"], "invalid_idempotency_key");
    assert_eq!(bed.used("acme", "quota"), 1);
}

#[test]
fn every_repeat_reaches_the_upstream_with_its_name_as_the_caller_wrote_it() {
    let (heads, seen) = mpsc::channel();
    let upstream = Upstream::start(move |head, mut stream: TcpStream| {
        heads.send(head.to_ascii_lowercase()).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    let bed = Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "metered");
    for name in ["\"order-7\"", "order-7"] {
        assert_eq!(bed.gateway(&post_nothing(&key, name)).status, 200);
        let head = seen.recv().unwrap();
        assert!(head.contains(&format!("idempotency-key: {name}\r\n")), "{head}");
    }
    assert_eq!(bed.used("acme", "quota"), 1);
}

/// An upstream that fails the first so many requests.
pub(crate) fn failing(first: usize) -> Upstream {
    let seen = Arc::new(AtomicUsize::new(0));
    Upstream::start(move |_, mut stream: TcpStream| {
        let status = if seen.fetch_add(1, Ordering::SeqCst) < first { "503 No" } else { "200 OK" };
        let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    })
}

pub(crate) fn post_nothing(key: &str, name: &str) -> Asked {
    Asked::new("POST", "/orders").key(key).header("Idempotency-Key", name)
}

#[test]
fn a_retry_after_a_failure_of_the_upstream_is_charged_once_with_a_refund_and_without() {
    for tier in ["metered", "kind"] {
        let upstream = failing(2);
        let bed = Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url()));
        let key = bed.customer("acme", tier);
        let statuses = [(); 4].map(|()| bed.gateway(&post_nothing(&key, "a")).status);
        assert_eq!(statuses, [503, 503, 200, 200]);
        wait::until("the last is over", || (bed.used("acme", "quota") == 1).then_some(()));
    }
}

#[test]
fn a_refusal_leaves_the_name_free() {
    let bed = Bed::start(
        "tiers: {small: {quota: 1, quota_window: sliding_day}, large: {quota: 100}}\n\
         routes: {all: {match: /**, repeats: free}}",
    );
    let key = bed.customer("acme", "small");
    assert_eq!(bed.gateway(&post(&key, "a")).status, 200);
    assert_eq!(bed.gateway(&post(&key, "b")).status, 402);
    assert_eq!(bed.gateway(&post(&key, "a")).status, 200, "its repeat needs no quota");
    let larger = Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": "large"}));
    assert_eq!(bed.admin(larger).status, 200);
    let before = bed.used("acme", "quota");
    (0..2).for_each(|_| assert_eq!(bed.gateway(&post(&key, "b")).status, 200));
    assert_eq!(bed.used("acme", "quota"), before + 1);
}

#[test]
fn a_server_that_was_killed_between_a_request_and_its_repeat_knows_it() {
    let mut bed = Bed::start_apart(POLICY);
    let key = bed.customer("acme", "metered");
    let first = decision(&bed.gateway(&post(&key, "a")));
    assert_eq!(bed.gateway(&post(&key, "b")).status, 200);
    for _ in 0..2 {
        bed.server.kill();
        bed.restart();
        let repeat = bed.gateway(&post(&key, "a"));
        assert_eq!((repeat.status, decision(&repeat)), (200, first.clone()));
        let other = Asked::new("POST", "/else").key(&key).header("Idempotency-Key", "b").body("{}");
        assert_eq!(bed.gateway(&other).status, 422);
    }
    assert_eq!(bed.used("acme", "quota"), 2);
}

const UNNAMED_ROUTES: &str = "tiers: {metered: {rate: 100_000, burst: 100_000, quota: 5}}";

#[test]
fn one_name_for_five_hundred_bodies_is_charged_for_each_that_is_delivered() {
    let bed = Bed::start(UNNAMED_ROUTES);
    let key = bed.customer("acme", "metered");
    let mut gateway = Caller::new(bed.server.gateway());
    let mut forwarded = 0;
    for body in 0..500 {
        let asked =
            Asked::new("POST", "/orders").key(&key).header("Idempotency-Key", "a").body(body.to_string());
        let answer = gateway.send(&asked).unwrap();
        forwarded += usize::from(answer.status == 200);
        assert!(matches!(answer.status, 200 | 402), "{answer:?}");
    }
    assert_eq!(forwarded, 5);
    assert_eq!(bed.used("acme", "quota"), 5);
}

#[test]
fn a_retry_is_free_five_times_while_the_upstream_fails() {
    let upstream = failing(usize::MAX);
    let policy = "tiers: {metered: {rate: 100_000, burst: 100_000, quota: 100}}";
    let bed = Bed::start_with(policy, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "metered");
    let statuses = [(); 6].map(|()| bed.gateway(&post_nothing(&key, "a")).status);
    assert_eq!(statuses, [503; 6]);
    assert_eq!(bed.used("acme", "quota"), 1, "the first is charged, five repeats are free");
    assert_eq!(bed.gateway(&post_nothing(&key, "a")).status, 503);
    assert_eq!(bed.used("acme", "quota"), 2, "no name is free more often than that");
}

#[test]
fn a_proxy_that_reports_no_outcome_makes_nothing_free_unless_the_route_says_so() {
    let policy = "
tiers: {metered: {rate: 100_000, burst: 100_000, quota: 100}}
routes: {known: {match: \"POST /known\", repeats: free}}
";
    let bed = Bed::start(policy);
    let key = bed.customer("acme", "metered");
    let mut decision = Caller::new(bed.server.decision());
    let mut ask = |uri: &str| {
        (0..3).for_each(|_| assert_eq!(decision.send(&forwarded(&key, "a", uri)).unwrap().status, 200));
    };
    ask("/orders");
    assert_eq!(bed.used("acme", "quota"), 3);
    ask("/known");
    assert_eq!(bed.used("acme", "quota"), 4);
}

#[test]
fn connection_does_not_take_the_name_away_from_the_upstream() {
    let (heads, seen) = mpsc::channel();
    let upstream = Upstream::start(move |head, mut stream: TcpStream| {
        heads.send(head.to_ascii_lowercase()).unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    let bed = Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "metered");
    let asked = post_nothing(&key, "order-7").header("Connection", "Idempotency-Key");
    assert_eq!(bed.gateway(&asked).status, 200);
    let head = seen.recv().unwrap();
    assert!(head.contains("idempotency-key: order-7\r\n"), "{head}");
}
