//! One request on its way, and what a decision on it is made of.

use std::sync::Arc;

use sluicegate_core::limit::Axis;
use sluicegate_core::plan::Mode;
use sluicegate_core::policy::{Durability, RefundOn, Repeats, Route, RouteIndex};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::Flags;
use sluicegate_store::directory::{LookedAccount, Verified};
use sluicegate_store::redis::Expiry;

use super::{Caller, Settled, Shown};
use crate::ErrorCode;
use crate::decision::{Answer, Decision, Denial, StoreMode, Who};
use crate::ids::DecisionId;
use crate::permit::{Kept, Permit, Settles};
use crate::request::{CallerRequest, Hold, Name, Purpose};
use crate::snapshot::PolicySnapshot;
use crate::thresholds::Payer;
use crate::watch::Standing;

/// One request on its way.
pub(crate) struct Way<'w> {
    pub(crate) request: &'w CallerRequest<'w>,
    pub(crate) policy: Arc<PolicySnapshot>,
    pub(crate) id: DecisionId,
    pub(crate) slot: SlotId,
    pub(crate) now: Timestamp,
    /// What the key was found to be, where that was looked up before.
    pub(crate) verified: Option<Verified>,
    /// What the account is that whoever asks vouches for, where that was looked up before.
    pub(crate) account: Option<LookedAccount>,
    /// By when it should be decided, where that has to be waited for.
    pub(crate) by: Option<Expiry>,
}

impl Way<'_> {
    /// The caller's name for the request, if it is one that may be repeated on its route.
    pub(crate) fn name_at(&self, route: Option<&Route>) -> Option<Name<'_>> {
        let name = self.request.idempotency_key?;
        let free = route.is_none_or(|route| route.repeats == Repeats::Free);
        (free && self.request.purpose == Purpose::Charge).then_some(name)
    }

    /// Whether it is charged or only looked at.
    pub(crate) fn mode(&self) -> Mode {
        if self.request.purpose == Purpose::Peek { Mode::Peek } else { Mode::Charge }
    }

    /// The decision on a request whose limits have answered.
    pub(crate) fn conclude(
        &self,
        caller: Caller,
        mut permit: Permit,
        settled: Settled,
        answer: Answer,
        shown: Shown,
    ) -> Decision {
        let kept = answer == Answer::Admitted
            && self.mode() == Mode::Charge
            && (self.request.hold == Hold::Yes
                || permit.plan.tariff.has(Axis::Concurrency)
                || permit.plan.refund_on == RefundOn::ServerError);
        let mut decision = self.decision(caller, permit.route, answer);
        if decision.is_admitted() {
            // A repeat has the decision that it repeats. A refusal is a new one.
            decision.id = permit.decision;
        }
        decision.limits = shown.limits;
        decision.who.conduct = shown.conduct;
        decision.pending = settled.recorded.filter(|_| self.is_strict());
        if let Outcome::Admitted { overage } = settled.outcome {
            permit.overage = overage;
        }
        decision.charged = decision.pending.map(|_| Box::new(permit.clone()));
        decision.permit = kept.then(|| Box::new(permit));
        decision
    }

    pub(super) fn permit(&self, caller: &Caller, route: Option<(RouteIndex, &Route)>) -> Permit {
        let index = route.map(|(index, _)| index);
        let cost = match (self.request.cost, route) {
            (Some(cost), _) => Some(cost),
            (None, Some((_, route))) => Amount::new(route.cost),
            (None, None) => Some(Amount::ONE),
        };
        let key = caller.key.as_ref();
        Permit {
            decision: self.id,
            plan: Arc::clone(&caller.plan),
            home: caller.home,
            account: caller.account.as_ref().map_or(0, |account| account.serial),
            key: key.map_or(0, |key| key.serial),
            key_number: key.map(|key| key.tagged_number()),
            route: index,
            route_number: self.policy.route_number(index),
            cost,
            overage: 0,
            settles: Settles::TrueCost,
            charged_at: self.now,
            slot: self.slot,
            idempotency: None,
            kept: Kept::Store,
            flags: Flags::NONE,
        }
    }

    pub(crate) fn request_of(&self, permit: &Permit, mode: Mode, charges: Charges) -> Request {
        permit.request(mode, charges, permit.cost.unwrap_or(Amount::ONE), self.now)
    }

    /// Whether the answer waits for the disk.
    pub(crate) fn is_strict(&self) -> bool {
        self.policy.policy().ledger.durability == Durability::Strict
    }

    /// Refuses a caller that is not known.
    pub(super) fn refuse(&self, error: ErrorCode) -> Decision {
        let mut decision = self.refuse_unknown(Denial::of(error));
        if error == ErrorCode::Unavailable {
            decision.deny_unavailable();
        }
        decision
    }

    /// Refuses a caller, whoever it is.
    pub(super) fn refuse_unknown(&self, denial: Denial) -> Decision {
        Decision {
            id: self.id,
            answer: Answer::Denied(denial),
            plan: None,
            account: None,
            policy: Arc::clone(&self.policy),
            route: None,
            now: self.now,
            limits: Vec::new(),
            charged: None,
            permit: None,
            pending: None,
            mode: StoreMode::Normal,
            standing: Standing::GOOD,
            ticket: None,
            who: Who::default(),
            late: None,
        }
    }

    pub(crate) fn decision(&self, caller: Caller, route: Option<RouteIndex>, answer: Answer) -> Decision {
        Decision {
            id: self.id,
            answer,
            plan: Some(caller.plan),
            account: caller.account,
            policy: Arc::clone(&self.policy),
            route,
            now: self.now,
            limits: Vec::new(),
            charged: None,
            permit: None,
            pending: None,
            mode: StoreMode::Normal,
            standing: Standing::GOOD,
            ticket: None,
            who: Who { key: caller.key, client: caller.client, conduct: None },
            late: None,
        }
    }
}

impl Permit {
    /// The request that this permit was given for, as limits see it.
    pub(crate) fn request(&self, mode: Mode, which: Charges, cost: Amount, now: Timestamp) -> Request {
        let (home, key, route, slot) = (self.home, self.key_number, self.route, self.slot);
        Request { home, key, route, cost, now, mode, slot, which }
    }

    /// Who pays for it.
    pub(crate) fn payer(&self) -> Payer {
        Payer { home: self.home, account: self.account, key: self.key }
    }
}
