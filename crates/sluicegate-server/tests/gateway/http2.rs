//! HTTP/2 on either side, and gRPC, which needs it on both.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluicegate_core::policy::UpstreamProtocol;
use sluicegate_server::gateway::UpstreamTarget;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::bed::{
    Setup, Trickle, body, bytes, gateway, get, raw_upstream, read_head, say, status, target, upstream,
};

/// A caller that speaks HTTP/2 from the first byte on.
pub(crate) async fn caller<B>(address: SocketAddr) -> SendRequest<B>
where
    B: hyper::body::Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect(address).await.unwrap();
    let (send, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

fn request(uri: &str) -> Request<Full<Bytes>> {
    Request::get(uri).body(Full::default()).unwrap()
}

async fn text(answer: Response<Incoming>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_caller_in_http_2_reaches_an_upstream_in_http_1() {
    let upstream = upstream(|request| async move {
        let host = request.headers()["host"].to_str().unwrap();
        Response::new(bytes(format!("{:?} {host} {}", request.version(), request.uri())))
    });
    let mut caller = caller(gateway(upstream).address).await;
    let answer = caller.send_request(request("http://a.example/x?y=1")).await.unwrap();
    assert_eq!(answer.version(), Version::HTTP_2);
    assert_eq!(text(answer).await, "HTTP/1.1 a.example /x?y=1");
}

#[tokio::test]
async fn many_requests_at_once_share_a_connection() {
    let upstream = upstream(|request| async move { Response::new(bytes(request.uri().path().to_owned())) });
    let caller = caller(gateway(upstream).address).await;
    let asked = (0..50).map(|number| {
        let mut caller = caller.clone();
        tokio::spawn(async move {
            let answer = caller.send_request(request(&format!("http://a/{number}"))).await.unwrap();
            assert_eq!(text(answer).await, format!("/{number}"));
        })
    });
    for asked in asked.collect::<Vec<_>>() {
        asked.await.unwrap();
    }
}

#[tokio::test]
async fn what_is_refused_in_http_1_is_refused_in_http_2() {
    let mut caller = caller(gateway(SocketAddr::from(([127, 0, 0, 1], 1))).address).await;
    let answer = caller.send_request(request("http://a/x/../y")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let mut many = request("http://a/");
    for number in 0..101 {
        let name = http::HeaderName::try_from(format!("x-{number}")).unwrap();
        many.headers_mut().insert(name, http::HeaderValue::from_static("y"));
    }
    let answer = caller.send_request(many).await.unwrap();
    assert_eq!(answer.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
}

/// Sends back every frame as it comes, and then trailers.
async fn streaming_echo(request: Request<Incoming>) -> Response<BoxBody<Bytes, std::io::Error>> {
    assert_eq!(request.version(), Version::HTTP_2);
    assert_eq!(request.headers()["te"], "trailers");
    assert_eq!(request.uri().authority().unwrap(), "a.example");
    let (send, frames) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut body = request.into_body();
        while let Some(Ok(frame)) = body.frame().await {
            send.send(Ok(frame)).await.unwrap();
        }
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
        send.send(Ok(Frame::trailers(trailers))).await.unwrap();
    });
    let mut answer = Response::new(Trickle(frames).boxed());
    answer.headers_mut().insert("content-type", http::HeaderValue::from_static("application/grpc"));
    answer
}

#[tokio::test]
async fn grpc_streams_both_ways_and_ends_in_trailers() {
    let gateway = gateway(upstream(streaming_echo));
    let mut caller = caller(gateway.address).await;
    let (send, frames) = mpsc::channel(1);
    let call = Request::post("http://a.example/pkg.Service/Method")
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .body(Trickle(frames))
        .unwrap();
    let mut answer = caller.send_request(call).await.unwrap().into_body();
    for message in ["one", "two", "three"] {
        send.send(Ok(Frame::data(Bytes::from(message)))).await.unwrap();
        let frame = answer.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), message);
    }
    drop(send);
    let trailers = answer.frame().await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
}

#[tokio::test]
async fn an_upstream_may_be_spoken_to_in_http_2_only() {
    let upstream =
        upstream(|request| async move { Response::new(bytes(format!("{:?}", request.version()))) });
    let target = target(&format!("http://{upstream}")).speaking(UpstreamProtocol::Http2);
    let gateway = Setup::to(UpstreamTarget::Http(target)).start();
    for _ in 0..2 {
        assert_eq!(body(&say(gateway.address, get("/")).await), "HTTP/2.0");
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_speak_http_2_is_a_bad_gateway() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
    })
    .await;
    let target = target(&format!("http://{upstream}")).speaking(UpstreamProtocol::Http2);
    let answer = say(Setup::to(UpstreamTarget::Http(target)).start().address, get("/")).await;
    assert_eq!(status(&answer), "HTTP/1.1 502 Bad Gateway");
}

#[tokio::test]
async fn a_body_that_breaks_off_resets_its_stream_only() {
    let (send, frames) = mpsc::channel(1);
    let frames = Arc::new(Mutex::new(Some(frames)));
    let upstream = upstream(move |request| {
        let frames = Arc::clone(&frames);
        async move {
            if request.uri().path() == "/ok" {
                return Response::new(bytes("ok"));
            }
            Response::new(Trickle(frames.lock().unwrap().take().unwrap()).boxed())
        }
    });
    let mut caller = caller(gateway(upstream).address).await;
    send.send(Ok(Frame::data(Bytes::from("ab")))).await.unwrap();
    let mut broken = caller.send_request(request("http://a/broken")).await.unwrap().into_body();
    assert_eq!(broken.frame().await.unwrap().unwrap().into_data().unwrap(), "ab");
    send.send(Err(std::io::Error::other("gone"))).await.unwrap();
    assert!(broken.frame().await.unwrap().is_err());
    let answer = caller.send_request(request("http://a/ok")).await.unwrap();
    assert_eq!(text(answer).await, "ok");
}
