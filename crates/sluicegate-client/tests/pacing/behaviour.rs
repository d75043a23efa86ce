//! What the pacer does with missing headers, malformed ones, cancelled requests, clock steps and long waits.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use proptest::prelude::*;
use sluicegate_client::{Pacer, Reason, RetryLayer, RetryPolicy, Runtime};
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service;

use crate::simulation::in_simulated_time;

/// tokio's paused clock, and a wall clock that tests can step.
#[derive(Clone)]
struct SteppedRuntime {
    start: Instant,
    wall: Arc<Mutex<SystemTime>>,
}

impl SteppedRuntime {
    fn new() -> Self {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        Self { start: Instant::now(), wall: Arc::new(Mutex::new(wall)) }
    }

    fn elapsed_ms(&self) -> u128 {
        self.start.elapsed().as_millis()
    }
}

impl Runtime for SteppedRuntime {
    fn now(&self) -> SystemTime {
        *self.wall.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn random(&self) -> u64 {
        0
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

type Reply = (u16, Vec<(&'static str, String)>);

/// Answers after 10 ms with what a function says, and records when it was called.
#[derive(Clone)]
struct Scripted {
    reply: Arc<dyn Fn(usize) -> Reply + Send + Sync>,
    called_ms: Arc<Mutex<Vec<u128>>>,
    runtime: SteppedRuntime,
}

impl Scripted {
    fn new(runtime: &SteppedRuntime, reply: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        Self { reply: Arc::new(reply), called_ms: Arc::default(), runtime: runtime.clone() }
    }

    fn called_ms(&self) -> Vec<u128> {
        self.called_ms.lock().unwrap().clone()
    }
}

impl Service<Request<()>> for Scripted {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<()>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let mut called = self.called_ms.lock().unwrap();
        let (status, headers) = (self.reply)(called.len());
        called.push(self.runtime.elapsed_ms());
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        let response = response.body(()).unwrap();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(response)
        })
    }
}

fn layer(runtime: &SteppedRuntime) -> RetryLayer<SteppedRuntime> {
    RetryLayer::new(RetryPolicy::default()).adaptive().with_runtime(runtime.clone())
}

fn get(origin: &str) -> Request<()> {
    Request::get(format!("{origin}/")).body(()).unwrap()
}

const API: &str = "http://api.example";

async fn call_at_once(layer: &RetryLayer<SteppedRuntime>, service: &Scripted, origins: &[&str]) {
    let calls = origins.iter().map(|origin| {
        let (mut client, request) = (layer.layer(service.clone()), get(origin));
        tokio::spawn(async move { client.call(request).await.unwrap() })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

fn spent(seconds: u64) -> Vec<(&'static str, String)> {
    vec![("ratelimit", format!("\"rate\";r=0;t={seconds}"))]
}

#[tokio::test(start_paused = true)]
async fn an_origin_without_limit_headers_is_not_paced() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| (200, Vec::new()));
    let layer = layer(&runtime);
    call_at_once(&layer, &service, &[API; 20]).await;
    // The first one is a probe; it is answered after 10 ms.
    assert_eq!(service.called_ms()[0], 0);
    assert!(service.called_ms()[1..].iter().all(|at| *at == 10), "{:?}", service.called_ms());
    call_at_once(&layer, &service, &[API; 20]).await;
    assert!(service.called_ms()[20..].iter().all(|at| *at == 20), "{:?}", service.called_ms());
}

#[tokio::test(start_paused = true)]
async fn clones_share_what_they_learned_and_origins_do_not() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| (200, spent(5)));
    let (first, pacer) = (layer(&runtime), Pacer::new());
    let (first, second) = (first.clone().with_pacer(pacer.clone()), first.with_pacer(pacer));
    call_at_once(&first, &service, &[API]).await;
    call_at_once(&second, &service, &["http://other.example", "http://api.example:81"]).await;
    call_at_once(&second, &service, &[API]).await;
    assert_eq!(service.called_ms(), [0, 10, 10, 5_010]);
}

#[tokio::test(start_paused = true)]
async fn a_long_probe_holds_back_the_others_for_a_second_at_most() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| (200, Vec::new()));
    let layer = layer(&runtime);
    let slow = layer.layer(SlowService);
    let mut slow = slow.clone();
    let probe = tokio::spawn(async move { slow.call(get(API)).await });
    tokio::task::yield_now().await;
    call_at_once(&layer, &service, &[API]).await;
    assert_eq!(service.called_ms(), [1_000]);
    probe.abort();
}

/// Never answers.
#[derive(Clone)]
struct SlowService;

impl Service<Request<()>> for SlowService {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = std::future::Pending<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::pending()
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_lets_the_next_request_probe() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| (200, Vec::new()));
    let layer = layer(&runtime);
    let mut slow = layer.layer(SlowService);
    let cancelled = tokio::time::timeout(Duration::from_millis(30), slow.call(get(API)));
    let (cancelled, ()) = tokio::join!(cancelled, call_at_once(&layer, &service, &[API]));
    assert!(cancelled.is_err());
    assert_eq!(service.called_ms(), [30]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_while_it_waits_takes_nothing() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| {
        let lines = [("ratelimit-policy", "\"rate\";q=10;w=10"), ("ratelimit", "\"rate\";r=0;t=1")];
        (200, lines.map(|(name, value)| (name, value.to_owned())).to_vec())
    });
    let layer = layer(&runtime);
    call_at_once(&layer, &service, &[API]).await;
    for _ in 0..5 {
        let mut client = layer.layer(service.clone());
        let waiting = tokio::time::timeout(Duration::from_millis(50), client.call(get(API)));
        assert!(waiting.await.is_err());
    }
    // The next token comes one second after the response at 10 ms, however many requests were cancelled.
    call_at_once(&layer, &service, &[API]).await;
    assert_eq!(service.called_ms(), [0, 1_010]);
}

#[tokio::test(start_paused = true)]
async fn a_step_of_the_wall_clock_does_not_move_a_wait() {
    let runtime = SteppedRuntime::new();
    let reset = || vec![("x-ratelimit-remaining", "0".into()), ("x-ratelimit-reset", "1800000007".into())];
    let service = Scripted::new(&runtime, move |_| (200, reset()));
    let layer = layer(&runtime);
    call_at_once(&layer, &service, &[API]).await;
    *runtime.wall.lock().unwrap() -= Duration::from_secs(86_400);
    call_at_once(&layer, &service, &[API]).await;
    assert_eq!(service.called_ms(), [0, 7_010]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_longer_than_the_patience_is_not_begun() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| (200, spent(61)));
    let layer = layer(&runtime);
    call_at_once(&layer, &service, &[API]).await;
    call_at_once(&layer, &service, &[API]).await;
    assert_eq!(service.called_ms(), [0, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_spent_quota_is_final_and_holds_back_nothing() {
    let runtime = SteppedRuntime::new();
    let headers = || {
        let lines = [("retry-after", "5"), ("ratelimit", "\"quota\";r=0;t=5"), ("x-quota-remaining", "0")];
        lines.map(|(name, value)| (name, value.to_owned())).to_vec()
    };
    let service = Scripted::new(&runtime, move |_| (402, headers()));
    let mut client = layer(&runtime).layer(service.clone());
    for _ in 0..3 {
        let response = client.call(get(API)).await.unwrap();
        let gave_up = response.extensions().get::<sluicegate_client::GaveUp>().unwrap();
        assert_eq!(gave_up.reason, Reason::Final(response.status()));
    }
    assert_eq!(service.called_ms(), [0, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_holds_back_all_requests_of_the_origin() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |call| match call {
        0 => (429, vec![("retry-after", "3".to_owned())]),
        _ => (200, Vec::new()),
    });
    call_at_once(&layer(&runtime), &service, &[API; 3]).await;
    // One probe after the wait, then the rest.
    assert_eq!(service.called_ms(), [0, 3_010, 3_020, 3_020]);
}

/// A fixed window of two requests in ten seconds. Every fourth request is not limited, and its response has no headers.
fn sparsely_reported_window(runtime: &SteppedRuntime, refused: &Arc<AtomicU64>) -> Scripted {
    let (clock, refused, state) = (runtime.clone(), Arc::clone(refused), Mutex::new((0, 0)));
    Scripted::new(runtime, move |call| {
        if call % 4 == 0 {
            return (200, Vec::new());
        }
        let (mut state, now_ms) = (state.lock().unwrap(), clock.elapsed_ms());
        let (window, used) = *state;
        *state = if now_ms / 10_000 == window { (window, used + 1) } else { (now_ms / 10_000, 1) };
        let reset = (10_000 - now_ms % 10_000).div_ceil(1_000).to_string();
        let remaining = 2_u64.saturating_sub(state.1).to_string();
        let mut headers = vec![("x-ratelimit-limit", "2".to_owned()), ("x-ratelimit-remaining", remaining)];
        headers.push(("x-ratelimit-reset", reset));
        refused.fetch_add(u64::from(state.1 > 2), Ordering::Relaxed);
        (if state.1 > 2 { 429 } else { 200 }, headers)
    })
}

#[tokio::test(start_paused = true)]
async fn a_window_that_some_responses_do_not_report_refuses_two_probes_in_all() {
    let (runtime, refused) = (SteppedRuntime::new(), Arc::default());
    let service = sparsely_reported_window(&runtime, &refused);
    let layer = layer(&runtime);
    for _ in 0..100 {
        call_at_once(&layer, &service, &[API]).await;
    }
    assert!(refused.load(Ordering::Relaxed) <= 2, "{refused:?} in {} ms", runtime.elapsed_ms());
}

#[tokio::test(start_paused = true)]
async fn thousands_of_origins_are_paced_and_only_some_are_remembered() {
    let runtime = SteppedRuntime::new();
    let service = Scripted::new(&runtime, |_| (200, spent(5)));
    let pacer = Pacer::new();
    let layer = layer(&runtime).with_pacer(pacer.clone());
    let origins: Vec<String> = (0..2_000).map(|number| format!("http://host{number}.example")).collect();
    let origins: Vec<&str> = origins.iter().map(String::as_str).collect();
    call_at_once(&layer, &service, &origins).await;
    assert_eq!(service.called_ms().len(), 2_000);
    assert_eq!(format!("{pacer:?}"), "Pacer { origins: 256, .. }");
}

const NAMES: [&str; 9] = [
    "retry-after",
    "date",
    "ratelimit-policy",
    "ratelimit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

fn any_headers() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let value =
        prop_oneof!["[ -~]{0,20}", "[0-9]{0,25}", "(\"[a-c]{0,1}\"(;[qwrt]=-?[0-9]{0,15}){0,4},? ?){0,4}",];
    prop::collection::vec((prop::sample::select(NAMES.to_vec()), value), 0..6)
}

proptest! {
    #[test]
    fn no_headers_make_a_call_panic_or_hang(replies in prop::collection::vec(any_headers(), 1..6)) {
        in_simulated_time(async {
            let runtime = SteppedRuntime::new();
            let calls = replies.len();
            let service = Scripted::new(&runtime, move |call| (200, replies[call % replies.len()].clone()));
            let layer = layer(&runtime);
            for _ in 0..calls {
                call_at_once(&layer, &service, &[API; 4]).await;
            }
            assert_eq!(service.called_ms().len(), calls * 4);
            // Each of them waits for no longer than the patience of a minute.
            assert!(runtime.elapsed_ms() <= (calls as u128 * 4) * 60_100);
        });
    }
}
