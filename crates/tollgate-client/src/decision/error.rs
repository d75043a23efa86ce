//! What can go wrong with a call.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

/// Why there is no decision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// There was no connection: nothing was asked.
    Unreachable(Cause),
    /// The connection broke before the answer was there. Whether the call was carried out is not known.
    Lost(Cause),
    /// There was no answer in time. Whether the call was carried out is not known.
    TimedOut(Duration),
    /// Tollgate does not carry out this call.
    Refused(Problem),
    /// What was answered is no answer to what was asked.
    Unreadable(Cause),
    /// A batch has more checks than [`BATCH_MAX`](super::BATCH_MAX). Nothing was asked.
    TooMany(usize),
}

/// What lies behind an error.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// This error.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into().into())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What Tollgate says is wrong with a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The status of the answer.
    pub status: StatusCode,
    /// The word for it: `invalid_request`, `unknown_permit`, `unavailable`.
    pub error: Option<String>,
    /// What is expected instead.
    pub detail: Option<String>,
    /// Which field is wrong.
    pub field: Option<String>,
    /// When to try again.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(cause) => write!(f, "Tollgate cannot be reached: {cause}"),
            Self::Lost(cause) => write!(f, "the answer was lost: {cause}"),
            Self::TimedOut(timeout) => write!(f, "no answer within {} ms", timeout.as_millis()),
            Self::Refused(problem) => write!(f, "{problem}"),
            Self::Unreadable(cause) => write!(f, "the answer makes no sense: {cause}"),
            Self::TooMany(checks) => write!(f, "a batch of {checks} checks, which is too many"),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreachable(cause) | Self::Lost(cause) | Self::Unreadable(cause) => Some(&*cause.0),
            Self::TimedOut(_) | Self::Refused(_) | Self::TooMany(_) => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        let mut parts = [&self.error, &self.field, &self.detail].into_iter().flatten();
        parts.try_for_each(|part| write!(f, ": {part}"))
    }
}

/// Why an address is none of a decision port.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no URL with a host.
    Invalid,
    /// Only plain HTTP is spoken: the port is for networks of one's own.
    NotHttp,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "expected a URL such as http://127.0.0.1:8081",
            Self::NotHttp => "expected a URL that starts with http://",
        })
    }
}

impl Error for AddressError {}
