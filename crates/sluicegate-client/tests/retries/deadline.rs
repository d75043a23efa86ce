//! The total deadline: no wait passes it, and an attempt that is still running then is cancelled.

use std::future::{pending, ready};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::{HeaderMap, Request, Response, StatusCode};
use sluicegate_client::{
    FailedAttempt, GaveUp, Idempotency, Reason, RetryDecision, RetryError, RetryLayer, RetryPolicy,
    Runtime as _, TokioRuntime,
};
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service as _;

use crate::service_fn::{BoxFuture, ServiceFn};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn policy(deadline: Duration) -> RetryPolicy {
    RetryPolicy::default().with_deadline(deadline)
}

fn get() -> Request<()> {
    Request::get("http://api.example/").body(()).unwrap()
}

fn status(status: u16) -> Response<()> {
    Response::builder().status(status).body(()).unwrap()
}

#[test]
fn a_wait_that_would_pass_the_deadline_is_not_begun() {
    let now = TokioRuntime.now();
    let failed = FailedAttempt::response(
        Idempotency::Idempotent,
        StatusCode::TOO_MANY_REQUESTS,
        &HeaderMap::new(),
        now,
    );
    let decide = |elapsed| policy(ms(500)).decide(NonZeroU32::MIN, &failed.with_elapsed(elapsed), 0);
    assert_eq!(decide(ms(409)), RetryDecision::RetryAfter(ms(90)));
    let expected = Reason::Deadline { wait: ms(90), deadline: ms(500) };
    for elapsed in [ms(410), ms(500), Duration::MAX] {
        assert_eq!(decide(elapsed), RetryDecision::GiveUp(expected));
    }
    assert_eq!(expected.to_string(), "a wait of 90 ms would pass the deadline of 500 ms");
}

#[tokio::test(start_paused = true)]
async fn the_last_response_is_returned_at_once_with_the_reason() {
    let begun = Instant::now();
    let service = ServiceFn(|_| -> BoxFuture<_> {
        Box::pin(ready(Ok(Response::builder().status(429).header("Retry-After", "2").body(()).unwrap())))
    });
    let response = RetryLayer::new(policy(ms(1_500))).layer(service).call(get()).await.unwrap();
    let gave_up = response.extensions().get::<GaveUp>().unwrap();
    assert!(matches!(gave_up.reason, Reason::Deadline { deadline, .. } if deadline == ms(1_500)));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_running_at_the_deadline_is_cancelled() {
    let (begun, calls) = (Instant::now(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&calls);
    let service = ServiceFn(move |_| -> BoxFuture<_> {
        match counted.fetch_add(1, Ordering::Relaxed) {
            0 => Box::pin(ready(Ok(status(502)))),
            _ => Box::pin(pending()),
        }
    });
    let error = RetryLayer::new(policy(ms(1_000))).layer(service).call(get()).await.unwrap_err();
    assert_eq!((begun.elapsed(), calls.load(Ordering::Relaxed)), (ms(1_000), 2));
    let RetryError::Deadline(exceeded) = &error else { panic!("{error}") };
    assert_eq!((exceeded.deadline, exceeded.tries), (ms(1_000), 2));
    assert_eq!(error.to_string(), "no response before the deadline of 1000 ms, after 2 tries");
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_pacer_ends_at_the_deadline() {
    let service = ServiceFn(|_| -> BoxFuture<_> {
        let response = Response::builder().header("RateLimit", "\"rate\";r=0;t=30").body(()).unwrap();
        Box::pin(ready(Ok(response)))
    });
    let mut client = RetryLayer::new(policy(ms(1_000))).adaptive().layer(service);
    client.call(get()).await.unwrap();
    let begun = Instant::now();
    let error = client.call(get()).await.unwrap_err();
    assert!(matches!(error, RetryError::Deadline(exceeded) if exceeded.tries == 0));
    assert_eq!(begun.elapsed(), Duration::ZERO, "the wait of 30 seconds is not begun");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_may_be_answered_in_time_is_waited_for() {
    let service = ServiceFn(|_| -> BoxFuture<_> {
        Box::pin(async {
            tokio::time::sleep(ms(100)).await;
            Ok(status(200))
        })
    });
    let layer = RetryLayer::new(policy(ms(250))).adaptive();
    let (mut first, mut second) = (layer.layer(service.clone()), layer.layer(service));
    let begun = Instant::now();
    let (first, second) = tokio::join!(first.call(get()), second.call(get()));
    assert_eq!((first.unwrap().status(), second.unwrap().status()), (StatusCode::OK, StatusCode::OK));
    assert_eq!(begun.elapsed(), ms(200));
}
