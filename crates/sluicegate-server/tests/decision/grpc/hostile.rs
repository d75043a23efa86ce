//! What nobody sends by mistake: the call fails, and nothing else does.

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;

use super::client::{CHECK, Client, RATE_LIMIT, framed};
use crate::place::{Place, wait};
use crate::wire::{exchange, start};

const PLANS: &str = "tiers: {free: {rate: 1_000, burst: 1_000}}";

const PATHS: [&str; 6] = [
    RATE_LIMIT,
    CHECK,
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The domain `a`, and a descriptor with this entry.
fn entry(key: &[u8], value: &[u8]) -> Vec<u8> {
    let field = |tag: u8, bytes: &[u8]| [&[tag, bytes.len().try_into().unwrap()], bytes].concat();
    let entry = [field(0x0a, key), field(0x12, value)].concat();
    [field(0x0a, b"a"), field(0x12, &field(0x0a, &entry))].concat()
}

#[test]
fn frames_that_are_none_fail_the_call() {
    let place = Place::new(PLANS);
    wait(async {
        let client = Client::of(&place).await;
        for path in [RATE_LIMIT, CHECK, "grpc.health.v1.Health/Check"] {
            for (body, status) in [
                (vec![], 3),
                (vec![0, 0, 0], 3),
                (vec![0, 0, 0, 0, 9, 1, 2], 3),
                (vec![1, 0, 0, 0, 0], 12),
                (vec![0, 255, 255, 255, 255], 8),
                (vec![0, 255, 255, 255, 255, 1, 2, 3], 8),
                (framed(&vec![0; (1 << 20) + 1]), 8),
                (framed(&[0xff; 40]), 3),
                (framed(&[]).repeat(2), 3),
            ] {
                let ended = client.send(path, body.clone()).await;
                let start = &body[..body.len().min(8)];
                assert_eq!((ended.http_status, ended.grpc_status), (200, Some(status)), "{path} {start:?}");
                assert!(!ended.message.is_empty() && ended.body.is_empty());
            }
        }
        assert_eq!(client.send(RATE_LIMIT, framed(&entry(b"k", b"v"))).await.grpc_status, Some(0));
    });
}

#[test]
fn ten_thousand_descriptors_are_refused() {
    let place = Place::new(PLANS);
    wait(async {
        let client = Client::of(&place).await;
        let one = entry(b"k", b"v");
        let many = [&one[..3], &one[3..].repeat(10_000)].concat();
        assert_eq!(client.send(RATE_LIMIT, framed(&many)).await.grpc_status, Some(3));
        let empty = [&one[..3], &[0x12, 0].repeat(500_000)].concat();
        assert_eq!(client.send(RATE_LIMIT, framed(&empty)).await.grpc_status, Some(3));
    });
}

#[test]
fn what_is_no_text_is_no_way_past_a_limit() {
    let place = Place::new(PLANS).caller("free");
    wait(async {
        let client = Client::of(&place).await;
        let key = client.send(RATE_LIMIT, framed(&entry(b"api_key", b"\xff\xfe"))).await;
        // A proxy may let everybody pass whose call fails: this one does not fail.
        assert_eq!(key.grpc_status, Some(0));
        assert!(key.body.windows(11).any(|part| part == b"invalid_key"));
        let other = client.send(RATE_LIMIT, framed(&entry(b"\xff", b"\xff"))).await;
        assert_eq!(other.grpc_status, Some(0));
    });
}

#[test]
fn what_is_not_here_is_not_implemented() {
    let place = Place::new(PLANS);
    wait(async {
        let client = Client::of(&place).await;
        for path in [
            "envoy.service.ratelimit.v2.RateLimitService/ShouldRateLimit",
            "envoy.service.auth.v3.Authorization/check",
            "envoy.service.auth.v3.Authorization",
            "%E2%82%AC",
            "",
        ] {
            let ended = client.send(path, framed(&[])).await;
            assert_eq!((ended.http_status, ended.grpc_status), (200, Some(12)), "{path}");
        }
        assert_eq!(client.send("v1/check", framed(&[])).await.http_status, 415);
    });
}

#[test]
fn a_call_over_http_1_is_told_what_it_needs() {
    let place = Place::new(PLANS);
    wait(async {
        let address = start(&place);
        let request = format!(
            "POST /{RATE_LIMIT} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
             Content-Type: application/grpc\r\nContent-Length: 5\r\n\r\n\0\0\0\0\0"
        );
        let answer = exchange(address, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 505 "), "{answer}");
        assert!(answer.contains("HTTP/2"), "{answer}");
        let other = request.replace("POST", "GET");
        assert!(exchange(address, other.as_bytes()).await.starts_with("HTTP/1.1 405 "));
        let web = request.replace("application/grpc", "application/grpc-web");
        assert!(exchange(address, web.as_bytes()).await.starts_with("HTTP/1.1 404 "));
    });
}

/// How a call with these bytes ends.
fn status(place: &Place, path: &str, body: Vec<u8>) -> String {
    let request = Request::post(format!("http://sluicegate/{path}"))
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    wait(async {
        let (head, body) = place.service.respond(request, None).await.into_parts();
        if let Some(status) = head.headers.get("grpc-status") {
            return status.to_str().unwrap().to_owned();
        }
        // Who watches a server that does not end is told once, and nothing more.
        if path.ends_with("Watch") {
            return "0".to_owned();
        }
        let trailers = body.collect().await.unwrap().trailers().cloned().unwrap();
        trailers["grpc-status"].to_str().unwrap().to_owned()
    })
}

const KEYS: [&[u8]; 6] = [b"api_key", b"account", b"tier", b"path", b"remote_address", b"\xff"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_a_call_end_without_a_status(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        is_framed in any::<bool>(),
        path in prop::sample::select(&PATHS[..]),
    ) {
        let place = Place::new(PLANS);
        let body = if is_framed { framed(&bytes) } else { bytes };
        let status = status(&place, path, body);
        prop_assert!(["0", "3", "5", "8", "12"].contains(&status.as_str()), "{}", status);
    }

    #[test]
    fn entries_of_any_bytes_are_answered(
        key in prop::sample::select(&KEYS[..]),
        value in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let place = Place::new(PLANS);
        prop_assert_eq!(status(&place, RATE_LIMIT, framed(&entry(key, &value))), "0");
    }
}
