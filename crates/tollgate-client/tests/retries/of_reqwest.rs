//! The same around a client of reqwest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Response;
use http_body_util::Full;
use tollgate_client::{GaveUp, Reason, RetryPolicy, RetryingClient};

use crate::server::{Server, nobody};

fn client() -> RetryingClient {
    RetryingClient::new(reqwest::Client::new(), RetryPolicy::default().with_base(Duration::from_millis(1)))
}

/// Refuses twice with this, then answers.
async fn refusing_twice(status: u16) -> (Server, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = Server::start(move |_| {
        let status = if counted.fetch_add(1, Ordering::Relaxed) < 2 { status } else { 200 };
        async move { Response::builder().status(status).body(Full::default()).unwrap() }
    })
    .await;
    (server, asked)
}

#[tokio::test]
async fn reqwest_is_asked_again_until_it_is_answered() {
    let (server, asked) = refusing_twice(429).await;
    let request = client().inner().get(server.url("/")).build().unwrap();
    let answer = client().execute(request).await.unwrap();
    assert_eq!((answer.status().as_u16(), asked.load(Ordering::Relaxed)), (200, 3));
}

#[tokio::test]
async fn reqwest_is_not_asked_again_for_what_is_final_or_must_not_be_repeated() {
    let (server, asked) = refusing_twice(402).await;
    let request = client().inner().get(server.url("/")).build().unwrap();
    let answer = client().execute(request).await.unwrap();
    let gave_up = answer.extensions().get::<GaveUp>().unwrap();
    assert_eq!((gave_up.reason, asked.load(Ordering::Relaxed)), (Reason::Final(answer.status()), 1));
    let (server, asked) = refusing_twice(429).await;
    let request = client().inner().post(server.url("/")).body("x").build().unwrap();
    let answer = client().execute(request).await.unwrap();
    let gave_up = answer.extensions().get::<GaveUp>().unwrap();
    assert_eq!((gave_up.reason, asked.load(Ordering::Relaxed)), (Reason::Unrepeatable, 1));
}

#[tokio::test]
async fn reqwest_gives_up_on_a_server_that_is_not_there() {
    let request = client().inner().get(format!("http://{}/", nobody().await)).build().unwrap();
    assert!(client().execute(request).await.unwrap_err().is_connect());
}
