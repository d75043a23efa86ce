//! Settling plans in Redis.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::redis::driver::Script;
use sluicegate_core::plan::HomeId;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::{Nanos, Timestamp};
use tokio::time::Instant;

use super::link::{Link, QueryError};
use super::time_bound::TimeBound;
use super::wire::SCRIPT;
use super::wire::call::{DecidesBy, Keys, When, WireCall, home_key, resolve};
use super::wire::carry::{Carried, Replacement, carry};
use super::wire::number::instant;
use super::wire::reply::{Reply, read, read_resolved};

mod asked;
mod error;
mod name;
mod rebase;
mod settled;

pub use asked::{Ask, HomeCall, NodeId, Seq};
pub use error::CallError;
pub use name::{NameUse, RequestName};
pub use settled::{Applied, Resolved, Settled};

/// How often a call is made again because limits were edited or calendar periods ended meanwhile.
const ROUNDS_MAX: usize = 6;

/// What the script is given.
struct Arguments<'w> {
    keys: &'w [Vec<u8>],
    head: &'w [u8],
    body: &'w [u8],
    offset: &'w str,
}

impl<'w> Arguments<'w> {
    fn of(wire: &'w WireCall<'_>) -> Self {
        Self { keys: &wire.keys, head: &wire.head, body: &wire.body, offset: &wire.offset }
    }
}

/// The meters of all homes, in a Redis.
#[derive(Clone)]
pub struct Meters {
    link: Link,
    node: NodeId,
    script: Arc<Script>,
    /// How far the server's clock is ahead of the plans', in nanoseconds. Only a hint which calendar periods are near.
    ahead: Arc<AtomicI64>,
    bound: Arc<TimeBound>,
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").field("link", &self.link).field("node", &self.node).finish_non_exhaustive()
    }
}

/// How long a start waits until the server has read the script.
const READS_WITHIN: Duration = Duration::from_secs(2);

impl Meters {
    /// The meters behind a link, as this node sees them.
    pub fn new(link: Link, node: NodeId) -> Self {
        let script = Arc::new(Script::new(SCRIPT));
        Self { link, node, script, ahead: Arc::default(), bound: Arc::default() }
    }

    /// The same, with a bound for the clock of the server.
    #[must_use]
    pub fn with_time_bound(self, bound: Arc<TimeBound>) -> Self {
        Self { bound, ..self }
    }

    /// Has the server read the script, so that the first request need not wait for that. A server that does not let
    /// us is sent the script when it is needed.
    pub async fn prepare(&self) {
        let mut load = crate::redis::driver::cmd("SCRIPT");
        load.arg("LOAD").arg(SCRIPT);
        let loading = self.link.query_before(&load, Instant::now() + READS_WITHIN);
        let _: Result<String, QueryError> = loading.await;
    }

    /// What time it is on the server; of a cluster, on one of its nodes.
    pub async fn server_time(&self) -> Result<Timestamp, QueryError> {
        let time: Vec<u64> = self.link.query(&crate::redis::driver::cmd("TIME")).await?;
        let [secs, micros] = time[..] else { return Ok(Timestamp::EPOCH) };
        Ok(instant(secs.saturating_mul(1_000_000).saturating_add(micros)))
    }

    /// Settles the plans of a call, in order: each charges all of its meters, or none.
    pub async fn call(&self, call: &HomeCall<'_>) -> Result<Vec<Settled>, CallError> {
        self.call_when(call, None).await
    }

    /// As [`Meters::call`], at an instant that a test chooses.
    #[doc(hidden)]
    pub async fn call_at(&self, call: &HomeCall<'_>, now: Timestamp) -> Result<Vec<Settled>, CallError> {
        self.call_when(call, Some(now)).await
    }

    /// Finds out what became of a call, and makes sure that it stays so. `fence` is a number above that of the call.
    pub async fn resolve(&self, home: HomeId, in_doubt: Seq, fence: Seq) -> Result<Resolved, CallError> {
        let by = DecidesBy::Server { latest: self.bound.latest(Timestamp::EPOCH) };
        let body = resolve(self.node, in_doubt, fence, by);
        let expires = self.link.expires();
        let arguments = Arguments { keys: &[home_key(home)], head: &[], body: &body, offset: "" };
        let reply = self.run(&arguments, None, expires).await?;
        read_resolved(&reply)?.map_err(CallError::Late)
    }

    async fn call_when(&self, call: &HomeCall<'_>, at: Option<Timestamp>) -> Result<Vec<Settled>, CallError> {
        debug_assert!(call.asks.iter().all(|ask| ask.plan.home == call.home), "plans of one home");
        let asks_something = |ask: &&Ask<'_>| !ask.plan.charges().is_empty() || ask.name.is_some();
        let Some(first) = call.asks.iter().find(asks_something) else {
            return Ok(call.asks.iter().map(|ask| nothing_owed(at.unwrap_or(ask.plan.now))).collect());
        };
        let expires = self.link.expires();
        let by = match at {
            Some(at) => DecidesBy::Given(at),
            None => DecidesBy::Server { latest: self.bound.latest(first.plan.now) },
        };
        let mut when = When { by, near: at.unwrap_or_else(|| self.there(first.plan.now)) };
        let (mut keys, mut replacement) = (Keys::Needed, None);
        for _ in 0..ROUNDS_MAX {
            let wire = WireCall::new(call, self.node, when, keys)?;
            let reply = self.run(&Arguments::of(&wire), replacement.as_ref(), expires).await?;
            match read(&reply, call.asks, &wire)? {
                Reply::Settled(settled) => {
                    if let Some(settled) = settled.first() {
                        self.learn(first.plan.now, settled.now);
                    }
                    return Ok(settled);
                }
                Reply::Late(last) => return Err(CallError::Late(last)),
                Reply::Periods(now) => when.near = now,
                Reply::Stale(stale) => match carry(&stale, &wire)? {
                    Carried::Over(carried) => replacement = Some(carried),
                    Carried::KeysMissing => keys = Keys::All,
                },
            }
        }
        Err(CallError::Contended)
    }

    /// Runs the script: by its hash, or whole if the server does not know it.
    async fn run(
        &self,
        arguments: &Arguments<'_>,
        replacement: Option<&Replacement>,
        expires: Instant,
    ) -> Result<Vec<u8>, CallError> {
        let command = |name: &str, script: &str| {
            let mut command = crate::redis::driver::cmd(name);
            let Arguments { keys, head, body, offset } = arguments;
            command.arg(script).arg(keys.len()).arg(*keys).arg(*head).arg(*body).arg(*offset);
            if let Some(replacement) = replacement {
                command.arg(&replacement.expected).arg(&replacement.home).arg(&replacement.emptied);
                command.arg(&replacement.past);
            }
            command
        };
        match self.link.query_before(&command("EVALSHA", self.script.get_hash()), expires).await {
            Err(QueryError::Refused(answer)) if answer.is_no_script() => {
                Ok(self.link.query_before(&command("EVAL", SCRIPT), expires).await?)
            }
            other => Ok(other?),
        }
    }

    /// About what time it is on the server.
    fn there(&self, now: Timestamp) -> Timestamp {
        let ahead = self.ahead.load(Ordering::Relaxed);
        let span = Nanos(ahead.unsigned_abs());
        if ahead < 0 { Timestamp::from_nanos(now.as_nanos().saturating_sub(span.0)) } else { now.plus(span) }
    }

    fn learn(&self, here: Timestamp, there: Timestamp) {
        let ahead = i64::try_from(there.since(here).0).unwrap_or(0);
        let behind = i64::try_from(here.since(there).0).unwrap_or(0);
        self.ahead.store(ahead - behind, Ordering::Relaxed);
    }
}

/// What becomes of a plan without charges.
fn nothing_owed(now: Timestamp) -> Settled {
    Settled { outcome: Outcome::Admitted { overage: 0 }, readings: Readings::new(), now, repeats: None }
}
