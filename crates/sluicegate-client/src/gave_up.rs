//! Why a call was not retried.

use std::fmt;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use http::StatusCode;

/// Why a request is not sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// A retry does not change this response: a spent quota (402), a wrong key, an invalid request.
    Final(StatusCode),
    /// The method is not idempotent and the request has no `Idempotency-Key`, or its body is a stream that cannot be
    /// sent twice.
    NotIdempotent,
    /// The connection failed after the request may have been sent, so the server may have processed it.
    ConnectionLost,
    /// The server says to wait longer than the policy's patience.
    TooLong {
        /// How long the server says to wait.
        wait: Duration,
        /// When that is over; `None` if no clock goes that far.
        until: Option<SystemTime>,
    },
    /// It failed this often in a row.
    Failures(NonZeroU32),
    /// The wait before the next attempt would end after the deadline.
    Deadline {
        /// How long the wait would be.
        wait: Duration,
        /// The deadline of the whole call.
        deadline: Duration,
    },
    /// The [`RetryBudget`](crate::RetryBudget) has no retry left.
    BudgetSpent,
}

/// Why the client gave up on a request. It is in the extensions of a failed response, and in
/// [`RetryError::Failed`](crate::RetryError::Failed).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GaveUp {
    /// Why the request is not sent again.
    pub reason: Reason,
    /// How often it was sent.
    pub tries: NonZeroU32,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final(status) => write!(f, "a retry does not change {status}"),
            Self::NotIdempotent => {
                write!(f, "the request must not be sent twice without an Idempotency-Key")
            }
            Self::ConnectionLost => write!(f, "the server may have processed the request"),
            Self::TooLong { wait, .. } => {
                write!(f, "the server says to wait {} seconds, which is too long", wait.as_secs())
            }
            Self::Failures(failures) => write!(f, "failed {failures} times in a row"),
            Self::Deadline { wait, deadline } => write!(
                f,
                "a wait of {} ms would pass the deadline of {} ms",
                wait.as_millis(),
                deadline.as_millis()
            ),
            Self::BudgetSpent => write!(f, "the retry budget is spent"),
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tries = self.tries;
        write!(f, "gave up after {tries} {}: {}", if tries.get() == 1 { "try" } else { "tries" }, self.reason)
    }
}
