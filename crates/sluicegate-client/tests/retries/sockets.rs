//! The layer around a real client, against a real server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sluicegate_client::{GaveUp, RetryLayer, RetryPolicy};
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service as _;

use crate::server::{Server, no_server};

/// Refuses twice, the second time for a second, then answers.
async fn refusing_twice() -> (Server, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = Server::start(move |request: Request<Bytes>| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let builder = match number {
                0 => Response::builder().status(429),
                1 => Response::builder().status(429).header("Retry-After", "1"),
                _ => Response::builder().status(200),
            };
            builder.body(Full::new(request.into_body())).unwrap()
        }
    })
    .await;
    (server, asked)
}

#[tokio::test]
async fn a_server_that_refuses_twice_is_asked_three_times() {
    let (server, asked) = refusing_twice().await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut client = RetryLayer::new(RetryPolicy::default()).layer(client);
    let begun = Instant::now();
    let request = Request::put(server.url("/")).body(Full::<Bytes>::from("the body")).unwrap();
    let answer = client.call(request).await.unwrap();
    let body = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
    assert_eq!((&body[..], asked.load(Ordering::Relaxed)), (&b"the body"[..], 3));
    assert!(begun.elapsed() >= Duration::from_millis(1_090), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_is_not_running_is_given_up_after_five_tries() {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let policy = RetryPolicy::default().with_base(Duration::from_millis(1));
    let mut client = RetryLayer::new(policy).layer(client);
    let begun = Instant::now();
    let request =
        Request::get(format!("http://{}/", no_server().await)).body(Full::<Bytes>::default()).unwrap();
    assert!(client.call(request).await.unwrap_err().into_inner().unwrap().is_connect());
    // 0.9 + 1.8 + 3.6 + 7.2 ms at least: it was tried five times.
    assert!(begun.elapsed() >= Duration::from_micros(13_500), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_spent_quota_is_asked_for_once() {
    let server = Server::start(|_| async {
        Response::builder().status(402).header("Retry-After", "0").body(Full::default()).unwrap()
    })
    .await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut client = RetryLayer::new(RetryPolicy::default()).layer(client);
    let answer =
        client.call(Request::get(server.url("/")).body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    assert_eq!(answer.extensions().get::<GaveUp>().unwrap().tries.get(), 1);
    assert_eq!(server.connections(), 1);
}
