//! The layer around a service that answers as it is told, on a clock that only sleep moves.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{Method, Request, Response};
use sluicegate_client::{GaveUp, Reason, RetryLayer, RetryPolicy, Runtime};
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service;

/// tokio's clock, which tests pause.
#[derive(Clone, Copy)]
struct Paused {
    start: Instant,
    random: u64,
}

impl Runtime for Paused {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000) + self.start.elapsed()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn random(&self) -> u64 {
        self.random
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

type Answer = io::Result<(u16, Vec<(&'static str, &'static str)>)>;

/// Gives the answers it was made with, one after the other, and notes when it was asked.
#[derive(Clone)]
struct Scripted {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), asked: Arc::default() }
    }

    /// When it was asked, in milliseconds after the first time.
    fn times_ms(&self) -> Vec<u128> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(at, _)| at.duration_since(asked[0].0).as_millis()).collect()
    }
}

impl Service<Request<&'static str>> for Scripted {
    type Response = Response<()>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<()>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<&'static str>) -> Self::Future {
        self.asked.lock().unwrap().push((Instant::now(), (*request.body()).to_owned()));
        let answer = self.answers.lock().unwrap().pop_front().expect("it is asked no more than this");
        ready(answer.map(|(status, headers)| {
            let builder = Response::builder().status(status);
            headers
                .into_iter()
                .fold(builder, |builder, (name, value)| builder.header(name, value))
                .body(())
                .unwrap()
        }))
    }
}

fn request(method: Method) -> Request<&'static str> {
    Request::builder().method(method).uri("http://api.example/").body("what is asked").unwrap()
}

async fn sent(service: &Scripted, request: Request<&'static str>, random: u64) -> io::Result<Response<()>> {
    let runtime = Paused { start: Instant::now(), random };
    let mut client = RetryLayer::new(RetryPolicy::default()).with_runtime(runtime).layer(service.clone());
    client.call(request).await.map_err(|error| error.into_inner().unwrap())
}

fn status(status: u16) -> Answer {
    Ok((status, Vec::new()))
}

fn refused() -> Answer {
    Err(io::ErrorKind::ConnectionRefused.into())
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_with_its_body_until_it_is_answered() {
    let service = Scripted::new([status(429), refused(), status(502), status(200)]);
    let answer = sent(&service, request(Method::GET), 0).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.extensions().get::<GaveUp>()), (200, None));
    // tokio's timers go in milliseconds, and never early.
    assert_eq!(service.times_ms(), [0, 90, 270, 630]);
    assert!(service.asked.lock().unwrap().iter().all(|(_, body)| body == "what is asked"));
}

#[tokio::test(start_paused = true)]
async fn the_fifth_failure_in_a_row_is_the_answer() {
    let service = Scripted::new((0..5).map(|_| status(429)));
    let answer = sent(&service, request(Method::PUT), u64::MAX).await.unwrap();
    let gave_up = answer.extensions().get::<GaveUp>().unwrap();
    assert_eq!((answer.status().as_u16(), gave_up.tries.get()), (429, 5));
    assert!(matches!(gave_up.reason, Reason::Failures(failures) if failures.get() == 5));
    assert_eq!(service.times_ms(), [0, 110, 330, 770, 1_650]);
}

#[tokio::test(start_paused = true)]
async fn errors_are_given_up_after_five_as_well() {
    let service = Scripted::new((0..5).map(|_| refused()));
    let error = sent(&service, request(Method::GET), 0).await.unwrap_err();
    assert_eq!((error.kind(), service.times_ms().len()), (io::ErrorKind::ConnectionRefused, 5));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_out_to_the_second() {
    let service = Scripted::new([
        Ok((429, vec![("retry-after", "3")])),
        Ok((503, vec![("retry-after", "1")])),
        status(200),
    ]);
    sent(&service, request(Method::GET), 0).await.unwrap();
    assert_eq!(service.times_ms(), [0, 3_000, 4_000]);
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_an_instant_that_is_waited_for() {
    let lines = vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1800000020")];
    let service = Scripted::new([Ok((429, lines)), status(200)]);
    sent(&service, request(Method::GET), 0).await.unwrap();
    assert_eq!(service.times_ms(), [0, 20_000]);
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_given_up_at_once_and_says_when() {
    let service = Scripted::new([Ok((429, vec![("retry-after", "86400")]))]);
    let answer = sent(&service, request(Method::GET), 0).await.unwrap();
    let gave_up = answer.extensions().get::<GaveUp>().unwrap();
    let until = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_086_400);
    let wait = Duration::from_secs(86_400);
    assert_eq!(gave_up.reason, Reason::TooLong { wait, until: Some(until) });
    assert_eq!(
        gave_up.to_string(),
        "gave up after 1 try: the server says to wait 86400 seconds, which is too long"
    );
}

#[tokio::test(start_paused = true)]
async fn what_trying_again_does_not_mend_is_sent_once() {
    for code in [400, 401, 402, 403, 404, 409, 422, 500, 501, 503] {
        let service = Scripted::new([status(code)]);
        let answer = sent(&service, request(Method::GET), 0).await.unwrap();
        let gave_up = answer.extensions().get::<GaveUp>().unwrap();
        assert_eq!((answer.status().as_u16(), gave_up.reason), (code, Reason::Final(answer.status())));
    }
}

#[tokio::test(start_paused = true)]
async fn an_order_is_sent_once_unless_it_has_a_name() {
    let service = Scripted::new([status(429)]);
    let answer = sent(&service, request(Method::POST), 0).await.unwrap();
    assert_eq!(answer.extensions().get::<GaveUp>().unwrap().reason, Reason::NotIdempotent);
    let service = Scripted::new([status(429), status(201)]);
    let mut named = request(Method::POST);
    named.headers_mut().insert("Idempotency-Key", "order-1".parse().unwrap());
    assert_eq!(sent(&service, named, 0).await.unwrap().status(), 201);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_broke_is_not_tried_again() {
    let service = Scripted::new([Err(io::ErrorKind::ConnectionReset.into())]);
    let error = sent(&service, request(Method::GET), 0).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}
