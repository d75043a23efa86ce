//! What is answered.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};

use crate::limits::Mode;

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the request may pass.
    pub allowed: bool,
    /// What to answer the caller with if it may not.
    pub status: StatusCode,
    /// Why it may not, as a word: `rate_limited`, `quota_exceeded`, `invalid_key`.
    pub error: Option<String>,
    /// What the decision is called in logs and by `tollgate explain`.
    pub decision_id: String,
    /// The caller's tier.
    pub tier: Option<String>,
    /// The caller's account.
    pub account: Option<String>,
    /// How long until it may pass, where waiting helps; otherwise 0.
    pub retry_after_ms: u64,
    /// Which limit refuses, if one does.
    pub limit: Option<String>,
    /// What its limits say now.
    pub limits: Vec<LimitNow>,
    /// To be finished, where something is held until the request ends.
    pub permit: Option<Permit>,
    /// Whether the store of record decided.
    pub mode: Mode,
    /// What to send along to the caller.
    pub headers: HeaderMap,
}

impl Decision {
    /// How long until it may pass; nothing if waiting does not help, or is not needed.
    pub fn retry_after(&self) -> Option<Duration> {
        (self.retry_after_ms > 0).then(|| Duration::from_millis(self.retry_after_ms))
    }
}

/// What one limit says now.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LimitNow {
    /// Its name.
    pub name: String,
    /// The amount for its window.
    pub limit: u64,
    /// What is left of it.
    pub remaining: u64,
    /// How long until it is as if never used.
    pub reset_ms: u64,
}

/// The handle of a request that must be finished.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Permit(String);

impl Permit {
    /// A permit by its text, for who keeps it elsewhere meanwhile.
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

/// What a finished request cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// What was reserved for it.
    pub reserved: u64,
    /// What was charged in the end.
    pub settled: u64,
}
