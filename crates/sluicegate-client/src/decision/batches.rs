//! Joins concurrent checks into one call. Each caller gets its own decision or an error, never another caller's.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::oneshot;

use super::check::Check;
use super::error::{CallError, Cause, Problem};
use super::response::Decision;
use super::transport::Transport;
use super::wire;

/// Collects checks into batches.
pub(super) struct Batches {
    transport: Transport,
    max: usize,
    delay: Duration,
    open: Mutex<OpenBatch>,
}

/// The batch that is being filled.
#[derive(Default)]
struct OpenBatch {
    /// Increases with every batch, so that the timer of one batch does not send the next one.
    number: u64,
    pending: Vec<PendingCheck>,
}

/// A check and the caller that waits for its decision.
struct PendingCheck {
    check: Check,
    reply: oneshot::Sender<Result<Decision, CallError>>,
}

/// What a check found in the batch that it joined.
enum Joined {
    /// It is the first one. The batch with this number must be sent after the delay.
    First(u64),
    /// Others are in the batch; it will be sent with them.
    Later,
    /// It is the last one that fits. The batch must be sent now.
    Full(Vec<PendingCheck>),
}

impl Batches {
    pub(super) fn new(transport: Transport, max: usize, delay: Duration) -> Self {
        Self { transport, max, delay, open: Mutex::default() }
    }

    /// The same batch settings over another transport.
    pub(super) fn with_transport(&self, transport: Transport) -> Self {
        Self::new(transport, self.max, self.delay)
    }

    pub(super) async fn check(self: &Arc<Self>, check: Check) -> Result<Decision, CallError> {
        let (reply, received) = oneshot::channel();
        let batches = Arc::clone(self);
        // A separate task sends the batch: a caller that is cancelled must not cancel the others.
        match self.join(PendingCheck { check, reply }) {
            Joined::First(number) => drop(tokio::spawn(async move {
                tokio::time::sleep(batches.delay).await;
                batches.send(batches.take(number)).await;
            })),
            Joined::Full(pending) => drop(tokio::spawn(async move { batches.send(pending).await })),
            Joined::Later => {}
        }
        received.await.unwrap_or_else(|error| Err(CallError::Lost(Cause::new(error))))
    }

    fn join(&self, check: PendingCheck) -> Joined {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.pending.push(check);
        match open.pending.len() {
            count if count >= self.max => Joined::Full(open.close()),
            1 => Joined::First(open.number),
            _ => Joined::Later,
        }
    }

    /// Takes the batch with this number; empty if it was full and has been sent.
    fn take(&self, number: u64) -> Vec<PendingCheck> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.number == number { open.close() } else { Vec::new() }
    }

    async fn call(&self, group: &[PendingCheck]) -> Result<Vec<Decision>, CallError> {
        let body = wire::batch(group.iter().map(|pending| &pending.check))?;
        self.transport.check_batch(body, group.len()).await
    }

    async fn send(&self, pending: Vec<PendingCheck>) {
        let mut groups = vec![pending];
        while let Some(mut group) = groups.pop() {
            group.retain(|pending| !pending.reply.is_closed());
            if group.is_empty() {
                continue;
            }
            match self.call(&group).await {
                Ok(decisions) => {
                    group.into_iter().zip(decisions).for_each(|(pending, it)| pending.reply(Ok(it)));
                }
                Err(CallError::Refused(problem)) => groups.extend(without_invalid(group, problem)),
                Err(error) => group.into_iter().for_each(|pending| pending.reply(Err(error.clone()))),
            }
        }
    }
}

/// The batches to send after one was refused as a whole, which charges nothing: without the check that is invalid, or
/// in halves if it was too large.
fn without_invalid(mut group: Vec<PendingCheck>, problem: Problem) -> Vec<Vec<PendingCheck>> {
    if let Some((index, field)) = invalid_check(&problem).filter(|(index, _)| *index < group.len()) {
        let field = Some(field.to_owned());
        group.remove(index).reply(Err(CallError::Refused(Problem { field, ..problem })));
        return vec![group];
    }
    if problem.status == StatusCode::PAYLOAD_TOO_LARGE && group.len() > 1 {
        let second = group.split_off(group.len() / 2);
        return vec![second, group];
    }
    group.into_iter().for_each(|pending| pending.reply(Err(CallError::Refused(problem.clone()))));
    Vec::new()
}

/// The index of the invalid check and its field, from `checks[17].cost`.
fn invalid_check(problem: &Problem) -> Option<(usize, &str)> {
    if problem.status != StatusCode::BAD_REQUEST {
        return None;
    }
    let (index, rest) = problem.field.as_deref()?.strip_prefix("checks[")?.split_once(']')?;
    Some((index.parse().ok()?, rest.trim_start_matches('.')))
}

impl OpenBatch {
    fn close(&mut self) -> Vec<PendingCheck> {
        self.number += 1;
        std::mem::take(&mut self.pending)
    }
}

impl PendingCheck {
    fn reply(self, result: Result<Decision, CallError>) {
        // It fails only if the caller was cancelled.
        let _ = self.reply.send(result);
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("max", &self.max).field("delay", &self.delay).finish_non_exhaustive()
    }
}
