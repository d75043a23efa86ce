//! Limits retries to a share of the requests, so that retries do not multiply the load on a server that is failing.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many seconds of requests and retries are counted.
const WINDOW_SECONDS: u64 = SLOTS as u64;

/// One for each second of the window.
const SLOTS: usize = 10;

/// A budget of retries. Clones share it: give one to all clients that call the same server.
///
/// Over the last ten seconds there are at most `percent` % as many retries as first attempts, plus `floor_per_second`
/// for each of the ten seconds. The floor lets a client with little traffic retry at all. A request that finds the
/// budget spent is not retried: [`Reason::BudgetSpent`](crate::Reason::BudgetSpent).
///
/// ```
/// use std::time::Duration;
/// use sluicegate_client::RetryBudget;
///
/// let budget = RetryBudget::new(10, 0);
/// let now = Duration::ZERO;
/// (0..20).for_each(|_| budget.record_request(now));
/// // 10 % of 20 requests are two retries.
/// assert!(budget.try_retry(now) && budget.try_retry(now) && !budget.try_retry(now));
/// ```
#[derive(Clone)]
pub struct RetryBudget {
    percent: u32,
    floor_per_second: u32,
    seconds: Arc<Mutex<[Second; SLOTS]>>,
}

/// What was counted in one second of the monotonic clock.
#[derive(Clone, Copy, Default)]
struct Second {
    number: u64,
    requests: u64,
    retries: u64,
}

impl Default for RetryBudget {
    /// 10 % of the requests, and one retry per second.
    fn default() -> Self {
        Self::new(10, 1)
    }
}

impl RetryBudget {
    /// Allows retries for `percent` % of the requests, and `floor_per_second` in any case.
    pub fn new(percent: u32, floor_per_second: u32) -> Self {
        Self { percent, floor_per_second, seconds: Arc::default() }
    }

    /// Counts the first attempt of a request. `now` is a monotonic clock.
    pub fn record_request(&self, now: Duration) {
        self.with_window(now, |seconds, index| {
            seconds[index].requests = seconds[index].requests.saturating_add(1);
        });
    }

    /// Takes a retry from the budget. Returns whether there was one. `now` is a monotonic clock.
    pub fn try_retry(&self, now: Duration) -> bool {
        self.with_window(now, |seconds, index| {
            let counted = || seconds.iter().filter(|second| is_recent(second, now));
            let requests = counted().map(|second| second.requests).fold(0, u64::saturating_add);
            let retries = counted().map(|second| second.retries).fold(0, u64::saturating_add);
            let share = requests.saturating_mul(self.percent.into()) / 100;
            let allowed = share.saturating_add(u64::from(self.floor_per_second) * WINDOW_SECONDS);
            let has_retry = retries < allowed;
            seconds[index].retries += u64::from(has_retry);
            has_retry
        })
    }

    /// Runs `use_window` on the seconds, with the index of the current one.
    fn with_window<R>(&self, now: Duration, use_window: impl FnOnce(&mut [Second], usize) -> R) -> R {
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let number = now.as_secs();
        let index = usize::try_from(number % WINDOW_SECONDS).unwrap_or_default();
        if seconds[index].number != number {
            seconds[index] = Second { number, ..Second::default() };
        }
        use_window(&mut *seconds, index)
    }
}

fn is_recent(second: &Second, now: Duration) -> bool {
    now.as_secs().abs_diff(second.number) < WINDOW_SECONDS
}

impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryBudget")
            .field("percent", &self.percent)
            .field("floor_per_second", &self.floor_per_second)
            .finish_non_exhaustive()
    }
}
