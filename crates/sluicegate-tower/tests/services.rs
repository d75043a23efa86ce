//! The layer before services of other makes: axum, hyper over a socket, and answers that end with trailers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::extract::ConnectInfo;
use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use sluicegate_tower::{Decision, Sluicegate};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tower::{Layer as _, ServiceExt as _};

const POLICY: &str = "{identity: {anonymous: free}, tiers: {free: {rate: 1/minute, burst: 2}}}";

#[tokio::test]
async fn before_axum_a_caller_is_told_by_its_connection() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let layer =
        gate.layer().peer_from(|extensions| extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0));
    let tier = async |Extension(decision): Extension<Decision>| decision.tier().unwrap().to_owned();
    let app = Router::new().route("/", get(tier)).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await.unwrap() });
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    for expected in [200, 200, 429] {
        let answer = client.get(url.parse().unwrap()).await.unwrap();
        assert_eq!(answer.status(), expected);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(expected != 200 || body == "free");
    }
}

#[tokio::test]
async fn before_hyper_whole_answers_and_denials_go_over_the_wire() {
    let gate = Sluicegate::in_memory(POLICY).await.unwrap();
    let echo = tower::service_fn(async |request: Request<hyper::body::Incoming>| {
        Ok::<_, Infallible>(Response::new(request.into_body()))
    });
    let service = gate.layer().layer(echo);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let serving =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(serving);
        }
    });
    let client = Client::builder(TokioExecutor::new()).build_http::<http_body_util::Full<Bytes>>();
    for expected in [200, 200, 429] {
        let answer = client.request(Request::post(&url).body("hello".into()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), expected);
        assert!(answer.headers().contains_key("ratelimit-remaining"));
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(if expected == 200 { body == "hello" } else { body.starts_with(b"{\"type\":") });
    }
}

/// A body as a gRPC server has it: messages, and then how it went.
struct Messages(Vec<Frame<Bytes>>);

impl Body for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[tokio::test]
async fn frames_and_trailers_pass_unchanged_and_the_slot_is_free_after_them() {
    let policy = "{identity: {anonymous: free}, tiers: {free: {rate: 100, concurrency: 1}}}";
    let gate = Sluicegate::in_memory(policy).await.unwrap();
    let grpc = tower::service_fn(async |_: Request<()>| {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", "0".parse().unwrap());
        let first = Frame::data(Bytes::from_static(b"\0\0\0\0\x01a"));
        let second = Frame::data(Bytes::from_static(b"\0\0\0\0\x01b"));
        Ok::<_, Infallible>(Response::new(Messages(vec![Frame::trailers(trailers), second, first])))
    });
    let service = gate.layer().layer(grpc);
    let call = async || {
        service.clone().oneshot(Request::post("/pkg.Service/Method").body(()).unwrap()).await.unwrap()
    };
    let mut body = call().await.into_body();
    let mut data = Vec::new();
    for _ in 0..2 {
        data.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
        assert_eq!(call().await.status(), 429, "the stream has not ended");
    }
    assert_eq!(data, b"\0\0\0\0\x01a\0\0\0\0\x01b");
    let trailers = body.frame().await.unwrap().unwrap().into_trailers().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    assert!(body.frame().await.is_none());
    assert_eq!(call().await.status(), 200);
}
