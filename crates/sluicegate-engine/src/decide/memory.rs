//! The driver for meters in this process: those of the embedded store, and the fallback while a shared store cannot be
//! reached.

use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_ledger::Kind;

use super::attempt::ChargeResult;
use super::conclude::Judged;
use super::replay::NamedAttempt;
use super::{Attempt, Next, RequestContext};
use crate::decision::Decision;
use crate::engine::Engine;
use crate::permit::PermitName;
use crate::record::record;

impl Engine {
    /// Decides by the meters of this process.
    #[inline]
    pub(super) fn drive_memory(&self, context: &RequestContext<'_>, attempt: Attempt) -> Decision {
        match attempt.permit.name {
            None => self.loop_memory(context, attempt),
            Some(name) => self.drive_memory_named(context, attempt, name),
        }
    }

    #[cold]
    fn drive_memory_named(
        &self,
        context: &RequestContext<'_>,
        mut attempt: Attempt,
        name: PermitName,
    ) -> Decision {
        let (home, key) = (attempt.permit.home, name.idempotency.key);
        // Held until it is decided: of two at once with one name, one is charged.
        let mut names = self.idempotency.hold(home, key);
        attempt.apply_name(names.find(home, key, context.now), name);
        let attempted = NamedAttempt { home, name, is_replay: attempt.permit.is_replay() };
        let mut decision = self.loop_memory(context, attempt);
        self.remember_name(context, &mut decision, &mut names, attempted);
        decision
    }

    fn loop_memory(&self, context: &RequestContext<'_>, mut attempt: Attempt) -> Decision {
        loop {
            let judged = self.ask_memory(context, &attempt);
            match self.conclude(context, attempt, judged) {
                Next::Decided(decision) => return decision,
                Next::Ask(again) => attempt = again,
            }
        }
    }

    /// Asks the meters. What is admitted is recorded before the account's lock is released.
    #[inline]
    fn ask_memory(&self, context: &RequestContext<'_>, attempt: &Attempt) -> Judged {
        let permit = &attempt.permit;
        let mut room = None;
        if attempt.is_recorded(context) {
            match self.reserve_record(&context.policy, &permit.plan) {
                Ok(reserved) => room = reserved,
                Err(error) => return Judged::Error(error),
            }
        }
        let plan = permit.plan.tariff.plan(&attempt.request(context));
        let (mut readings, mut recorded) = (Readings::new(), None);
        let outcome = self.meters.settle_then(&plan, &mut readings, |outcome| {
            if let (Some(room), Outcome::Admitted { overage }) = (room, outcome) {
                let mut record = record(permit, Kind::Charge, permit.cost, overage, context.now);
                if permit.is_held_by_service() && self.shared.is_none() {
                    record = record.holding(permit.lease());
                }
                recorded = Some(room.append(&record));
            }
        });
        self.judge(context, attempt, &plan, ChargeResult { outcome, recorded }, &readings)
    }
}
