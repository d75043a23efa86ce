//! Somebody who waits for an answer, and may go away before it comes.

use std::sync::Arc;

use tokio::sync::oneshot::Receiver;
use tokio::time::{Instant, timeout_at};

use super::owed::{Away, Owed};
use super::{Settled, Shared};

pub(super) struct Waiting<'h> {
    pub(super) shared: &'h Arc<Shared>,
    pub(super) owed: Owed,
    pub(super) answer: Receiver<Result<Settled, Away>>,
}

impl Waiting<'_> {
    /// The answer, or none by then. What is given back is waited for: who is told that it was not would give it back
    /// again.
    pub(super) async fn until(mut self, expires: Instant) -> Result<Settled, Away> {
        if self.owed.is_refund() {
            return (&mut self.answer).await.unwrap_or(Err(Away::InDoubt));
        }
        match timeout_at(expires, &mut self.answer).await {
            Ok(answer) => answer.unwrap_or(Err(Away::InDoubt)),
            Err(_) => {
                // From here on the answer cannot come; what came just before is one.
                self.answer.close();
                self.answer.try_recv().unwrap_or(Err(Away::InDoubt))
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.answer.close();
        // An answer that came and was not looked at.
        if let Ok(Ok(settled)) = self.answer.try_recv()
            && let Some(undoing) = self.owed.undoing(&settled)
        {
            self.shared.correct(undoing);
        }
    }
}
