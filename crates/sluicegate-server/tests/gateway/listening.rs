//! Connections: who may have one, and for how long.

use std::time::Duration;

use sluicegate_server::gateway::UpstreamTarget;
use sluicegate_server::listen::Listener;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::bed::{STUCK, Setup, read_head, rest, status};

/// Long enough for anything on one machine, short enough to wait for.
const SHORT: Duration = Duration::from_millis(150);
const HEAD: &[u8] = b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n";

fn echo() -> Setup {
    Setup::to(UpstreamTarget::Echo)
}

#[tokio::test]
async fn a_port_that_is_taken_is_named_with_the_way_out() {
    let first = Listener::bind(([127, 0, 0, 1], 0).into(), "--gateway").unwrap();
    let address = first.local_addr();
    assert_ne!(address.port(), 0);
    let error = Listener::bind(address, "--gateway").unwrap_err().to_string();
    let expected = format!(
        "{address} is already in use: stop the other process or choose another address with --gateway"
    );
    assert_eq!(error, expected);
    let error = Listener::bind(([192, 0, 2, 1], 0).into(), "--admin").unwrap_err().to_string();
    assert!(error.starts_with("192.0.2.1:0 is no address of this machine") && error.contains("--admin"));
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_its_connection() {
    for begun in [&b""[..], b"G", b"GET / HTTP/1.1\r\nhost: a\r\n"] {
        let mut setup = echo();
        setup.serve.header = SHORT;
        let mut caller = TcpStream::connect(setup.start().address).await.unwrap();
        caller.write_all(begun).await.unwrap();
        assert_eq!(rest(&mut caller).await, "");
    }
}

#[tokio::test]
async fn a_head_that_trickles_ends_its_connection() {
    let mut setup = echo();
    setup.serve.header = SHORT;
    let mut caller = TcpStream::connect(setup.start().address).await.unwrap();
    // Also the second head of a connection, which was idle before.
    caller.write_all(HEAD).await.unwrap();
    read_head(&mut caller).await;
    let (mut read, mut write) = caller.into_split();
    let trickle = tokio::spawn(async move {
        while write.write_all(b"G").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    });
    let mut all = Vec::new();
    let _ = timeout(STUCK, read.read_to_end(&mut all)).await.unwrap();
    timeout(STUCK, trickle).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_a_while_and_no_longer() {
    let mut setup = echo();
    (setup.serve.header, setup.serve.keep_alive) = (SHORT / 3, SHORT * 3);
    let mut caller = TcpStream::connect(setup.start().address).await.unwrap();
    for _ in 0..2 {
        caller.write_all(HEAD).await.unwrap();
        assert_eq!(status(&read_head(&mut caller).await), "HTTP/1.1 200 OK");
        tokio::time::sleep(SHORT).await;
    }
    assert_eq!(rest(&mut caller).await, "");
}

#[tokio::test]
async fn a_caller_that_takes_nothing_of_its_answer_is_cut() {
    let upstream = crate::bed::raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n").await.unwrap();
        while stream.write_all(&[0; 65536]).await.is_ok() {}
    })
    .await;
    let mut setup = Setup::to(crate::bed::at(upstream, ""));
    setup.serve.idle = SHORT;
    let gateway = setup.start();
    let mut caller = TcpStream::connect(gateway.address).await.unwrap();
    caller.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    read_head(&mut caller).await;
    // The end would wait for the caller for longer than this test does.
    gateway.shutdown.begin();
    timeout(STUCK, gateway.ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn beyond_the_most_connections_callers_wait_for_requests_in_flight() {
    let mut setup = echo();
    setup.serve.connections_max = 1;
    setup.serve.per_address.connections = 2;
    setup.serve.per_address.handshakes = 2;
    let address = setup.start().address;
    let mut first = TcpStream::connect(address).await.unwrap();
    // The body does not come, so that the request stays in flight.
    let head = b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    first.write_all(head).await.unwrap();
    assert_eq!(status(&read_head(&mut first).await), "HTTP/1.1 100 Continue");
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(HEAD).await.unwrap();
    assert!(timeout(SHORT, second.read_u8()).await.is_err(), "served beyond the maximum");
    drop(first);
    assert_eq!(status(&timeout(STUCK, read_head(&mut second)).await.unwrap()), "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn beyond_the_most_connections_an_idle_one_makes_room() {
    let mut setup = echo();
    setup.serve.connections_max = 1;
    let address = setup.start().address;
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(HEAD).await.unwrap();
    read_head(&mut first).await;
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(HEAD).await.unwrap();
    assert_eq!(status(&timeout(STUCK, read_head(&mut second)).await.unwrap()), "HTTP/1.1 200 OK");
    let mut rest = Vec::new();
    timeout(STUCK, first.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_that_come_together_are_answered_in_order() {
    let mut caller = TcpStream::connect(echo().start().address).await.unwrap();
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    let last = ask("/3").replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    caller.write_all((ask("/1") + &ask("/2") + &last).as_bytes()).await.unwrap();
    let answers = rest(&mut caller).await;
    let places: Vec<usize> = ["/1", "/2", "/3"].iter().map(|path| answers.find(path).unwrap()).collect();
    assert!(places.is_sorted(), "{answers}");
}
