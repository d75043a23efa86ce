//! When to retry: a pure function of the failed attempt and a random number. It reads no clock and does not sleep.

use std::num::NonZeroU32;
use std::time::Duration;

use http::StatusCode;

use crate::attempt::{AttemptOutcome, FailedAttempt, Idempotency};
use crate::error_kind::ErrorKind;
use crate::gave_up::Reason;

/// How long to wait between attempts and when to give up.
///
/// The default waits 100 ms after the first failure and doubles that after each further one, ±10 % of jitter, up to
/// 30 s. It gives up after five failures, or at once if the server says to wait longer than a minute. It has no
/// deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    base: Duration,
    cap: Duration,
    failures_max: NonZeroU32,
    patience: Duration,
    deadline: Option<Duration>,
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetryDecision {
    /// Wait this long, then send the request again.
    RetryAfter(Duration),
    /// Do not send it again.
    GiveUp(Reason),
}

/// Jitter is one part in this many of a wait.
const JITTER_PART: u32 = 10;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(100),
            cap: Duration::from_secs(30),
            failures_max: NonZeroU32::MIN.saturating_add(4),
            // Most rate limits have windows of a minute or less, so after it there is room again.
            patience: Duration::from_secs(60),
            deadline: None,
        }
    }
}

impl RetryPolicy {
    /// Sets the wait after the first failure. The default is 100 ms.
    #[must_use]
    pub fn with_base(self, base: Duration) -> Self {
        Self { base, ..self }
    }

    /// Sets the longest wait of the backoff. The default is 30 s. A server that says to wait longer is still obeyed.
    #[must_use]
    pub fn with_cap(self, cap: Duration) -> Self {
        Self { cap, ..self }
    }

    /// Gives up after this many failures. The default is 5; with 1, nothing is retried.
    #[must_use]
    pub fn with_failures_max(self, failures_max: NonZeroU32) -> Self {
        Self { failures_max, ..self }
    }

    /// Gives up at once if the server says to wait longer than this. The default is 60 s. A [`Pacer`](crate::Pacer)
    /// does not hold a request back for longer either.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Limits the whole call, all attempts and waits included, until the headers of the response have arrived.
    ///
    /// A wait that would end after the deadline is not begun: the call ends at once with [`Reason::Deadline`]. An
    /// attempt that is still running at the deadline is cancelled: the call fails with
    /// [`DeadlineExceeded`](crate::DeadlineExceeded).
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// What to do after so many failures in a row, of which `attempt` is the last one.
    ///
    /// `random` chooses the jitter: 0 is the shortest wait, [`u64::MAX`] the longest.
    pub fn decide(&self, failures: NonZeroU32, attempt: &FailedAttempt, random: u64) -> RetryDecision {
        if let Some(reason) = permanent_failure(attempt) {
            return RetryDecision::GiveUp(reason);
        }
        if let Some(wait) = attempt.server_wait
            && wait > self.patience
        {
            return RetryDecision::GiveUp(Reason::TooLong { wait, until: attempt.now.checked_add(wait) });
        }
        if failures >= self.failures_max {
            return RetryDecision::GiveUp(Reason::Failures(failures));
        }
        let wait = self.wait(failures, attempt.server_wait, random);
        match self.deadline {
            Some(deadline) if attempt.elapsed.saturating_add(wait) >= deadline => {
                RetryDecision::GiveUp(Reason::Deadline { wait, deadline })
            }
            _ => RetryDecision::RetryAfter(wait),
        }
    }

    fn wait(&self, failures: NonZeroU32, server_wait: Option<Duration>, random: u64) -> Duration {
        let doublings = failures.get().saturating_sub(1).min(31);
        // Capped before the jitter and after it, so that callers stay apart at the cap too.
        let step = self.base.saturating_mul(1 << doublings).min(self.cap);
        let jitter = step / JITTER_PART;
        let backoff = (step - jitter).saturating_add(fraction(jitter * 2, random)).min(self.cap);
        match server_wait {
            // Callers that were given the same time must not return together. Later is allowed, earlier is not.
            Some(server_wait) => backoff.max(server_wait.saturating_add(fraction(jitter, random))),
            None => backoff,
        }
    }
}

/// Why a retry cannot help, however many attempts are left.
fn permanent_failure(attempt: &FailedAttempt) -> Option<Reason> {
    match attempt.outcome {
        AttemptOutcome::Error(ErrorKind::ConnectionLost) => return Some(Reason::ConnectionLost),
        AttemptOutcome::Error(ErrorKind::Connect) => {}
        AttemptOutcome::Response(status) => match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {}
            // A server that is down for long also answers 503; one that expects a retry says when.
            StatusCode::SERVICE_UNAVAILABLE if attempt.server_wait.is_some() => {}
            _ => return Some(Reason::Final(status)),
        },
    }
    (attempt.idempotency == Idempotency::NotIdempotent).then_some(Reason::NotIdempotent)
}

/// `of * random / u64::MAX`.
fn fraction(of: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(of.as_nanos()).unwrap_or(u64::MAX);
    let part = u128::from(nanos) * u128::from(random) / u128::from(u64::MAX);
    Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
}
