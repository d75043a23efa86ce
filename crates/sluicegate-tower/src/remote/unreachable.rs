//! What becomes of requests while nothing can be decided about them.

use std::fmt;
use std::sync::Arc;

use sluicegate_client::decision::CallError;

/// What becomes of requests while Sluicegate cannot be reached, takes too long, or answers what makes no sense. There
/// is no default: one of them costs requests, the other one money.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreachable {
    /// They are answered with 503 and `Retry-After`.
    Deny,
    /// The service gets them, uncounted and unlimited.
    Admit,
}

/// Nothing was decided about a request: why. It is in the extensions of the answer, and of the request where that was
/// admitted all the same, so that it can be logged and counted.
#[derive(Clone, Debug)]
pub struct Undecided(Arc<CallError>);

impl Undecided {
    pub(super) fn new(error: CallError) -> Self {
        Self(Arc::new(error))
    }

    /// Why there is no decision.
    pub fn error(&self) -> &CallError {
        &self.0
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
