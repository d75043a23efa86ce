//! The reqwest client with retries.

use std::error::Error as _;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use sluicegate_client::{GaveUp, Reason, RetryError, RetryPolicy, RetryingClient};

use crate::server::{Server, no_server};

fn client() -> RetryingClient {
    RetryingClient::new(reqwest::Client::new(), RetryPolicy::default().with_base(Duration::from_millis(1)))
}

/// How often a server was called.
#[derive(Clone, Default)]
pub(crate) struct Called(Arc<AtomicUsize>);

impl Called {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Refuses twice with this status, then answers with the method, the path, some headers and the body of the request.
pub(crate) async fn refusing_twice(status: u16) -> (Server, Called) {
    let called = Called::default();
    let counted = called.clone();
    let server = Server::start(move |request: Request<Bytes>| {
        let status = if counted.0.fetch_add(1, Ordering::Relaxed) < 2 { status } else { 200 };
        let header = |name| request.headers().get(name).map_or("", |value| value.to_str().unwrap());
        let body = format!(
            "{} {} {} {} {} {}",
            request.method(),
            request.uri(),
            header("authorization"),
            header("idempotency-key"),
            header("x-a"),
            String::from_utf8_lossy(request.body())
        );
        async move { Response::builder().status(status).body(Full::from(body)).unwrap() }
    })
    .await;
    (server, called)
}

fn gave_up(response: &reqwest::Response) -> GaveUp {
    *response.extensions().get::<GaveUp>().unwrap()
}

#[tokio::test]
async fn requests_are_retried_until_there_is_a_success() {
    let (server, called) = refusing_twice(429).await;
    let request = client().inner().get(server.url("/")).build().unwrap();
    let response = client().execute(request).await.unwrap();
    assert_eq!((response.status().as_u16(), called.count()), (200, 3));
}

#[tokio::test]
async fn every_method_has_a_builder() {
    let (server, _) = refusing_twice(200).await;
    let (client, url) = (client(), server.url("/"));
    let builders = [
        (client.get(&url), "GET"),
        (client.post(&url), "POST"),
        (client.put(&url), "PUT"),
        (client.patch(&url), "PATCH"),
        (client.delete(&url), "DELETE"),
        (client.request(Method::OPTIONS, &url), "OPTIONS"),
    ];
    for (builder, method) in builders {
        let text = builder.send().await.unwrap().text().await.unwrap();
        assert!(text.starts_with(method), "{text}");
    }
    assert_eq!(client.head(&url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn what_is_built_is_sent_with_every_attempt() {
    let (server, called) = refusing_twice(502).await;
    let headers: HeaderMap = [("x-a".parse().unwrap(), "b".parse().unwrap())].into_iter().collect();
    let builder = client().post(server.url("/orders")).headers(headers).header("x-c", "d").bearer_auth("key");
    let builder = builder.query(&[("a", "1 2")]).body("the body").timeout(Duration::from_secs(5));
    let text = builder.idempotency_key("order-1").send().await.unwrap().text().await.unwrap();
    assert_eq!(text, "POST /orders?a=1+2 Bearer key order-1 b the body");
    assert_eq!(called.count(), 3);
}

#[cfg(feature = "json")]
#[tokio::test]
async fn a_value_is_sent_as_json() {
    let (server, _) = refusing_twice(429).await;
    let response = client().put(server.url("/")).json(&serde_json::json!({"a": 1})).send().await.unwrap();
    assert!(response.text().await.unwrap().ends_with("{\"a\":1}"));
}

#[tokio::test]
async fn what_is_final_or_not_idempotent_is_sent_once() {
    let (server, called) = refusing_twice(402).await;
    let response = client().get(server.url("/")).send().await.unwrap();
    assert_eq!((gave_up(&response).reason, called.count()), (Reason::Final(response.status()), 1));
    let (server, called) = refusing_twice(429).await;
    let response = client().post(server.url("/")).body("x").send().await.unwrap();
    assert_eq!((gave_up(&response).reason, called.count()), (Reason::NotIdempotent, 1));
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_given_up() {
    let error = client().get(format!("http://{}/", no_server().await)).send().await.unwrap_err();
    assert!(matches!(error.gave_up().unwrap().reason, Reason::Failures(failures) if failures.get() == 5));
    assert!(error.source().unwrap().is::<reqwest::Error>());
    assert!(error.into_inner().unwrap().is_connect());
}

#[tokio::test]
async fn an_invalid_request_is_not_sent() {
    let error = client().get("not a url").send().await.unwrap_err();
    assert!(matches!(&error, RetryError::NotSent(error) if error.is_builder()));
    assert_eq!(format!("{error:?}"), error.to_string());
    let error = client().get("http://127.0.0.1/").header("x", "\n").send().await.unwrap_err();
    assert!(matches!(error, RetryError::NotSent(_)));
}

#[tokio::test]
async fn an_attempt_is_cancelled_at_the_deadline() {
    let server = Server::start(|_| pending()).await;
    let policy = RetryPolicy::default().with_deadline(Duration::from_millis(50));
    let client = RetryingClient::new(reqwest::Client::new(), policy);
    let error = client.get(server.url("/")).send().await.unwrap_err();
    assert!(matches!(error, RetryError::Deadline(exceeded) if exceeded.tries == 1));
}
