//! Why a call has no response.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::gave_up::GaveUp;

/// Why a call has no response. `E` is the error of the HTTP client.
///
/// `Debug` prints what `Display` prints, so that a `main` that returns it ends with a readable line.
#[non_exhaustive]
pub enum RetryError<E> {
    /// The last attempt failed and is not repeated.
    Failed {
        /// The error of the last attempt.
        error: E,
        /// Why there is no further attempt.
        gave_up: GaveUp,
    },
    /// The request could not be built, or the service did not become ready: this attempt was not sent.
    NotSent(E),
    /// The deadline passed during an attempt, or before one could be sent.
    Deadline(DeadlineExceeded),
}

/// The deadline of a call passed. An attempt that was running is cancelled; the server may have processed it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadlineExceeded {
    /// The deadline of the whole call.
    pub deadline: Duration,
    /// How many attempts were sent.
    pub tries: u32,
}

impl<E> RetryError<E> {
    /// The error of the HTTP client, if there is one.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Failed { error, .. } | Self::NotSent(error) => Some(error),
            Self::Deadline(_) => None,
        }
    }

    /// Why a failed attempt was not repeated.
    pub fn gave_up(&self) -> Option<GaveUp> {
        match self {
            Self::Failed { gave_up, .. } => Some(*gave_up),
            Self::NotSent(_) | Self::Deadline(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { error, gave_up } => write!(f, "{gave_up}: {error}"),
            Self::NotSent(error) => write!(f, "the request was not sent: {error}"),
            Self::Deadline(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Display> fmt::Debug for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E: Error + 'static> Error for RetryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed { error, .. } | Self::NotSent(error) => Some(error),
            Self::Deadline(error) => Some(error),
        }
    }
}

impl<E> From<DeadlineExceeded> for RetryError<E> {
    fn from(error: DeadlineExceeded) -> Self {
        Self::Deadline(error)
    }
}

impl fmt::Display for DeadlineExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deadline, tries } = self;
        let noun = if *tries == 1 { "try" } else { "tries" };
        write!(f, "no response before the deadline of {} ms, after {tries} {noun}", deadline.as_millis())
    }
}

impl fmt::Debug for DeadlineExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for DeadlineExceeded {}
