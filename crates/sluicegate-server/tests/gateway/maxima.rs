//! Everything a caller sends has a maximum.

use sluicegate_server::gateway::UpstreamTarget;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use crate::bed::{Setup, at, body, get, raw_upstream, say, status};

/// A gateway that takes bodies of a kilobyte.
fn small(target: UpstreamTarget) -> Setup {
    let mut setup = Setup::to(target);
    setup.guard.body_max = 1024;
    setup.forward.body_max = 1024;
    setup
}

#[tokio::test]
async fn a_body_that_says_it_is_too_long_is_refused_at_once() {
    let gateway = small(UpstreamTarget::Echo).start();
    let request = |length: &str| {
        format!("POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n")
    };
    let answer = say(gateway.address, request("1025")).await;
    assert_eq!(status(&answer), "HTTP/1.1 413 Payload Too Large");
    assert!(body(&answer).contains("\"body_too_large\""), "{answer}");
    let answer = say(gateway.address, request("1024") + &"x".repeat(1024)).await;
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn a_body_that_grows_too_long_is_cut() {
    let (got, mut seen) = mpsc::unbounded_channel();
    let upstream = raw_upstream(move |_, mut stream| {
        let got = got.clone();
        async move {
            let mut all = Vec::new();
            let _ = stream.read_to_end(&mut all).await;
            got.send(all).unwrap();
        }
    })
    .await;
    let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("400\r\n{}\r\n", "x".repeat(1024));
    let request = format!("{head}{chunk}{chunk}0\r\n\r\n");
    let answer = say(small(at(upstream, "")).start().address, &request).await;
    assert_eq!(status(&answer), "HTTP/1.1 413 Payload Too Large");
    let seen = seen.recv().await.unwrap();
    assert!(!seen.ends_with(b"0\r\n\r\n"), "the upstream took it for whole");
    let answer = say(small(UpstreamTarget::Echo).start().address, request).await;
    assert_eq!(status(&answer), "HTTP/1.1 413 Payload Too Large");
}

#[tokio::test]
async fn heads_and_targets_have_a_maximum() {
    let gateway = Setup::to(UpstreamTarget::Echo).start();
    let with = |header: String| get("/").replace("\r\n\r\n", &format!("\r\n{header}\r\n\r\n"));
    let large = "HTTP/1.1 431 Request Header Fields Too Large";
    let answer = say(gateway.address, with(format!("x: {}", "y".repeat(33 * 1024)))).await;
    assert_eq!(status(&answer), large);
    let answer = say(gateway.address, with(format!("x: {}", "y".repeat(30 * 1024)))).await;
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
    let many = |count: usize| with(vec!["x: y"; count].join("\r\n"));
    assert_eq!(status(&say(gateway.address, many(99)).await), large);
    assert_eq!(status(&say(gateway.address, many(98)).await), "HTTP/1.1 200 OK");
    let answer = say(gateway.address, get(&format!("/{}", "a".repeat(8192)))).await;
    assert_eq!(status(&answer), "HTTP/1.1 414 URI Too Long");
    let answer = say(gateway.address, get(&format!("/{}", "a".repeat(8191)))).await;
    assert_eq!(status(&answer), "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn more_headers_may_be_allowed() {
    let mut setup = Setup::to(UpstreamTarget::Echo);
    setup.guard.header_count_max = 200;
    setup.serve.header_count_max = 200;
    let request = get("/").replace("\r\n\r\n", &format!("\r\n{}\r\n\r\n", vec!["x: y"; 198].join("\r\n")));
    assert_eq!(status(&say(setup.start().address, request).await), "HTTP/1.1 200 OK");
}
