//! A failed attempt: everything that the retry policy looks at.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, StatusCode};

use crate::error_kind::ErrorKind;
use crate::limits::Limits;

/// A failed attempt, as [`RetryPolicy::decide`](crate::RetryPolicy::decide) sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// How it failed.
    pub outcome: AttemptOutcome,
    /// Whether the request may be sent more than once.
    pub idempotency: Idempotency,
    /// How long the server says to wait, if it does.
    pub server_wait: Option<Duration>,
    /// The wall clock when the attempt failed.
    pub now: SystemTime,
    /// How long the call has been running, all attempts and waits included.
    pub elapsed: Duration,
}

/// How an attempt failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// The server answered with this status.
    Response(StatusCode),
    /// There is no response.
    Error(ErrorKind),
}

/// Whether a request may be sent more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idempotency {
    /// Sending it twice has the effect of sending it once.
    Idempotent,
    /// Sending it twice may have a second effect.
    NotIdempotent,
}

/// The header with which a server recognizes a repeated request.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

impl Idempotency {
    /// Idempotent are GET, HEAD, OPTIONS, TRACE, PUT and DELETE, and every request with an `Idempotency-Key`.
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        let has_key = headers.get(IDEMPOTENCY_KEY).is_some_and(|key| !key.is_empty());
        if method.is_idempotent() || has_key { Self::Idempotent } else { Self::NotIdempotent }
    }
}

impl FailedAttempt {
    /// An attempt that the server answered with a failure.
    pub fn response(
        idempotency: Idempotency,
        status: StatusCode,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Self {
        let server_wait = Limits::from_headers(headers).wait(now);
        let outcome = AttemptOutcome::Response(status);
        Self { outcome, idempotency, server_wait, now, elapsed: Duration::ZERO }
    }

    /// An attempt without a response.
    pub fn error(idempotency: Idempotency, kind: ErrorKind, now: SystemTime) -> Self {
        let outcome = AttemptOutcome::Error(kind);
        Self { outcome, idempotency, server_wait: None, now, elapsed: Duration::ZERO }
    }

    /// Sets how long the call has been running. The deadline of the policy is compared with it.
    #[must_use]
    pub fn with_elapsed(self, elapsed: Duration) -> Self {
        Self { elapsed, ..self }
    }
}
