//! The end: requests in flight are finished, and nothing is begun.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use sluicegate_server::gateway::UpstreamTarget;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::bed::{STUCK, Setup, at, body, bytes, read_head, rest, upstream};

/// An upstream that says when it was asked, and answers when told.
struct Slow {
    asked: Arc<Notify>,
    answer: Arc<Notify>,
    address: std::net::SocketAddr,
}

fn slow() -> Slow {
    let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (seen, told) = (Arc::clone(&asked), Arc::clone(&answer));
    let address = upstream(move |_| {
        let (seen, told) = (Arc::clone(&seen), Arc::clone(&told));
        async move {
            seen.notify_one();
            told.notified().await;
            Response::new(bytes("done"))
        }
    });
    Slow { asked, answer, address }
}

async fn refused(address: std::net::SocketAddr) {
    timeout(STUCK, async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_request_in_flight_is_finished_and_no_connection_is_accepted() {
    let slow = slow();
    let gateway = Setup::to(at(slow.address, "")).start();
    let mut caller = TcpStream::connect(gateway.address).await.unwrap();
    caller.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    slow.asked.notified().await;
    gateway.shutdown.begin();
    refused(gateway.address).await;
    assert!(!gateway.ended.is_finished());
    slow.answer.notify_one();
    let answer = rest(&mut caller).await;
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert_eq!(body(&answer), "done");
    timeout(STUCK, gateway.ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_in_flight_is_finished() {
    let slow = slow();
    let gateway = Setup::to(at(slow.address, "")).start();
    let mut caller = crate::http2::caller(gateway.address).await;
    let request = || Request::get("http://a/").body(Full::<Bytes>::default()).unwrap();
    let answer = tokio::spawn(caller.send_request(request()));
    slow.asked.notified().await;
    gateway.shutdown.begin();
    refused(gateway.address).await;
    slow.answer.notify_one();
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "done");
    timeout(STUCK, gateway.ended).await.unwrap().unwrap();
    assert!(caller.send_request(request()).await.is_err());
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let gateway = Setup::to(UpstreamTarget::Echo).start();
    let mut idle = TcpStream::connect(gateway.address).await.unwrap();
    idle.write_all(b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    read_head(&mut idle).await;
    let mut silent = TcpStream::connect(gateway.address).await.unwrap();
    let _idle_too = crate::http2::caller::<Full<Bytes>>(gateway.address).await;
    gateway.shutdown.begin();
    timeout(STUCK, gateway.ended).await.unwrap().unwrap();
    assert_eq!(rest(&mut idle).await, "");
    assert_eq!(rest(&mut silent).await, "");
}

#[tokio::test]
async fn what_takes_too_long_is_cut() {
    let slow = slow();
    let mut setup = Setup::to(at(slow.address, ""));
    setup.serve.drain = Duration::from_millis(100);
    let gateway = setup.start();
    let mut caller = TcpStream::connect(gateway.address).await.unwrap();
    caller.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    slow.asked.notified().await;
    gateway.shutdown.begin();
    timeout(STUCK, gateway.ended).await.unwrap().unwrap();
    assert_eq!(rest(&mut caller).await, "");
}
