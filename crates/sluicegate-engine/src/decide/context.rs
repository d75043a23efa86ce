//! What is known of one request from the moment it is asked about: taken once, and handed through to its decision.

use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::policy::{Durability, Repeats, Route, RouteIndex};
use sluicegate_core::rule::Amount;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::Flags;
use sluicegate_store::directory::{LookedAccount, Verified};
use sluicegate_store::redis::Expiry;

use super::Caller;
use crate::ErrorCode;
use crate::decision::{Answer, Decision, Denial, StoreMode, Who};
use crate::idempotency::ReplayRule;
use crate::identify::Client;
use crate::ids::DecisionId;
use crate::jwt::VerifiedToken;
use crate::permit::{Kept, Permit, Settles, SlotKey};
use crate::request::{CallerRequest, Credential, Name, Purpose};
use crate::snapshot::PolicySnapshot;
use crate::thresholds::Payer;
use crate::watch::Standing;

/// One request. Policy, id and time are read once, when it is asked about: it is identified, decided and answered by
/// the same ones, whatever is reloaded meanwhile.
pub(crate) struct RequestContext<'w> {
    pub(crate) request: &'w CallerRequest<'w>,
    pub(crate) policy: Arc<PolicySnapshot>,
    /// What the caller presents, as this policy reads it.
    pub(crate) credential: Credential<'w>,
    pub(crate) id: DecisionId,
    pub(crate) now: Timestamp,
    /// Who the token stands for that is presented in the place of a key.
    pub(crate) token: Option<Result<Arc<VerifiedToken>, ErrorCode>>,
    /// What the key was found to be, where that was looked up before.
    pub(crate) verified: Option<Verified>,
    /// What the account is that whoever asks vouches for, where that was looked up before.
    pub(crate) account: Option<LookedAccount>,
    /// Who the caller is without a key, where that was looked up before.
    pub(crate) client: Option<Client>,
    /// By when it should be decided, where that has to be waited for.
    pub(crate) by: Option<Expiry>,
}

impl RequestContext<'_> {
    /// The caller's name for the request, and when a repeat of it is free. Nothing where names mean nothing.
    pub(super) fn name_at(&self, route: Option<&Route>) -> Option<(Name<'_>, ReplayRule)> {
        let name = self.request.idempotency_key?;
        let repeats = route.map_or_else(Repeats::default, |route| route.repeats);
        let rule = ReplayRule::of(repeats, self.request.front)?;
        (self.request.purpose == Purpose::Charge).then_some((name, rule))
    }

    /// Whether it is charged or only looked at.
    pub(crate) fn mode(&self) -> Mode {
        if self.request.purpose == Purpose::Peek { Mode::Peek } else { Mode::Charge }
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
            settles: Settles::TrueCost,
            charged_at: self.now,
            slot: SlotKey::of(self.id),
            hold: self.request.hold.span(),
            tier: caller.plan.number,
            refund_on: caller.plan.refund_on,
            limits: None,
            name: None,
            kept: Kept::Store,
            flags: flags_of(caller),
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

/// What records of a caller's requests say beside the numbers.
#[inline]
fn flags_of(caller: &Caller) -> Flags {
    let flags = caller.watched.flags();
    match &caller.key {
        Some(key) if key.restrictions.is_some() && key.limits().is_some() => flags | Flags::KEY_LIMITS,
        _ => flags,
    }
}

impl Permit {
    /// The request that this permit was given for, as limits see it.
    pub(crate) fn request(&self, mode: Mode, which: Charges, cost: Amount, now: Timestamp) -> Request {
        let (home, key, route, slot) = (self.home, self.key_number, self.route, self.slot.id);
        Request { home, key, route, cost, now, mode, slot, which }
    }

    /// What frees the slots of it.
    pub(crate) fn release(&self, now: Timestamp) -> Request {
        let mode = Mode::Refund { charged_at: self.charged_at, reserved: Amount::ONE };
        self.request(mode, Charges::Slots, Amount::ONE, now)
    }

    /// Who pays for it.
    pub(crate) fn payer(&self) -> Payer {
        Payer { home: self.home, account: self.account, key: self.key }
    }
}
