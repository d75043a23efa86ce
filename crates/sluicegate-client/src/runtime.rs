//! What retries need from outside: clocks, timers and random numbers. Tests bring their own.

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// Clocks, timers and random numbers.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// The wall clock. It is only compared with dates in headers and may step.
    fn now(&self) -> SystemTime;

    /// A clock that never goes back, from any origin. Deadlines, budgets and pacing are measured with it.
    fn monotonic(&self) -> Duration;

    /// A uniformly distributed number.
    fn random(&self) -> u64;

    /// Completes after this long, by the monotonic clock.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

/// The system's wall clock, tokio's clock and timers, and random numbers of the standard library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn now(&self) -> SystemTime {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place of this crate that reads the wall clock"
        )]
        SystemTime::now()
    }

    fn monotonic(&self) -> Duration {
        // One origin for all clones, so that shared budgets and pacers compare equal clocks.
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        // tokio's clock, so that `tokio::time::pause` stops this one too.
        let now = Instant::now();
        now.saturating_duration_since(*ORIGIN.get_or_init(|| now))
    }

    fn random(&self) -> u64 {
        // Each `RandomState` has another key. That is random enough for jitter and needs no dependency.
        RandomState::new().hash_one(0_u8)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
