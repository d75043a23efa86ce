//! What is known of a request that failed: all that the policy looks at.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, StatusCode};

use crate::limits::Limits;

/// What is known of a request that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// How it failed.
    pub outcome: Outcome,
    /// Whether it may be sent once more.
    pub repeatable: Repeatable,
    /// How long the server says to wait, if it does.
    pub server_wait: Option<Duration>,
    /// When that was.
    pub now: SystemTime,
}

/// How a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// With this answer.
    Answered(StatusCode),
    /// There was no connection: the server has not seen it.
    Unreachable,
    /// The connection failed later. The server may have seen it.
    Broken,
}

/// Whether a request may be sent once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeatable {
    /// Done twice it is as if done once.
    Yes,
    /// It may do something twice.
    No,
}

/// The header with the name of a request. A server that knows it carries out one name once.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

impl Repeatable {
    /// Yes for the idempotent methods (GET, HEAD, OPTIONS, TRACE, PUT, DELETE) and for a request with an
    /// `Idempotency-Key`.
    pub fn of(method: &Method, headers: &HeaderMap) -> Self {
        let is_named = headers.get(IDEMPOTENCY_KEY).is_some_and(|name| !name.is_empty());
        if method.is_idempotent() || is_named { Self::Yes } else { Self::No }
    }
}

impl Facts {
    /// Of a request that was answered.
    pub fn answered(
        repeatable: Repeatable,
        status: StatusCode,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Self {
        let server_wait = Limits::from_headers(headers).wait(now);
        Self { outcome: Outcome::Answered(status), repeatable, server_wait, now }
    }

    /// Of a request that could not be sent.
    pub fn unreachable(repeatable: Repeatable, now: SystemTime) -> Self {
        Self { outcome: Outcome::Unreachable, repeatable, server_wait: None, now }
    }

    /// Of a request that was sent, or may have been, and has no answer.
    pub fn broken(repeatable: Repeatable, now: SystemTime) -> Self {
        Self { outcome: Outcome::Broken, repeatable, server_wait: None, now }
    }
}
