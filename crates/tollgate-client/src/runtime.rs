//! What retrying takes from outside: the time, sleep, and random numbers. Tests bring their own.

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

/// The time, sleep, and random numbers.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// What the clock on the wall says.
    fn now(&self) -> SystemTime;

    /// Any number is as likely as any other.
    fn random(&self) -> u64;

    /// Ends after this long.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

/// The system's clock, tokio's timers, and random numbers that the standard library draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn now(&self) -> SystemTime {
        #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads a clock")]
        SystemTime::now()
    }

    fn random(&self) -> u64 {
        // Keyed at random, and with another key each time: enough to spread callers, and no dependency.
        RandomState::new().hash_one(0_u8)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
