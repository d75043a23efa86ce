//! A request on its way to the service and back, where load is shed: how long that takes.

use std::sync::Arc;

use http::StatusCode;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::Engine;
use sluicegate_engine::shed::{Done, Ticket};

/// A request that the service works on, until the head of the answer is there. The place is free however it ends.
#[derive(Debug)]
pub(crate) struct Passage {
    engine: Arc<Engine>,
    ticket: Option<Ticket>,
    began: Timestamp,
}

impl Passage {
    /// The service is called now: what was waited for before is not the service's.
    pub(crate) fn begin(engine: Arc<Engine>, ticket: Ticket) -> Self {
        let began = engine.now();
        Self { engine, ticket: Some(ticket), began }
    }

    /// The service has answered with this, or has failed.
    pub(crate) fn end(mut self, status: Option<StatusCode>) {
        let is_answer = status.is_some_and(|status| !status.is_server_error());
        self.leave(|took| if is_answer { Done::Answered { took } } else { Done::Cut { took } });
    }

    fn leave(&mut self, done: impl FnOnce(Nanos) -> Done) {
        if let Some(ticket) = self.ticket.take() {
            let now = self.engine.now();
            ticket.leave(done(now.since(self.began)), now);
        }
    }
}

/// Nobody waits for the answer any longer.
impl Drop for Passage {
    fn drop(&mut self) {
        self.leave(|took| Done::Cut { took });
    }
}
