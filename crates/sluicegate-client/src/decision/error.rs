//! Errors of the decision client.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

/// Why a call has no result.
///
/// `Debug` prints what `Display` prints, so that a `main` that returns it ends with a readable line.
#[derive(Clone)]
#[non_exhaustive]
pub enum CallError {
    /// No connection could be opened: nothing was sent.
    Unreachable(Cause),
    /// The connection failed before the response. The call may have been processed.
    Lost(Cause),
    /// There was no response in time. The call may have been processed.
    TimedOut(Duration),
    /// Sluicegate refuses this call.
    Refused(Problem),
    /// The response is malformed, or the request cannot be encoded.
    Unreadable(Cause),
    /// A batch has more checks than [`BATCH_MAX`](super::BATCH_MAX). Nothing was sent.
    TooMany(usize),
}

/// The cause of an error. It prints its whole chain of sources.
#[derive(Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Wraps this error.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into().into())
    }
}

/// The longest chain of sources that is printed.
const SOURCES_MAX: usize = 16;

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        let sources = std::iter::successors(self.0.source(), |&error| error.source());
        sources.take(SOURCES_MAX).try_for_each(|source| write!(f, ": {source}"))
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The problem document of a refused call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The status of the response.
    pub status: StatusCode,
    /// The error code: `invalid_request`, `unknown_permit`, `unavailable`.
    pub error: Option<String>,
    /// What was expected instead.
    pub detail: Option<String>,
    /// The field that is invalid.
    pub field: Option<String>,
    /// How long to wait before a retry.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(cause) => write!(f, "Sluicegate cannot be reached: {cause}"),
            Self::Lost(cause) => write!(f, "the answer was lost: {cause}"),
            Self::TimedOut(timeout) => write!(f, "no answer within {} ms", timeout.as_millis()),
            Self::Refused(problem) => write!(f, "{problem}"),
            Self::Unreadable(cause) => write!(f, "the answer makes no sense: {cause}"),
            Self::TooMany(checks) => {
                write!(f, "a batch of {checks} checks exceeds the maximum of {}", super::BATCH_MAX)
            }
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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

/// Why a URL is not that of a decision port.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressError {
    /// It is not a URL with a host.
    Invalid,
    /// Its scheme is not `http`. The decision port belongs on a private network and has no TLS.
    NotHttp,
    /// The token has a character that cannot stand in a header.
    BadToken,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "expected a URL such as http://127.0.0.1:8081",
            Self::NotHttp => "expected a URL that starts with http://",
            Self::BadToken => "the token has a character that cannot stand in a header",
        })
    }
}

impl fmt::Debug for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for AddressError {}
