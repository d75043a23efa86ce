//! The end of a request: its slot is freed, and its true cost settled.

use std::fmt;
use std::sync::Arc;

use sluicegate_core::limit::Axis;
use sluicegate_core::policy::{RefundOn, RouteIndex};
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Record, Settlement};

use crate::decision::Decision;
use crate::engine::{Counters, Engine};
use crate::permit::{Kept, Permit, Settles};
use crate::record::record;
use crate::settlement::{Ending, charges_of, difference_record, mode_of};
use crate::snapshot::PolicySnapshot;
use crate::unsettled::Unsettled;

/// What a request cost in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished {
    /// What was charged at first.
    pub reserved: u64,
    /// What it is now.
    pub settled: u64,
}

/// Why a permit was neither finished nor renewed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinishError {
    /// There is no such permit: it was never given, or with another secret.
    Unknown,
    /// Its lease has ended more than a day ago.
    TooLate,
    /// It cannot be renewed: its lease has ended, and its slot is free.
    Expired,
    /// It cannot be renewed: it is finished.
    Finished,
    /// Another node has charged it while the store could not be reached, and alone can finish it.
    OtherNode,
    /// What changed cannot be recorded now. The permit is still open.
    Unavailable,
}

impl fmt::Display for FinishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "there is no such permit",
            Self::TooLate => "the lease of the permit ended more than 24 hours ago; what was charged stays",
            Self::Expired => {
                "the lease of the permit has ended, and its slot is free; the permit can still be finished"
            }
            Self::Finished => "the permit is finished",
            Self::OtherNode => {
                "the permit was given by another node while the store could not be reached; finish it at that node"
            }
            Self::Unavailable => "the change cannot be recorded at the moment; try again shortly",
        })
    }
}

impl std::error::Error for FinishError {}

impl Permit {
    /// What the request costs in the end.
    pub(crate) fn finished(&self, failed: bool, cost: Option<u64>) -> Finished {
        let reserved = self.usage().map_or(0, Amount::get);
        let settled = match self.settles {
            Settles::Nothing => reserved,
            Settles::TrueCost if failed && self.refund_on == RefundOn::ServerError => 0,
            Settles::TrueCost | Settles::QuotaOnly => cost.unwrap_or(reserved),
        };
        Finished { reserved, settled }
    }
}

impl Engine {
    /// Waits until the record of a decision is on disk, where the policy wants that before the answer. If it does not
    /// get there, or nobody waits for it any more, the charge is given back; the decision becomes a denial.
    pub async fn settled(&self, decision: Decision) -> Decision {
        if decision.pending.is_none() {
            return decision;
        }
        Box::pin(Unsettled::new(self, decision).settled()).await
    }

    /// Finishes the request behind a permit that a service presents. Every finish of one permit has the same answer, at
    /// every node.
    pub async fn finish_kept(
        &self,
        text: &str,
        status: Option<u16>,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        match &self.shared {
            None => self.finish_kept_here(text, status, cost, now),
            Some(shared) => Box::pin(self.finish_shared(shared, text, status, cost, now)).await,
        }
    }

    /// As [`Engine::finish_kept`], where no store has to be asked: see [`Engine::is_shared`].
    pub fn finish_kept_here(
        &self,
        text: &str,
        status: Option<u16>,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        let sealed = self.open_permit(text, now)?;
        let ends = sealed.ends;
        let standing = self.standing_here(sealed.account);
        let permit = self.permit_of(sealed, standing.as_deref());
        if now < ends {
            self.observe_hold(&permit, now);
        }
        self.finish_in_memory(&permit, status, cost, now)
    }

    /// Finishes a permit that was charged to the meters of this process.
    pub(crate) fn finish_in_memory(
        &self,
        permit: &Permit,
        status: Option<u16>,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        let mut held = self.finished.hold(permit.decision);
        if let Some(finished) = held.finished() {
            self.release_again(permit, now);
            return Ok(finished);
        }
        if held.may_be_forgotten() {
            return Err(FinishError::TooLate);
        }
        let finished = self.finish(permit, status, cost, now)?;
        if finished.reserved == finished.settled {
            self.trace_finish(permit, finished.reserved, now)?;
        }
        held.finish(finished, now);
        Ok(finished)
    }

    /// Records that a permit was finished, and nothing else.
    pub(crate) fn trace_finish(
        &self,
        permit: &Permit,
        reserved: u64,
        now: Timestamp,
    ) -> Result<(), FinishError> {
        let Ok(room) = self.spool.reserve() else {
            Counters::count(&self.counters.unrecorded);
            return Err(FinishError::Unavailable);
        };
        let settlement = Settlement { reserved, ..Settlement::default() };
        let trace = record(permit, Kind::Correction, None, 0, now);
        let flags = permit.flags.without(Flags::OWED | Flags::UNNAMED);
        room.append(&Record { idempotency: None, settlement, flags, ..trace });
        Ok(())
    }

    /// Finishes a request: frees its slot, gives the charge back where its plan says so, settles the true cost.
    ///
    /// `status` is what the upstream itself answered; a 5xx that stands for no answer counts as one. Nothing: it is not
    /// known, because the caller went away or nobody has said.
    pub fn finish(
        &self,
        permit: &Permit,
        status: Option<u16>,
        cost: Option<u64>,
        now: Timestamp,
    ) -> Result<Finished, FinishError> {
        let failed = status.is_some_and(|status| (500..600).contains(&status));
        let finished = permit.finished(failed, cost);
        let end = permit.attempt_end(failed, finished.settled);
        let ending = Ending::of(permit, failed);
        match (&self.shared, permit.kept) {
            (Some(shared), Kept::Store) => {
                let recorded = self.journal_difference(shared, permit, finished, ending, now);
                // A charge that could not be given back keeps its name. The slot is free whatever becomes of the rest.
                shared.release(permit, end.filter(|_| recorded.is_ok()), now);
                recorded?;
            }
            _ => {
                // First, and whatever becomes of the rest: nobody waits for a slot because a refund could not be
                // recorded.
                self.release_slot(permit, now);
                self.settle_difference(permit, finished, ending, now)?;
            }
        }
        if let Some((name, end)) = end {
            let mut names = self.idempotency.hold(permit.home, name.idempotency.key);
            names.ended(permit.home, name.idempotency.key, permit.decision, end);
        }
        Ok(finished)
    }

    pub(crate) fn release_slot(&self, permit: &Permit, now: Timestamp) {
        if permit.plan.tariff.has(Axis::Concurrency) {
            let request = permit.release(now);
            self.meters.settle(&permit.plan.tariff.plan(&request), &mut Readings::new());
        }
    }

    /// Charges what a request cost more than was reserved, or gives back what it cost less.
    fn settle_difference(
        &self,
        permit: &Permit,
        finished: Finished,
        ending: Ending,
        now: Timestamp,
    ) -> Result<(), FinishError> {
        if finished.reserved == finished.settled {
            return Ok(());
        }
        // Under the limits that are in force now: under those of then, what was used since would be cut down to them.
        let (sold, route) = self.plan_now(permit);
        let Some(ended) = difference_record(permit, finished, ending, &sold, now) else { return Ok(()) };
        let Ok(room) = self.spool.reserve() else {
            Counters::count(&self.counters.unrecorded);
            return Err(FinishError::Unavailable);
        };
        let amount = Amount::new(ended.cost).unwrap_or(Amount::ONE);
        let (mode, which) = (mode_of(&ended), charges_of(&ended, &sold.tariff));
        let request = Request { route, ..permit.request(mode, which, amount, now) };
        let plan = sold.tariff.plan(&request);
        let (mut readings, mut recorded) = (Readings::new(), None);
        self.meters.settle_then(&plan, &mut readings, |outcome| {
            let overage = if let Outcome::Admitted { overage } = outcome { overage } else { 0 };
            recorded = Some(room.append(&Record { overage, ..ended }));
        });
        if mode.is_forced() && permit.kept == Kept::Store {
            self.thresholds.watch(&plan, &readings, permit.payer(), &sold);
        }
        if let Some(shared) = &self.shared {
            if let Some(at) = recorded {
                shared.in_force.owe(&ended, at);
            }
            shared.journal.wake();
        }
        Ok(())
    }

    /// The plan of callers without an account under which something with these flags is settled.
    pub(crate) fn client_plan_of_record(
        &self,
        policy: &PolicySnapshot,
        sold: Arc<Plan>,
        flags: Flags,
    ) -> Arc<Plan> {
        self.watch.plans.recorded(sold, flags, policy.policy().pressure, &self.meters)
    }

    /// The plan that the caller of a permit has now, and the place of its route in it.
    pub(crate) fn plan_now(&self, permit: &Permit) -> (Arc<Plan>, Option<RouteIndex>) {
        if permit.kept == Kept::Here && self.shared.is_some() {
            return (Arc::clone(&permit.plan), permit.route);
        }
        let policy = self.snapshot.load();
        let plan = if permit.account == 0 {
            let sold = policy.client_plan_of_number(permit.tier, &self.meters, &self.names);
            sold.map(|sold| self.client_plan_of_record(&policy, sold, permit.flags))
        } else {
            let account = self.directory.account_by_serial(permit.account);
            account.and_then(|account| {
                let standing = account.standing.load();
                let plan = policy.plan_of(&standing, &self.meters, &self.names, &self.counters)?;
                Some(self.plan_with_known_key(&policy, plan, permit.account, permit.key_number))
            })
        };
        match plan {
            Some(plan) => (plan, policy.route_of_number(permit.route_number)),
            None => (Arc::clone(&permit.plan), permit.route),
        }
    }
}
