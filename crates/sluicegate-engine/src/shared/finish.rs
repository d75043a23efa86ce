//! The end of a request whose meters are in a shared store. Nobody waits for it: its slot is freed in the background,
//! and what it cost more or less goes into the journal.

use std::time::Duration;

use sluicegate_core::limit::Axis;
use sluicegate_core::tariff::Request;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Record};
use sluicegate_store::redis::{Homes, Owed, RequestName};

use super::{Shared, ended_name_of};
use crate::engine::{Counters, Engine};
use crate::finish::{FinishError, Finished};
use crate::idempotency::AttemptEnd;
use crate::permit::{Permit, PermitName};
use crate::settlement::{Ending, difference_record};

/// How often it is tried to free a slot. After that its lease frees it.
const TRIES: u32 = 10;
/// How long it is waited before another try, longer each time.
const PAUSE: Duration = Duration::from_millis(200);

impl Engine {
    /// Records what a request cost more or less, which the journal then settles in the store.
    pub(crate) fn journal_difference(
        &self,
        shared: &Shared,
        permit: &Permit,
        finished: Finished,
        ending: Ending,
        now: Timestamp,
    ) -> Result<(), FinishError> {
        let Some(record) = self.owed_difference(permit, finished, ending, now) else { return Ok(()) };
        let Ok(room) = self.spool.reserve() else {
            Counters::count(&self.counters.unrecorded);
            return Err(FinishError::Unavailable);
        };
        let at = room.append(&record);
        shared.in_force.owe(&record, at);
        shared.journal.wake();
        Ok(())
    }

    /// The record of what a request cost more or less, which the journal settles. By how much the overage changes, the
    /// store says then. Nothing: it cost what was reserved.
    pub(crate) fn owed_difference(
        &self,
        permit: &Permit,
        finished: Finished,
        ending: Ending,
        now: Timestamp,
    ) -> Option<Record> {
        if finished.reserved == finished.settled {
            return None;
        }
        let (sold, _) = self.plan_now(permit);
        let record = difference_record(permit, finished, ending, &sold, now)?;
        Some(Record { flags: record.flags | Flags::OWED, ..record })
    }
}

impl Shared {
    /// Frees the slot of a request that has ended, and tells what that means for its name. At once: its caller may
    /// send it again before the journal is there.
    pub(crate) fn release(&self, permit: &Permit, end: Option<(PermitName, AttemptEnd)>, now: Timestamp) {
        if end.is_none() && !permit.plan.tariff.has(Axis::Concurrency) {
            return;
        }
        let request = permit.release(now);
        let name = end.map(|(name, end)| ended_name_of(name, permit.decision, end));
        self.in_background(permit, request, name);
    }

    fn in_background(&self, permit: &Permit, request: Request, name: Option<RequestName>) {
        let owed = Owed { name, ..self.owed_by(permit, request) };
        self.runtime.spawn(done(self.homes.clone(), owed));
    }
}

async fn done(homes: Homes, owed: Owed) {
    for tries in 1..=TRIES {
        if homes.settle(owed.clone()).await.is_ok() {
            return;
        }
        tokio::time::sleep(PAUSE * tries).await;
    }
}
