//! Classifies the errors of an HTTP client: either the request was never sent, or it may have been processed.

use std::error::Error;
use std::io;

/// What an error of an HTTP client means for a retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No connection could be opened: the server has not seen the request.
    Connect,
    /// The connection failed later: the server may have processed the request. It is not sent again.
    ConnectionLost,
}

/// Classifies errors. Every function from `&E` to [`ErrorKind`] is a classifier.
pub trait ClassifyError<E>: Clone + Send + Sync + 'static {
    /// The kind of this error.
    fn classify(&self, error: &E) -> ErrorKind;
}

impl<E, F: Fn(&E) -> ErrorKind + Clone + Send + Sync + 'static> ClassifyError<E> for F {
    fn classify(&self, error: &E) -> ErrorKind {
        self(error)
    }
}

/// Classifies an error as [`ErrorKind::Connect`] if its chain of sources contains an [`io::Error`] that the operating
/// system returns when a connection cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IoErrorClassifier;

/// The longest chain of sources that is followed.
const SOURCES_MAX: usize = 16;

impl<E: Error + 'static> ClassifyError<E> for IoErrorClassifier {
    fn classify(&self, error: &E) -> ErrorKind {
        let first: &(dyn Error + 'static) = error;
        let sources = std::iter::successors(Some(first), |&error| error.source()).take(SOURCES_MAX);
        let mut kinds = sources.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
        if kinds.any(is_connect_error) { ErrorKind::Connect } else { ErrorKind::ConnectionLost }
    }
}

/// Other kinds, such as a reset, also occur after the request was sent.
fn is_connect_error(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
    )
}
