//! What callers hear when something breaks.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::bed::{STUCK, Setup, at, body, gateway, get, raw_upstream, read_head, rest, say, status};

/// Long enough for anything on one machine, short enough to wait for.
const SHORT: Duration = Duration::from_millis(150);

#[tokio::test]
async fn an_upstream_that_is_not_there_is_a_bad_gateway() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let answer = say(gateway(closed).address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
    assert!(answer.contains("content-type: application/problem+json\r\n"), "{answer}");
    assert!(answer.contains("cache-control: no-store\r\n"), "{answer}");
    assert!(!answer.contains(&closed.port().to_string()), "says where the upstream is: {answer}");
    let problem: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(problem["error"], "bad_gateway");
    assert_eq!(problem["status"], 502);
    for member in ["type", "title", "detail"] {
        assert!(problem[member].is_string(), "{member}");
    }
}

#[tokio::test]
async fn an_upstream_that_speaks_no_http_is_a_bad_gateway() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
    })
    .await;
    let answer = say(gateway(upstream).address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_is_a_timeout() {
    let upstream = raw_upstream(|_, stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let mut setup = Setup::to(at(upstream, ""));
    setup.forward.read = SHORT;
    let answer = say(setup.start().address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 504 Gateway Timeout");
    assert!(body(&answer).contains("\"gateway_timeout\""), "{answer}");
}

#[tokio::test]
async fn a_caller_that_sends_slowly_is_waited_for_as_long_as_it_sends() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        let mut body = [0; 8];
        stream.read_exact(&mut body).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    })
    .await;
    let mut setup = Setup::to(at(upstream, ""));
    setup.forward.read = Duration::from_secs(1);
    let mut caller = TcpStream::connect(setup.start().address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\nconnection: close\r\n\r\n";
    caller.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..8 {
        tokio::time::sleep(SHORT).await;
        caller.write_all(b"x").await.unwrap();
    }
    assert_eq!(status(&rest(&mut caller).await), "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn a_caller_that_stops_sending_is_told_so() {
    let upstream = raw_upstream(|_, mut stream| async move {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
    })
    .await;
    let mut setup = Setup::to(at(upstream, ""));
    setup.forward.read = SHORT;
    let request = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\nconnection: close\r\n\r\nabc";
    let answer = say(setup.start().address, request).await;
    assert_eq!(status(&answer), "HTTP/1.1 408 Request Timeout");
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut caller = TcpStream::connect(gateway(listener.local_addr().unwrap()).address).await.unwrap();
    caller.write_all(get("/").as_bytes()).await.unwrap();
    let (mut upstream, _) = listener.accept().await.unwrap();
    read_head(&mut upstream).await;
    upstream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc").await.unwrap();
    assert!(read_head(&mut caller).await.contains("content-length: 100\r\n"));
    let mut begun = [0; 3];
    caller.read_exact(&mut begun).await.unwrap();
    drop(upstream);
    assert_eq!(rest(&mut caller).await, "");
}

#[tokio::test]
async fn an_answer_that_stands_still_is_cut() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc").await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let mut setup = Setup::to(at(upstream, ""));
    setup.forward.idle = SHORT;
    let answer = say(setup.start().address, get("/")).await;
    assert_eq!(body(&answer), "abc");
}

/// An upstream that says when a connection to it ended, and what it had got until then.
async fn witness() -> (mpsc::UnboundedReceiver<usize>, std::net::SocketAddr) {
    let (ended, endings) = mpsc::unbounded_channel();
    let upstream = raw_upstream(move |_, mut stream| {
        let ended = ended.clone();
        async move {
            read_head(&mut stream).await;
            let mut got = Vec::new();
            let _ = stream.read_to_end(&mut got).await;
            ended.send(got.len()).unwrap();
        }
    })
    .await;
    (endings, upstream)
}

#[tokio::test]
async fn the_upstream_hears_of_a_caller_that_leaves_in_the_middle_of_its_body() {
    let (mut endings, upstream) = witness().await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    caller.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n0123456789").await.unwrap();
    drop(caller);
    let got = tokio::time::timeout(STUCK, endings.recv()).await.unwrap().unwrap();
    assert!(got <= 10, "{got}");
}

#[tokio::test]
async fn the_upstream_hears_of_a_caller_that_leaves_before_the_answer() {
    let (mut endings, upstream) = witness().await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    caller.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    tokio::time::sleep(SHORT).await;
    assert!(endings.try_recv().is_err(), "the upstream was left before the caller left");
    drop(caller);
    tokio::time::timeout(STUCK, endings.recv()).await.unwrap().unwrap();
}
