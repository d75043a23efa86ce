//! The end of a request that was admitted elsewhere.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use sluicegate_client::DecisionClient;
use sluicegate_client::decision::{self, CallError, Finish};
use tokio::runtime::Handle;

/// How long to wait before Sluicegate is told again. After that the permit ends by itself.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// What is to be finished, and by whom: a request may end where no runtime is at hand.
#[derive(Debug)]
pub(crate) struct Permit {
    client: Arc<DecisionClient>,
    runtime: Handle,
    permit: decision::Permit,
}

impl Permit {
    /// It is made within tokio's runtime.
    pub(super) fn new(client: Arc<DecisionClient>, permit: decision::Permit) -> Self {
        Self { client, runtime: Handle::current(), permit }
    }

    /// Says that the request has ended. Nobody waits for it.
    pub(crate) fn finish(&self, status: Option<u16>, cost: Option<u64>) {
        let mut finish = Finish::of(self.permit.clone());
        if let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) {
            finish = finish.status(status);
        }
        if let Some(cost) = cost {
            finish = finish.cost(cost);
        }
        drop(self.runtime.spawn(finished(Arc::clone(&self.client), finish)));
    }
}

/// Says it until it was heard. A permit is finished once, however often that is said.
async fn finished(client: Arc<DecisionClient>, finish: Finish) {
    let mut waits = AGAIN_AFTER.iter();
    while let Err(error) = client.finish(finish.clone()).await {
        match waits.next() {
            Some(wait) if may_help(&error) => tokio::time::sleep(*wait).await,
            _ => return,
        }
    }
}

/// Whether saying it again may help.
fn may_help(error: &CallError) -> bool {
    match error {
        CallError::Refused(problem) => problem.status.is_server_error(),
        _ => true,
    }
}
