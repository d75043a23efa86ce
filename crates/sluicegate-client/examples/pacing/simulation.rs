//! A rate-limited server and its callers in simulated time: tokio's clock stands still while a task can run, and jumps
//! to the next timer when none can. A run is deterministic and takes milliseconds.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use sluicegate_client::{RetryLayer, Runtime};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_layer::Layer as _;
use tower_service::Service;

/// When simulations start, in seconds since 1970.
const START_UNIX: u64 = 1_800_000_000;

/// Runs a simulation on a clock that is paused from the start, so that no real time leaks into it.
pub(crate) fn in_simulated_time<R>(simulation: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O can always be built").block_on(simulation)
}

/// tokio's paused clock, and random numbers from a seed.
#[derive(Clone)]
pub(crate) struct SimulatedRuntime {
    start: Instant,
    random: Arc<AtomicU64>,
}

impl SimulatedRuntime {
    /// A clock that starts now.
    pub(crate) fn new(seed: u64) -> Self {
        Self { start: Instant::now(), random: Arc::new(AtomicU64::new(seed)) }
    }
}

impl Runtime for SimulatedRuntime {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + since_1970(self.start.elapsed())
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn random(&self) -> u64 {
        // SplitMix64.
        let state = self.random.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// How the server limits requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    /// The capacity at once, refilled evenly over the window.
    TokenBucket,
    /// The capacity in each window.
    FixedWindow,
}

/// Which headers the server sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Headers {
    /// `RateLimit` and `RateLimit-Policy`.
    Structured,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    XRateLimit,
    /// The same with the reset as seconds since 1970, and `Date`.
    XRateLimitUnix,
    /// Only `Retry-After`, on refusals.
    RetryAfter,
}

/// A server that limits requests. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) algorithm: Algorithm,
    pub(crate) headers: Headers,
    pub(crate) capacity: u32,
    pub(crate) window: Duration,
    /// A request and its response take this long each, plus up to as much again.
    pub(crate) latency: Duration,
    pub(crate) runtime: SimulatedRuntime,
    pub(crate) state: Arc<Mutex<ServerState>>,
}

/// What a server has counted.
#[derive(Default)]
pub(crate) struct ServerState {
    /// Token bucket: when it is full again. Fixed window: when the window began.
    instant: Duration,
    used: u32,
    refused: u64,
}

/// What the server found when it counted a request.
struct Count {
    at: Duration,
    is_admitted: bool,
    remaining: u32,
    /// How long until there is more.
    next: Duration,
    /// How long until everything is free.
    reset: Duration,
}

impl Server {
    fn count(&self, now: Duration) -> Count {
        let mut state = self.state.lock().expect("no task panics with this lock");
        let count = match self.algorithm {
            Algorithm::TokenBucket => self.count_in_bucket(&mut state, now),
            Algorithm::FixedWindow => self.count_in_window(&mut state, now),
        };
        state.refused += u64::from(!count.is_admitted);
        count
    }

    fn count_in_bucket(&self, state: &mut ServerState, now: Duration) -> Count {
        let interval = self.window / self.capacity;
        let full_at = state.instant.max(now);
        let is_admitted = full_at + interval <= now + self.window;
        state.instant = if is_admitted { full_at + interval } else { full_at };
        let room = (now + self.window).saturating_sub(state.instant);
        let remaining = u32::try_from(room.as_nanos() / interval.as_nanos()).expect("at most the capacity");
        let next = interval * (remaining + 1).min(self.capacity) - room.min(interval * self.capacity);
        Count { at: now, is_admitted, remaining, next, reset: state.instant.saturating_sub(now) }
    }

    fn count_in_window(&self, state: &mut ServerState, now: Duration) -> Count {
        if now >= state.instant + self.window {
            let windows = (now - state.instant).as_nanos() / self.window.as_nanos();
            state.instant += self.window * u32::try_from(windows).expect("a short run");
            state.used = 0;
        }
        let is_admitted = state.used < self.capacity;
        state.used += u32::from(is_admitted);
        let reset = state.instant + self.window - now;
        Count { at: now, is_admitted, remaining: self.capacity - state.used, next: reset, reset }
    }

    fn respond(&self, count: &Count) -> Response<()> {
        let mut response = Response::builder().status(if count.is_admitted { 200 } else { 429 });
        if !count.is_admitted {
            response = response.header("Retry-After", seconds(count.next));
        }
        response = match self.headers {
            Headers::RetryAfter => response,
            Headers::Structured => response
                .header(
                    "RateLimit-Policy",
                    format!("\"rate\";q={};w={}", self.capacity, seconds(self.window)),
                )
                .header("RateLimit", format!("\"rate\";r={};t={}", count.remaining, seconds(count.next))),
            Headers::XRateLimit => response
                .header("X-RateLimit-Limit", self.capacity)
                .header("X-RateLimit-Remaining", count.remaining)
                .header("X-RateLimit-Reset", seconds(count.reset)),
            Headers::XRateLimitUnix => response
                .header("X-RateLimit-Limit", self.capacity)
                .header("X-RateLimit-Remaining", count.remaining)
                .header("X-RateLimit-Reset", seconds(since_1970(count.at) + count.reset))
                .header("Date", httpdate::fmt_http_date(std::time::UNIX_EPOCH + since_1970(count.at))),
        };
        response.body(()).expect("these headers are valid")
    }

    fn one_way(&self) -> Duration {
        let micros = u64::try_from(self.latency.as_micros()).unwrap_or(u64::MAX).max(1);
        self.latency + Duration::from_micros(self.runtime.random() % micros)
    }
}

fn since_1970(simulated: Duration) -> Duration {
    Duration::from_secs(START_UNIX) + simulated
}

/// Whole seconds, rounded up, as headers have them.
fn seconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}

impl Service<Request<()>> for Server {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<()>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            server.runtime.sleep(server.one_way()).await;
            let count = server.count(server.runtime.monotonic());
            server.runtime.sleep(server.one_way()).await;
            Ok(server.respond(&count))
        })
    }
}

/// What came of a run.
pub(crate) struct Report {
    /// Calls that ended with a success.
    pub(crate) succeeded: u64,
    /// Requests that the server refused.
    pub(crate) refused: u64,
    pub(crate) finished_after: Duration,
    /// How long each call took, in order.
    pub(crate) waits: Vec<Duration>,
}

impl Report {
    /// The time that this share of the calls did not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let index = (self.waits.len() * percent).div_ceil(100).saturating_sub(1);
        self.waits.get(index).copied().unwrap_or_default()
    }
}

/// Has `callers` tasks share `calls` calls, each task one after the other.
pub(crate) async fn run(
    server: &Server,
    layer: &RetryLayer<SimulatedRuntime>,
    callers: u64,
    calls: u64,
) -> Report {
    let left = Arc::new(AtomicU64::new(calls));
    let start = server.runtime.monotonic();
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        let (mut client, left) = (layer.layer(server.clone()), Arc::clone(&left));
        let runtime = server.runtime.clone();
        tasks.spawn(async move {
            let mut ended = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                let begun = runtime.monotonic();
                let request = Request::get("http://api.example/").body(()).expect("a valid request");
                let is_success = client.call(request).await.is_ok_and(|response| response.status() == 200);
                ended.push((is_success, runtime.monotonic() - begun));
            }
            ended
        });
    }
    let ended: Vec<(bool, Duration)> = tasks.join_all().await.into_iter().flatten().collect();
    let mut waits: Vec<Duration> = ended.iter().map(|(_, wait)| *wait).collect();
    waits.sort_unstable();
    let succeeded = ended.iter().filter(|(is_success, _)| *is_success).count();
    Report {
        succeeded: u64::try_from(succeeded).unwrap_or(u64::MAX),
        refused: server.state.lock().expect("no task panics with this lock").refused,
        finished_after: server.runtime.monotonic() - start,
        waits,
    }
}
