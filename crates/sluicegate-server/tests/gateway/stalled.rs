//! Streams that stand still are ended, in either direction; those that flow slowly, or wait for events, are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::bed::{
    Gateway, STUCK, Setup, Trickle, at, body, bytes, get, raw_upstream, read_head, rest, say, status,
    upstream,
};

/// The idle timeout of these tests.
const IDLE: Duration = Duration::from_secs(1);

/// Much longer than the idle timeout, in steps that are shorter.
const STEP: Duration = Duration::from_millis(400);
const STEPS: usize = 6;

fn gateway(target: std::net::SocketAddr) -> Gateway {
    let mut setup = Setup::to(at(target, ""));
    (setup.forward.idle, setup.serve.idle) = (IDLE, IDLE);
    setup.start()
}

/// An upstream whose answers end when they are dropped, and how many were.
fn endless_upstream() -> (Arc<AtomicUsize>, std::net::SocketAddr) {
    let ended = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ended);
    let address = upstream(move |_| {
        let counted = Arc::clone(&counted);
        async move {
            let (send, frames) = mpsc::channel(1);
            tokio::spawn(async move {
                while send.send(Ok(Frame::data(Bytes::from(vec![b'x'; 16 * 1024])))).await.is_ok() {}
                counted.fetch_add(1, Relaxed);
            });
            Response::new(Trickle(frames).boxed())
        }
    });
    (ended, address)
}

async fn reach(count: &AtomicUsize, expected: usize) {
    let reached = async {
        while count.load(Relaxed) < expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(STUCK, reached).await.unwrap();
}

async fn caller<B>(address: std::net::SocketAddr, window: u32) -> SendRequest<B>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect(address).await.unwrap();
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(window);
    let (send, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

fn request(content_type: &'static str) -> Request<BoxBody<Bytes, std::io::Error>> {
    Request::post("http://a.example/").header(header::CONTENT_TYPE, content_type).body(bytes("")).unwrap()
}

#[tokio::test]
async fn a_stream_whose_caller_grants_no_window_is_reset_and_its_connection_goes_on() {
    let (ended, upstream) = endless_upstream();
    let address = gateway(upstream).address;
    for (number, content_type) in ["text/plain", "application/grpc"].into_iter().enumerate() {
        let mut caller = caller(address, 0).await;
        let mut stalled = caller.send_request(request(content_type)).await.unwrap().into_body();
        let error = timeout(STUCK, stalled.frame()).await.unwrap().unwrap().unwrap_err();
        assert!(error.to_string().contains("error reading a body"), "{error}");
        reach(&ended, number + 1).await;
        timeout(STUCK, caller.send_request(request(content_type))).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_caller_that_stops_reading_its_socket_is_cut() {
    let (ended, upstream) = endless_upstream();
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    caller.write_all(get("/").as_bytes()).await.unwrap();
    read_head(&mut caller).await;
    reach(&ended, 1).await;
    let mut left = Vec::new();
    let _ = timeout(STUCK, caller.read_to_end(&mut left)).await.unwrap();
}

/// Sends a part of an answer of this type now and then.
async fn slow_answer(
    content_type: &'static str,
    pause: Duration,
) -> Response<BoxBody<Bytes, std::io::Error>> {
    let (send, frames) = mpsc::channel(1);
    tokio::spawn(async move {
        for _ in 0..STEPS {
            tokio::time::sleep(pause).await;
            if send.send(Ok(Frame::data(Bytes::from("data: 1\n\n")))).await.is_err() {
                return;
            }
        }
    });
    let mut answer = Response::new(Trickle(frames).boxed());
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

#[tokio::test]
async fn an_answer_that_flows_slowly_is_passed_on_to_its_end() {
    let address = gateway(upstream(|_| slow_answer("text/plain", STEP))).address;
    let answer = say(address, get("/")).await;
    assert_eq!(body(&answer).matches("data: 1").count(), STEPS, "{answer}");
}

/// With pauses that are longer than the idle timeout.
#[tokio::test]
async fn a_stream_of_events_or_a_grpc_stream_may_be_quiet() {
    let pause = IDLE + STEP;
    let events = gateway(upstream(move |_| slow_answer("text/event-stream; charset=utf-8", pause))).address;
    let calls = gateway(upstream(move |_| slow_answer("application/grpc", pause))).address;
    let over_http1 = say(events, get("/"));
    let over_http2 = |address, content_type| async move {
        let mut caller = caller(address, 65_535).await;
        let answer = caller.send_request(request(content_type)).await.unwrap();
        answer.into_body().collect().await.unwrap().to_bytes()
    };
    let (one, two, three) =
        tokio::join!(over_http1, over_http2(events, "text/plain"), over_http2(calls, "application/grpc"));
    for answer in [one.as_bytes(), &two, &three] {
        assert_eq!(String::from_utf8_lossy(answer).matches("data: 1").count(), STEPS);
    }
}

#[tokio::test]
async fn an_answer_is_not_idle_while_its_request_flows() {
    let upstream = upstream(|request: Request<Incoming>| async move {
        let (send, frames) = mpsc::channel(1);
        tokio::spawn(async move {
            let sent = request.into_body().collect().await.unwrap().to_bytes();
            let _ = send.send(Ok(Frame::data(sent))).await;
        });
        Response::new(Trickle(frames).boxed())
    });
    let mut caller = caller(gateway(upstream).address, 65_535).await;
    let (send, frames) = mpsc::channel(1);
    let request = Request::post("http://a.example/").body(Trickle(frames)).unwrap();
    let answer = caller.send_request(request).await.unwrap().into_body();
    for _ in 0..STEPS {
        tokio::time::sleep(STEP).await;
        send.send(Ok(Frame::data(Bytes::from("x")))).await.unwrap();
    }
    drop(send);
    assert_eq!(timeout(STUCK, answer.collect()).await.unwrap().unwrap().to_bytes(), "x".repeat(STEPS));
}

#[tokio::test]
async fn an_upstream_that_stalls_is_given_up_in_either_protocol() {
    let stalling = |_| async {
        let (send, frames) = mpsc::channel(1);
        send.send(Ok(Frame::data(Bytes::from("begun")))).await.unwrap();
        tokio::spawn(async move {
            let _open = send;
            std::future::pending::<()>().await;
        });
        Response::new(Trickle(frames).boxed())
    };
    let address = gateway(upstream(stalling)).address;
    assert!(say(address, get("/")).await.ends_with("5\r\nbegun\r\n"));
    let mut caller = caller(address, 65_535).await;
    let answer = caller.send_request(request("application/grpc")).await.unwrap();
    timeout(STUCK, answer.into_body().collect()).await.unwrap().unwrap_err();
}

#[tokio::test]
async fn a_whole_request_has_a_maximum_if_there_is_one() {
    let maximum = |target| {
        let mut setup = Setup::to(at(target, ""));
        (setup.forward.request, setup.serve.request) = (Some(IDLE), Some(IDLE));
        setup.start().address
    };
    let flowing = maximum(upstream(|_| slow_answer("text/event-stream", STEP)));
    let answer = say(flowing, get("/")).await;
    assert!((1..STEPS).contains(&body(&answer).matches("data: 1").count()), "{answer}");
    let mut caller = caller(flowing, 65_535).await;
    let answer = caller.send_request(request("text/plain")).await.unwrap();
    timeout(STUCK, answer.into_body().collect()).await.unwrap().unwrap_err();
    let silent = raw_upstream(|_, mut stream| async move {
        rest(&mut stream).await;
    })
    .await;
    let silent = maximum(silent);
    assert_eq!(status(&say(silent, get("/")).await), "HTTP/1.1 504 Gateway Timeout");
    let mut slow = TcpStream::connect(silent).await.unwrap();
    slow.write_all(b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9\r\n\r\n")
        .await
        .unwrap();
    for _ in 0..2 {
        tokio::time::sleep(STEP).await;
        slow.write_all(b"x").await.unwrap();
    }
    assert_eq!(status(&rest(&mut slow).await), "HTTP/1.1 408 Request Timeout");
}
