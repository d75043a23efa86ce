//! The retry budget: retries are a share of the requests, over ten seconds, for all clones together.

use std::error::Error as _;
use std::future::ready;
use std::io;
use std::time::Duration;

use http::{Request, Response};
use proptest::prelude::*;
use sluicegate_client::{GaveUp, Reason, RetryBudget, RetryError, RetryLayer, RetryPolicy};
use tower_layer::Layer as _;
use tower_service::Service as _;

use crate::service_fn::{BoxFuture, ServiceFn};

fn retries_at(budget: &RetryBudget, now: Duration) -> usize {
    std::iter::repeat_with(|| budget.try_retry(now)).take(1_000).take_while(|allowed| *allowed).count()
}

#[test]
fn a_share_of_the_requests_and_a_floor_may_be_retried() {
    let now = Duration::from_secs(100);
    let budget = RetryBudget::new(10, 1);
    assert_eq!(retries_at(&budget, now), 10, "one per second, over ten seconds");
    let clone = budget.clone();
    (0..50).for_each(|_| clone.record_request(now));
    assert_eq!(retries_at(&budget, now), 5);
    assert_eq!(retries_at(&RetryBudget::new(0, 0), now), 0);
}

#[test]
fn what_is_older_than_ten_seconds_is_forgotten() {
    let at = Duration::from_secs;
    let budget = RetryBudget::new(100, 0);
    (0..3).for_each(|_| budget.record_request(at(5)));
    assert!(budget.try_retry(at(14)) && budget.try_retry(at(14)));
    assert!(!budget.try_retry(at(15)), "the requests have expired");
    (0..3).for_each(|_| budget.record_request(at(23)));
    assert_eq!(retries_at(&budget, at(23)), 1, "the retries at 14 s still count");
    (0..2).for_each(|_| budget.record_request(at(24)));
    assert_eq!(retries_at(&budget, at(24)), 4);
}

fn unavailable() -> ServiceFn<impl Fn(Request<()>) -> BoxFuture<()> + Clone> {
    ServiceFn(|_| -> BoxFuture<()> { Box::pin(ready(Ok(Response::builder().status(502).body(()).unwrap()))) })
}

fn get() -> Request<()> {
    Request::get("http://api.example/").body(()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_ends_retries_of_all_clients_that_share_it() {
    let budget = RetryBudget::new(100, 0);
    let layer = RetryLayer::new(RetryPolicy::default()).with_budget(budget);
    let response = layer.layer(unavailable()).call(get()).await.unwrap();
    let gave_up = response.extensions().get::<GaveUp>().unwrap();
    assert_eq!((gave_up.reason, gave_up.tries.get()), (Reason::BudgetSpent, 2));
    assert_eq!(gave_up.to_string(), "gave up after 2 tries: the retry budget is spent");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_last_attempt_keeps_its_reason_and_its_source() {
    let service = ServiceFn(|_| -> BoxFuture<()> {
        Box::pin(ready(Err(io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused"))))
    });
    let layer = RetryLayer::new(RetryPolicy::default()).with_budget(RetryBudget::new(0, 0));
    let error = layer.layer(service).call(get()).await.unwrap_err();
    assert_eq!(error.gave_up().unwrap().reason, Reason::BudgetSpent);
    assert_eq!(format!("{error:?}"), "gave up after 1 try: the retry budget is spent: connection refused");
    assert_eq!(error.source().unwrap().to_string(), "connection refused");
    assert!(
        matches!(error, RetryError::Failed { error, .. } if error.kind() == io::ErrorKind::ConnectionRefused)
    );
}

proptest! {
    #[test]
    fn retries_never_exceed_the_share(
        percent in 0_u32..200,
        floor in 0_u32..5,
        steps in prop::collection::vec((0_u64..3_000, any::<bool>()), 1..300),
    ) {
        let budget = RetryBudget::new(percent, floor);
        let (mut now, mut log) = (Duration::ZERO, Vec::new());
        for (pause_ms, is_retry) in steps {
            now += Duration::from_millis(pause_ms);
            if !is_retry {
                budget.record_request(now);
                log.push((now.as_secs(), 0_u64));
            } else if budget.try_retry(now) {
                log.push((now.as_secs(), 1));
                let recent = log.iter().filter(|(second, _)| now.as_secs() - second < 10);
                let (retries, all) = recent.fold((0, 0), |(retries, all), (_, retry)| (retries + retry, all + 1));
                let allowed = (all - retries) * u64::from(percent) / 100 + u64::from(floor) * 10;
                prop_assert!(retries <= allowed, "{retries} > {allowed}");
            }
        }
    }
}
