//! What an error of a client means: that the server has not seen the request, or that it may have.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What an error of a client means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// There was no connection: the request can be sent again.
    Unreachable,
    /// The request may have been seen. It is not sent again.
    Broken,
}

/// Tells what an error means. Functions from `&E` to [`Trouble`] do.
pub trait Classify<E>: Clone + Send + Sync + 'static {
    /// What it means.
    fn classify(&self, error: &E) -> Trouble;
}

impl<E, F: Fn(&E) -> Trouble + Clone + Send + Sync + 'static> Classify<E> for F {
    fn classify(&self, error: &E) -> Trouble {
        self(error)
    }
}

/// Takes an error for [`Trouble::Unreachable`] if it was caused by one that the system gives for a connection that
/// cannot be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConnectErrors;

/// A chain of causes is not followed further than this.
const CAUSES_MAX: usize = 16;

impl<E: Error + 'static> Classify<E> for ConnectErrors {
    fn classify(&self, error: &E) -> Trouble {
        let first: &(dyn Error + 'static) = error;
        let causes = std::iter::successors(Some(first), |&error| error.source()).take(CAUSES_MAX);
        let mut kinds = causes.filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
        if kinds.any(is_connecting) { Trouble::Unreachable } else { Trouble::Broken }
    }
}

/// Of the others, such as a reset, it is not known when they came.
fn is_connecting(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::AddrNotAvailable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkDown
    )
}
