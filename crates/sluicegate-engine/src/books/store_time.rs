//! Whether this node's time is that by which a shared store counts.

use super::Books;
use super::error::CompareError;
use crate::clock::STEP_MAX;

impl Books {
    /// Refuses to count where this node and the shared store are in different times: the periods of quotas are those of
    /// the store, and the records of a period cannot be told by another clock.
    pub(super) async fn expect_same_time(&self) -> Result<(), CompareError> {
        let Some(shared) = &self.engine.shared else { return Ok(()) };
        // An unreachable store is reported by the question after this one.
        let Ok(server) = shared.journal.server_time().await else { return Ok(()) };
        let node = self.engine.now();
        // The store decides by its clock, and not past this bound.
        let store = server.min(node.plus(STEP_MAX).plus(self.engine.clock().store_lead()));
        let apart = node.since(store).max(store.since(node));
        if apart > STEP_MAX { Err(CompareError::Clocks { apart }) } else { Ok(()) }
    }
}
