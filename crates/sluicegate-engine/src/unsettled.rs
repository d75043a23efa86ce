//! A decision whose record is on its way to the disk.

use std::ops::Deref;
use std::time::Duration;

use sluicegate_ledger::Flags;

use crate::decision::Decision;
use crate::engine::Engine;
use crate::permit::Permit;

/// How long an answer waits for its record to reach the disk, where the policy wants that, before it is a 503.
const DURABLE_WAIT_MAX: Duration = Duration::from_secs(5);

/// A decision that may have to wait. Who goes away before it is settled has asked for nothing: what was charged is
/// given back, and the place in flight is free.
#[derive(Debug)]
pub struct Unsettled<E: Deref<Target = Engine>> {
    decision: Decision,
    owed: Owed<E>,
}

/// What is given back when it is dropped.
#[derive(Debug)]
struct Owed<E: Deref<Target = Engine>> {
    engine: E,
    charged: Option<Box<Permit>>,
}

impl<E: Deref<Target = Engine>> Unsettled<E> {
    /// A decision that nobody was told yet.
    pub fn new(engine: E, mut decision: Decision) -> Self {
        let charged =
            decision.pending.and_then(|_| decision.charged.take().or_else(|| decision.permit.clone()));
        Self { decision, owed: Owed { engine, charged } }
    }

    /// The decision, once its record is on disk; a denial, if it does not get there.
    pub async fn settled(self) -> Decision {
        let Self { mut decision, mut owed } = self;
        let Some(position) = decision.pending else { return decision };
        let durable = owed.engine.spool.wait_durable(position);
        match tokio::time::timeout(DURABLE_WAIT_MAX, durable).await {
            Ok(Ok(())) => owed.charged = None,
            _ => {
                decision.permit = None;
                decision.deny_unavailable();
            }
        }
        owed.engine.seen_late(&mut decision);
        decision
    }
}

impl<E: Deref<Target = Engine>> Drop for Owed<E> {
    fn drop(&mut self) {
        if let Some(mut charged) = self.charged.take() {
            // Nobody was given its permit, and nobody holds its slot.
            charged.flags = charged.flags | Flags::FINISHED;
            // What cannot be given back on disk either is on record, and is the next reconciliation's to find.
            let _ = self.engine.finish(&charged, None, Some(0), self.engine.now());
        }
    }
}
