//! Adaptive mode: learns the rate limits of each origin from response headers and delays requests until they fit.
//!
//! Requests of one origin wait in a first-in-first-out queue. Only the first one of the queue waits for time or a
//! response; the others wait for their turn. A request that is cancelled while it waits leaves the queue and has
//! taken nothing.

mod bucket_hypothesis;
mod limit_mirror;
mod observation;
mod parallel;
mod schedule;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use tokio::sync::Notify;

use crate::runtime::Runtime;
use observation::Observation;
use schedule::{Admission, Schedule, Ticket};

/// The most origins that are remembered. The one that was not used for the longest time is forgotten first.
const ORIGINS_MAX: usize = 256;

/// Learns the rate limits of each origin (scheme, host and port) from `RateLimit`, `RateLimit-Policy`, `RateLimit-*`,
/// `X-RateLimit-*` and `Retry-After`, and delays requests so that they are not refused.
///
/// Clones share what they learned: give one pacer to all clients that use the same API key. An origin whose responses
/// have none of these headers is not paced. Without `RateLimit-Policy`, the pacer has to find out whether a limit is a
/// token bucket or a window, which costs up to two refused requests per origin. A request is never held back for longer
/// than the policy's patience; it is sent then, and the server decides.
#[derive(Clone, Default)]
pub struct Pacer {
    origins: Arc<Mutex<Origins>>,
}

#[derive(Default)]
struct Origins {
    gates: BTreeMap<String, (u64, Arc<Gate>)>,
    /// Counts uses, to find the gate that was not used for the longest time.
    uses: u64,
}

/// The queue and the schedule of one origin.
struct Gate {
    /// A fair lock: its waiters are the queue.
    turn: tokio::sync::Mutex<()>,
    /// Wakes the first request of the queue after a response or a cancellation.
    changed: Notify,
    schedule: Mutex<Schedule>,
}

impl Gate {
    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight. Dropped without a response, it counts as cancelled.
pub(crate) struct PacedRequest {
    gate: Arc<Gate>,
    ticket: Option<Ticket>,
}

/// No request fits before the deadline.
pub(crate) struct PastDeadline;

impl Pacer {
    /// A pacer that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a request to this origin fits. A request that would wait longer than `wait_max` is sent at once, and
    /// one that can only be sent after `deadline` fails at once.
    pub(crate) async fn admit(
        &self,
        origin: &str,
        runtime: &impl Runtime,
        wait_max: Duration,
        deadline: Option<Duration>,
    ) -> Result<PacedRequest, PastDeadline> {
        let gate = self.gate(origin);
        let turn = gate.turn.lock().await;
        let ticket = loop {
            let now = runtime.monotonic();
            let admission = gate.schedule().admit(now);
            match admission {
                Admission::Send(ticket) => break ticket,
                Admission::Wait { instant, .. } if instant.saturating_sub(now) > wait_max => {
                    break gate.schedule().admit_unpaced(now);
                }
                Admission::Wait { instant, may_end_early: false }
                    if deadline.is_some_and(|deadline| deadline <= instant) =>
                {
                    return Err(PastDeadline);
                }
                Admission::Wait { instant, .. } => tokio::select! {
                    () = runtime.sleep(instant.saturating_sub(now)) => {}
                    () = gate.changed.notified() => {}
                },
            }
        };
        drop(turn);
        Ok(PacedRequest { gate, ticket: Some(ticket) })
    }

    fn gate(&self, origin: &str) -> Arc<Gate> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.uses += 1;
        let uses = origins.uses;
        if let Some((last_use, gate)) = origins.gates.get_mut(origin) {
            *last_use = uses;
            return Arc::clone(gate);
        }
        if origins.gates.len() >= ORIGINS_MAX {
            let oldest = origins.gates.iter().min_by_key(|(_, (last_use, _))| *last_use);
            // Requests that wait there keep their gate until they are done.
            if let Some(oldest) = oldest.map(|(origin, _)| origin.clone()) {
                origins.gates.remove(&oldest);
            }
        }
        let gate = Arc::new(Gate {
            turn: tokio::sync::Mutex::new(()),
            changed: Notify::new(),
            schedule: Mutex::new(Schedule::new()),
        });
        origins.gates.insert(origin.to_owned(), (uses, Arc::clone(&gate)));
        gate
    }
}

impl PacedRequest {
    /// Learns from the response.
    pub(crate) fn complete(mut self, status: StatusCode, headers: &HeaderMap, runtime: &impl Runtime) {
        self.learn(&Observation::of(status, headers, runtime.now()), runtime.monotonic());
    }

    /// There is no response to learn from, so there is no reason to hold back others.
    pub(crate) fn fail(mut self, runtime: &impl Runtime) {
        self.learn(&Observation::default(), runtime.monotonic());
    }

    fn learn(&mut self, observation: &Observation, now: Duration) {
        if let Some(ticket) = self.ticket.take() {
            self.gate.schedule().complete(ticket, observation, now);
            self.gate.changed.notify_one();
        }
    }
}

impl Drop for PacedRequest {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.gate.schedule().cancel(ticket);
            self.gate.changed.notify_one();
        }
    }
}

impl fmt::Debug for Pacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("Pacer").field("origins", &origins.gates.len()).finish_non_exhaustive()
    }
}
