//! Retries as a middleware of `reqwest_middleware`.

use std::future::pending;
use std::time::Duration;

use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error};
use sluicegate_client::{DeadlineExceeded, GaveUp, Reason, RetryMiddleware, RetryPolicy};

use crate::reqwest_client::refusing_twice;
use crate::server::{Server, no_server};

fn client(policy: RetryPolicy) -> ClientWithMiddleware {
    let retries = RetryMiddleware::new(policy.with_base(Duration::from_millis(1))).adaptive();
    ClientBuilder::new(reqwest::Client::new()).with(retries).build()
}

#[tokio::test]
async fn a_middleware_retries_until_there_is_a_success() {
    let (server, called) = refusing_twice(429).await;
    let response = client(RetryPolicy::default()).get(server.url("/")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), called.count()), (200, 3));
}

#[tokio::test]
async fn a_middleware_does_not_retry_what_is_final_or_not_idempotent() {
    let (server, called) = refusing_twice(402).await;
    let response = client(RetryPolicy::default()).get(server.url("/")).send().await.unwrap();
    let gave_up = *response.extensions().get::<GaveUp>().unwrap();
    assert_eq!((gave_up.reason, called.count()), (Reason::Final(response.status()), 1));
    let (server, called) = refusing_twice(429).await;
    let response = client(RetryPolicy::default()).post(server.url("/")).body("x").send().await.unwrap();
    let gave_up = response.extensions().get::<GaveUp>().unwrap();
    assert_eq!((gave_up.reason, called.count()), (Reason::NotIdempotent, 1));
}

#[tokio::test]
async fn errors_of_a_middleware_are_those_of_reqwest_or_the_deadline() {
    let url = format!("http://{}/", no_server().await);
    let error = client(RetryPolicy::default()).get(url).send().await.unwrap_err();
    assert!(error.is_connect());
    let server = Server::start(|_| pending()).await;
    let policy = RetryPolicy::default().with_deadline(Duration::from_millis(50));
    let error = client(policy).get(server.url("/")).send().await.unwrap_err();
    let Error::Middleware(error) = error else { panic!("{error}") };
    assert_eq!(error.downcast_ref::<DeadlineExceeded>().unwrap().tries, 1);
}
