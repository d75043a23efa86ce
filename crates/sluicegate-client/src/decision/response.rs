//! The responses of the decision API.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::limits::Mode;

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the request is admitted.
    pub allowed: bool,
    /// The HTTP status to answer the caller with if it is not.
    pub status: StatusCode,
    /// The error code if it is not admitted: `rate_limited`, `quota_exceeded`, `invalid_key`.
    pub error: Option<String>,
    /// The id of the decision in logs and for `sluicegate explain`.
    pub decision_id: String,
    /// The caller's tier.
    pub tier: Option<String>,
    /// The caller's account.
    pub account: Option<String>,
    /// How long to wait before a retry, in milliseconds; 0 if waiting does not help.
    pub retry_after_ms: u64,
    /// The limit that refuses the request, if one does.
    pub limit: Option<String>,
    /// The state of the caller's limits.
    pub limits: Vec<LimitStatus>,
    /// The permit to finish, if something is held until the request ends.
    pub permit: Option<Permit>,
    /// How long the permit lives if it is neither finished nor renewed, in milliseconds.
    pub permit_expires_ms: Option<u64>,
    /// Whether the store of record was reachable.
    pub mode: Mode,
    /// The headers to send to the caller.
    pub headers: HeaderMap,
}

impl Decision {
    /// How long to wait before a retry; `None` if waiting does not help or is not needed.
    pub fn retry_after(&self) -> Option<Duration> {
        (self.retry_after_ms > 0).then(|| Duration::from_millis(self.retry_after_ms))
    }
}

/// The state of one limit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LimitStatus {
    /// Its name.
    pub name: String,
    /// The amount per window.
    pub limit: u64,
    /// How much is left.
    pub remaining: u64,
    /// How long until the whole amount is available again, in milliseconds.
    pub reset_ms: u64,
}

/// The handle of a request that must be finished.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Permit(String);

impl Permit {
    /// A permit from its text, for callers that store it in between.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The cost of a finished request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The cost that was reserved.
    pub reserved: u64,
    /// The cost that was charged.
    pub settled: u64,
}

/// A permit that was renewed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Renewed {
    /// The permit to renew and finish from now on.
    pub permit: Permit,
    /// How long it lives if it is neither finished nor renewed, in milliseconds.
    pub permit_expires_ms: u64,
}
