//! When to try again: a function of what happened and of a random number. It reads no clock and waits for nothing.

use std::fmt;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use http::StatusCode;

use crate::facts::{Facts, Outcome, Repeatable};

/// How long and how often to try again.
///
/// By default: 100 ms after the first failure, twice as long after each further one, ±10 %, at most 30 s; given up
/// after five failures in a row, or at once where the server says to wait for more than a minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    base: Duration,
    cap: Duration,
    failures_max: NonZeroU32,
    patience: Duration,
}

/// What to do after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Wait this long, then try again.
    Wait(Duration),
    /// Do not try again.
    GiveUp(Reason),
}

/// Why a request is not tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The answer is one that trying again does not change: a spent quota (402), a wrong key, a request that is
    /// invalid.
    Final(StatusCode),
    /// The request may have been carried out, and it is neither idempotent by its method nor has it an
    /// `Idempotency-Key`.
    Unrepeatable,
    /// The connection failed in a way of which it is not known whether the request was carried out.
    Broken,
    /// The server says to wait for longer than the policy has patience.
    TooLong {
        /// How long the server says to wait.
        wait: Duration,
        /// When that is over; nothing if no clock goes that far.
        until: Option<SystemTime>,
    },
    /// It failed this often in a row.
    Failures(NonZeroU32),
}

/// Stands in the extensions of an answer that was a failure and is not tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GaveUp {
    /// Why.
    pub reason: Reason,
    /// How often the request was tried.
    pub tries: NonZeroU32,
}

/// The part of a wait by which it may be longer or shorter.
const JITTER_PART: u32 = 10;

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(100),
            cap: Duration::from_secs(30),
            failures_max: NonZeroU32::MIN.saturating_add(4),
            // The longest window of a rate that is usual: after it there is room again.
            patience: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Waits this long after the first failure.
    #[must_use]
    pub fn with_base(self, base: Duration) -> Self {
        Self { base, ..self }
    }

    /// Never waits longer than this by itself. A server that says to wait longer is obeyed all the same.
    #[must_use]
    pub fn with_cap(self, cap: Duration) -> Self {
        Self { cap, ..self }
    }

    /// Gives up after this many failures in a row. With 1, nothing is tried again.
    #[must_use]
    pub fn with_failures_max(self, failures_max: NonZeroU32) -> Self {
        Self { failures_max, ..self }
    }

    /// Gives up at once where the server says to wait for longer than this.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What to do after so many failures in a row, of which `facts` are about the last one.
    ///
    /// `random` says where in its range the wait lies: 0 at the lower end, [`u64::MAX`] at the upper one.
    pub fn decide(&self, failures: NonZeroU32, facts: &Facts, random: u64) -> Next {
        if let Some(reason) = hopeless(facts) {
            return Next::GiveUp(reason);
        }
        if let Some(wait) = facts.server_wait
            && wait > self.patience
        {
            return Next::GiveUp(Reason::TooLong { wait, until: facts.now.checked_add(wait) });
        }
        if failures >= self.failures_max {
            return Next::GiveUp(Reason::Failures(failures));
        }
        Next::Wait(self.wait(failures, facts.server_wait, random))
    }

    fn wait(&self, failures: NonZeroU32, server_wait: Option<Duration>, random: u64) -> Duration {
        let doublings = failures.get().saturating_sub(1).min(31);
        // Capped before the jitter and after it: at the cap, too, callers should not come at the same time.
        let step = self.base.saturating_mul(1 << doublings).min(self.cap);
        let jitter = step / JITTER_PART;
        let own = (step - jitter).saturating_add(share(jitter * 2, random)).min(self.cap);
        match server_wait {
            // All who were told the same would come back in the same instant. Later is allowed, earlier is not.
            Some(told) => own.max(told.saturating_add(share(jitter, random))),
            None => own,
        }
    }
}

/// Why trying again cannot help, whatever the count.
fn hopeless(facts: &Facts) -> Option<Reason> {
    let is_temporary = match facts.outcome {
        Outcome::Unreachable => true,
        Outcome::Broken => return Some(Reason::Broken),
        Outcome::Answered(status) => match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => true,
            // A server that is down for long says 503 as well; one that expects us again says when.
            StatusCode::SERVICE_UNAVAILABLE => facts.server_wait.is_some(),
            _ => false,
        },
    };
    match (is_temporary, facts.outcome, facts.repeatable) {
        (false, Outcome::Answered(status), _) => Some(Reason::Final(status)),
        (_, _, Repeatable::No) => Some(Reason::Unrepeatable),
        _ => None,
    }
}

/// `random / u64::MAX` of it.
fn share(of: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(of.as_nanos()).unwrap_or(u64::MAX);
    let part = u128::from(nanos) * u128::from(random) / u128::from(u64::MAX);
    Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final(status) => write!(f, "{status} is not mended by trying again"),
            Self::Unrepeatable => write!(
                f,
                "the request has no Idempotency-Key and a method that must not be repeated without one"
            ),
            Self::Broken => write!(f, "it is not known whether the request was carried out"),
            Self::TooLong { wait, .. } => {
                write!(f, "the server says to wait for {} seconds, which is too long", wait.as_secs())
            }
            Self::Failures(failures) => write!(f, "failed {failures} times in a row"),
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "given up: {}", self.reason)
    }
}
