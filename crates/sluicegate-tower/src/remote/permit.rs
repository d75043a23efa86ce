//! The end of a request that was admitted elsewhere.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use sluicegate_client::DecisionClient;
use sluicegate_client::decision::{self, CallError, Finish};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// How long to wait before Sluicegate is told again. After that the permit ends by itself.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// A permit is renewed once this part of its life has passed, so that some renewals may be late.
const RENEWED_AFTER_ONE_OF: u32 = 3;

/// What is to be finished, and by whom: a request may end where no runtime is at hand.
#[derive(Debug)]
pub(crate) struct Permit {
    client: Arc<DecisionClient>,
    runtime: Handle,
    /// The latest: renewing gives another one.
    permit: Arc<Mutex<decision::Permit>>,
    renewing: Option<AbortHandle>,
}

impl Permit {
    /// It is made within tokio's runtime. A permit that lives for so long is renewed until it is finished.
    pub(super) fn new(
        client: Arc<DecisionClient>,
        permit: decision::Permit,
        lives: Option<Duration>,
    ) -> Self {
        let permit = Arc::new(Mutex::new(permit));
        let renewing = lives.map(|lives| {
            let renewing = renewed(Arc::clone(&client), Arc::clone(&permit), lives);
            tokio::spawn(renewing).abort_handle()
        });
        Self { client, runtime: Handle::current(), permit, renewing }
    }

    fn latest(&self) -> decision::Permit {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says that the request has ended. Nobody waits for it.
    pub(crate) fn finish(&self, status: Option<u16>, cost: Option<u64>) {
        if let Some(renewing) = &self.renewing {
            renewing.abort();
        }
        let mut finish = Finish::of(self.latest());
        if let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) {
            finish = finish.status(status);
        }
        if let Some(cost) = cost {
            finish = finish.cost(cost);
        }
        drop(self.runtime.spawn(finished(Arc::clone(&self.client), finish)));
    }
}

/// Renews a permit for as long as that helps. A renewal without an answer is made again, while the permit lives.
async fn renewed(client: Arc<DecisionClient>, permit: Arc<Mutex<decision::Permit>>, lives: Duration) {
    let wait = lives / RENEWED_AFTER_ONE_OF;
    loop {
        tokio::time::sleep(wait).await;
        let latest = permit.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match client.renew(&latest, lives).await {
            Ok(renewed) => *permit.lock().unwrap_or_else(PoisonError::into_inner) = renewed.permit,
            Err(error) if may_help(&error) => {}
            Err(_) => return,
        }
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
