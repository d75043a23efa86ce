//! throttlecrab: one GCRA limit per key in its periodic store behind one mutex, as its server shares it.

use crate::callers::Callers;
use crate::contestant::Contestant;
use anyhow::Result;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use throttlecrab::{PeriodicStore, RateLimiter};

const BURST: i64 = u32::MAX as i64;
const COUNT_PER_PERIOD: i64 = 1_000_000;
const PERIOD_S: i64 = 1;

/// Longer than a run: a sweep over all callers would be charged to whichever lap it fell into.
const SWEEP_INTERVAL: Duration = Duration::from_secs(86_400);

/// One limit, whose parameters are given with each check.
pub(crate) struct Throttlecrab(Mutex<RateLimiter<PeriodicStore>>);

impl Contestant for Throttlecrab {
    const NAME: &'static str = "throttlecrab";

    type Now = SystemTime;

    type Lane = ();

    fn build(callers: Callers) -> Result<Self> {
        let store =
            PeriodicStore::builder().capacity(callers.as_usize()).cleanup_interval(SWEEP_INTERVAL).build();
        Ok(Self(Mutex::new(RateLimiter::new(store))))
    }

    fn lane(&self) {}

    fn admit(&self, _lane: &mut (), key: &str, now: SystemTime) -> bool {
        let mut limiter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        limiter.rate_limit(key, BURST, COUNT_PER_PERIOD, PERIOD_S, 1, now).is_ok_and(|(admitted, _)| admitted)
    }
}
