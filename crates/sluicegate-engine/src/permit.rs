//! Permits: what has to be remembered of an admitted request until it has ended. Those of services travel as text: see
//! `seal`.

pub(crate) mod base64url;
mod limit_print;
pub(crate) mod seal;
mod table;

use std::num::NonZeroU32;
use std::sync::Arc;

use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::{RefundOn, RouteIndex};
use sluicegate_core::rule::concurrency::{SlotHold, SlotId};
use sluicegate_core::rule::{Amount, LEASE_DEFAULT};
use sluicegate_core::tariff::{Charges, Plan};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::{Flags, Idempotency};

use crate::idempotency::{AttemptEnd, ReplayRule};
use crate::ids::{DecisionId, Finisher};
pub(crate) use limit_print::{LimitPrint, SameBy, others_than};
pub use seal::PermitKey;
pub(crate) use table::FinishedPermits;

/// How long after the end of its lease a permit can be finished.
pub(crate) const LATE_MAX: Nanos = Nanos::from_secs(24 * 60 * 60);

/// A permit as a service has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandedPermit {
    /// Its text: everything that a finish needs.
    pub text: String,
    /// How long it lives if it is neither finished nor renewed.
    pub lives: Nanos,
}

/// What was charged for an admitted request, and to whom.
#[derive(Clone, Debug)]
pub struct Permit {
    pub(crate) decision: DecisionId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) home: HomeId,
    pub(crate) account: u64,
    pub(crate) key: u64,
    /// The number of the key, tagged with its environment.
    pub(crate) key_number: Option<NonZeroU32>,
    pub(crate) route: Option<RouteIndex>,
    pub(crate) route_number: u32,
    /// What it costs; nothing: it is free. See [`Permit::usage`].
    pub(crate) cost: Option<Amount>,
    pub(crate) settles: Settles,
    pub(crate) charged_at: Timestamp,
    pub(crate) slot: SlotKey,
    /// For how long a service holds it, where it has said so.
    pub(crate) hold: Option<Nanos>,
    /// The number of the tier that it was charged under.
    pub(crate) tier: u32,
    /// When that tier returns quota.
    pub(crate) refund_on: RefundOn,
    /// The limits that it was charged under, where `plan` has those of now.
    pub(crate) limits: Option<Box<[LimitPrint]>>,
    /// Its caller's name for it, which every attempt to serve it has.
    pub(crate) name: Option<PermitName>,
    pub(crate) kept: Kept,
    /// What records of it say beside the numbers.
    pub(crate) flags: Flags,
}

/// Which slot a request holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotKey {
    /// Who holds it among all who share a store. Nothing: this node.
    pub(crate) holder: Option<u64>,
    pub(crate) id: SlotId,
}

impl SlotKey {
    /// The slot that a decision takes. That of a service is the same for every node.
    #[inline]
    pub(crate) fn of(decision: DecisionId) -> Self {
        let (holder, id) = decision.slot();
        Self { holder: (decision.finisher() == Finisher::Service).then_some(holder), id }
    }
}

/// The name of a request, and when another attempt under it is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PermitName {
    pub(crate) idempotency: Idempotency,
    pub(crate) rule: ReplayRule,
}

/// Where the meters are that were charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// In the store.
    Store,
    /// In this process, because the store was away.
    Here,
}

/// What the end of a request settles, besides its place in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settles {
    /// What it cost in the end.
    TrueCost,
    /// Nothing: it repeats a request whose own end settles the cost.
    Nothing,
    /// Usage of a connection that was admitted before. Only quotas are charged: its rates and slots were charged when
    /// the connection began.
    QuotaOnly,
}

impl Permit {
    /// What a request with this permit takes. One that is free takes a place in flight and nothing else.
    pub(crate) fn charges(&self) -> Charges {
        match (self.cost, self.settles) {
            (None, _) => Charges::Slots,
            (Some(_), Settles::TrueCost) => Charges::All,
            (Some(_), Settles::Nothing) => Charges::Again,
            (Some(_), Settles::QuotaOnly) => Charges::AmountsBut(self.plan.tariff.rates()),
        }
    }

    /// What of it is usage, which is recorded: nothing of a repeat.
    pub(crate) fn usage(&self) -> Option<Amount> {
        self.cost.filter(|_| self.settles != Settles::Nothing)
    }

    /// It turned out to be that of a free repeat of an earlier request.
    pub(crate) fn replay(&mut self, first: DecisionId) {
        self.decision = first;
        self.settles = Settles::Nothing;
    }

    /// Whether it is a free repeat of an earlier request.
    pub(crate) fn is_replay(&self) -> bool {
        self.settles == Settles::Nothing
    }

    /// What the end of the request means for its name. Nothing where that does not matter.
    pub(crate) fn attempt_end(&self, failed: bool, settled: u64) -> Option<(PermitName, AttemptEnd)> {
        let name = self.name?;
        let end = if !self.is_replay() && settled == 0 {
            AttemptEnd::Refunded
        } else if failed {
            AttemptEnd::Failed
        } else {
            AttemptEnd::Delivered
        };
        (end == AttemptEnd::Refunded || name.rule == ReplayRule::AfterFailure).then_some((name, end))
    }

    /// Whether a service holds a slot under it, which outlives this process.
    #[inline]
    pub(crate) fn is_held_by_service(&self) -> bool {
        self.slot.holder.is_some() && self.plan.tariff.takes_slots()
    }

    /// How long it lives: as long as its shortest slot, if it was not said for how long it is held.
    pub(crate) fn lease(&self) -> Nanos {
        self.hold.unwrap_or_else(|| self.plan.tariff.leases().min().unwrap_or(LEASE_DEFAULT))
    }

    /// Its slot, held from now on.
    pub(crate) fn slot_hold(&self) -> SlotHold {
        SlotHold { id: self.slot.id, hold: self.hold }
    }
}
