//! The end of a request whose meters are far away. Nobody waits for it: its slot is freed in the background, and what
//! it cost more or less goes into the journal.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::limit::Axis;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::Amount;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Record};
use sluicegate_store::redis::{Homes, Owed, RequestName};

use super::{Shared, name_of};
use crate::engine::{Counters, Engine};
use crate::finish::{FinishError, Finished};
use crate::permit::Permit;
use crate::record::record;

/// How often it is tried to free a slot. After that its lease frees it.
const TRIES: u32 = 10;
/// How long it is waited before another try, longer each time.
const PAUSE: Duration = Duration::from_millis(200);

impl Engine {
    pub(crate) fn finish_shared(
        &self,
        shared: &Shared,
        permit: &Permit,
        finished: Finished,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        if permit.plan.tariff.has(Axis::Concurrency) {
            let mode = Mode::Refund { charged_at: permit.charged_at };
            shared.in_background(permit, permit.request(mode, Charges::Slots, Amount::ONE, now), None);
        }
        let Finished { reserved, settled } = finished;
        let Some(difference) = Amount::new(reserved.abs_diff(settled)) else { return Ok(finished) };
        let Ok(room) = self.spool.reserve() else {
            Counters::count(&self.counters.unrecorded);
            return Err(FinishError::Unavailable);
        };
        // By how much the overage changes, the store says when the journal has settled this.
        let kind = if settled > reserved { Kind::Correction } else { Kind::Refund };
        let idempotency = permit.idempotency.filter(|_| settled == 0);
        let record = Record { idempotency, ..record(permit, kind, Some(difference), 0, now) };
        room.append(&Record { flags: record.flags | Flags::OWED, ..record });
        shared.journal.wake();
        if let Some(idempotency) = idempotency {
            self.repeats.hold(permit.home, idempotency.key).forget(permit.home, idempotency, permit.decision);
            // At once: the caller may send it again before the journal is there, and has to pay then.
            let mode = Mode::Refund { charged_at: permit.charged_at };
            let request = permit.request(mode, Charges::Slots, Amount::ONE, now);
            shared.in_background(permit, request, Some(name_of(idempotency, permit.decision)));
        }
        Ok(finished)
    }
}

impl Shared {
    /// Renews the slot of a request that takes long.
    pub(crate) fn renew(&self, permit: &Permit, now: Timestamp) {
        self.in_background(permit, permit.request(Mode::Force, Charges::Slots, Amount::ONE, now), None);
    }

    fn in_background(&self, permit: &Permit, request: Request, name: Option<RequestName>) {
        let (homes, plan, holder) = (self.homes.clone(), Arc::clone(&permit.plan), self.node);
        let owed = Owed { plan, request, holder, name };
        self.runtime.spawn(done(homes, owed));
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
