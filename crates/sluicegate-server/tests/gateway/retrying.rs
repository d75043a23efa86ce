//! A request is sent once more only if not a byte of it was sent before.

use std::sync::atomic::Ordering::Relaxed;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::bed::{body, counting_upstream, gateway, get, raw_upstream, read_head, say, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// Answers one request.
async fn answer_once(stream: &mut TcpStream) {
    read_head(stream).await;
    stream.write_all(OK).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    let (closed, mut closings) = mpsc::unbounded_channel();
    let upstream = raw_upstream(move |_, mut stream| {
        let closed = closed.clone();
        async move {
            answer_once(&mut stream).await;
            drop(stream);
            closed.send(()).unwrap();
        }
    })
    .await;
    let gateway = gateway(upstream);
    for request in [get("/"), get("/"), get("/").replace("GET", "POST")] {
        assert_eq!(body(&say(gateway.address, request).await), "hi");
        closings.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_request_of_which_a_byte_was_sent_is_not_repeated() {
    let (count, upstream) = counting_upstream(|mut stream| async move {
        answer_once(&mut stream).await;
        stream.read_u8().await.unwrap();
    })
    .await;
    let gateway = gateway(upstream);
    assert_eq!(body(&say(gateway.address, get("/")).await), "hi");
    let answer = say(gateway.address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
    assert_eq!(count.load(Relaxed), 1);
}

#[tokio::test]
async fn a_new_connection_that_closes_at_once_is_not_tried_again() {
    let (count, upstream) = counting_upstream(|mut stream| async move {
        stream.read_u8().await.unwrap();
    })
    .await;
    let answer = say(gateway(upstream).address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
    assert_eq!(count.load(Relaxed), 1);
}
