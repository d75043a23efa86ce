//! Permits that are handed to services: given out, read again at any node, and renewed.

use std::sync::Arc;

use sluicegate_core::plan::Mode;
use sluicegate_core::policy::RouteIndex;
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::{Charges, Plan};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::{Flags, Kind, Record};
use sluicegate_store::directory::Standing;

use crate::engine::Engine;
use crate::finish::FinishError;
use crate::idempotency::ReplayRule;
use crate::ids::Finisher;
use crate::permit::seal::SealedPermit;
use crate::permit::{HandedPermit, Kept, LATE_MAX, LimitPrint, Permit, PermitName, Settles, SlotKey};
use crate::record::record;
use crate::request::Hold;

/// Whether a record says how long a slot is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Traced {
    /// It does.
    Yes,
    /// The record of the charge says so already.
    No,
}

impl Engine {
    /// Gives the permit of a decision to the service that finishes it. Nothing if the system has no random bytes: then
    /// what it holds ends with its lease.
    pub fn keep(&self, mut permit: Box<Permit>, now: Timestamp) -> Option<HandedPermit> {
        if permit.is_replay() && permit.decision.finisher() == Finisher::Service {
            self.join_first(&mut permit, now);
        } else if permit.is_held_by_service() && permit.kept_in_memory(self) {
            // The record of a charge says how long its slot is held.
            let traced = if permit.usage().is_none() { Traced::Yes } else { Traced::No };
            self.hold_slot(&permit, traced, now);
        }
        let begins = now.max(permit.charged_at);
        self.hand_out(&permit, begins.plus(permit.lease()), permit.lease())
    }

    /// Has a free repeat of a request share the permit of the first: one slot, and one end that settles the cost.
    fn join_first(&self, permit: &mut Permit, now: Timestamp) {
        let own = permit.clone();
        permit.settles = Settles::TrueCost;
        permit.slot = SlotKey::of(permit.decision);
        permit.charged_at = Timestamp::from_nanos(permit.decision.millis().saturating_mul(1_000_000));
        if !permit.plan.tariff.takes_slots() {
            return;
        }
        match &self.shared {
            Some(shared) if permit.kept == Kept::Store => shared.swap_slots(&own, permit, now),
            _ => {
                self.release_slot(&own, now);
                self.hold_slot(permit, Traced::Yes, now);
            }
        }
    }

    /// Holds the slot of a permit for its lease, in the meters of this process.
    fn hold_slot(&self, permit: &Permit, traced: Traced, now: Timestamp) {
        // Where nodes share a store, it knows the slots that outlive this process.
        let is_traced = traced == Traced::Yes && self.shared.is_none();
        if permit.hold.is_none() && !is_traced {
            return;
        }
        let room = if is_traced { self.spool.reserve().ok() } else { None };
        let trace = Record { idempotency: None, ..record(permit, Kind::Correction, None, 0, now) };
        let trace = Record { flags: Flags::NONE, ..trace }.holding(permit.lease());
        let request = permit.request(Mode::Force, Charges::Slots, Amount::ONE, now);
        self.meters.renew_slots(&permit.plan.tariff.plan(&request), &[permit.slot_hold()], || {
            if let Some(room) = room {
                room.append(&trace);
            }
        });
    }

    /// The text of a permit that lives until then.
    fn hand_out(&self, permit: &Permit, ends: Timestamp, lives: Nanos) -> Option<HandedPermit> {
        // By its number, which no reload changes: its place is that in the policy which decided.
        let route = self.names.name(permit.route_number);
        let limits = match &permit.limits {
            Some(limits) => limits.to_vec(),
            None => permit.plan.tariff.limits().map(LimitPrint::of).collect(),
        };
        let sealed = SealedPermit {
            decision: permit.decision,
            home: permit.home,
            node: self.shared.as_ref().map_or(0, |shared| shared.node.0),
            account: permit.account,
            key: permit.key,
            key_number: permit.key_number,
            tier: permit.plan.name.clone(),
            route: route.map(|route| route.to_string()),
            cost: permit.cost,
            settles: permit.settles,
            refund_on: permit.refund_on,
            charged_at: permit.charged_at,
            ends,
            holder: permit.slot.holder.unwrap_or_default(),
            slot: permit.slot.id,
            name: permit.name.map(|name| name.idempotency),
            kept: permit.kept,
            flags: permit.flags,
            limits,
        };
        let text = self.permit_key.seal(&sealed).ok()?;
        Some(HandedPermit { text, lives })
    }

    /// What a text says that a service presents as a permit.
    pub(crate) fn open_permit(&self, text: &str, now: Timestamp) -> Result<SealedPermit, FinishError> {
        let sealed = self.permit_key.open(text).ok_or(FinishError::Unknown)?;
        if now.since(sealed.ends) > LATE_MAX {
            return Err(FinishError::TooLate);
        }
        let node = self.shared.as_ref().map_or(0, |shared| shared.node.0);
        if sealed.kept == Kept::Here && sealed.node != node {
            return Err(FinishError::OtherNode);
        }
        Ok(sealed)
    }

    /// The permit that a text stands for, of an account that has this now, or had it when it was deleted. Under its
    /// limits of now, if it has any: what it was charged under is known by their prints.
    pub(crate) fn permit_of(&self, sealed: SealedPermit, standing: Option<&Standing>) -> Permit {
        let policy = self.snapshot.load();
        let known = self.names.find(sealed.tier.as_str());
        let plan = match standing {
            Some(standing) => {
                let plan = policy.plan_of(standing, &self.meters, &self.names, &self.counters);
                let (account, key) = (sealed.account, sealed.key_number);
                plan.map(|plan| self.plan_with_known_key(&policy, plan, account, key))
            }
            None if sealed.account == 0 => {
                policy.client_plan_of_number(known.unwrap_or(0), &self.meters, &self.names)
            }
            None => None,
        };
        // A negotiated tier has its number since its plan was made.
        let tier = known.or_else(|| self.names.find(sealed.tier.as_str())).unwrap_or(0);
        let plan = match (plan, &self.shared) {
            (Some(plan), Some(shared)) if sealed.kept == Kept::Here => {
                let plan = shared.fallback(&plan, &policy.policy().degraded, &self.meters);
                self.client_plan_of_record(&policy, plan, sealed.flags)
            }
            (Some(plan), _) => self.client_plan_of_record(&policy, plan, sealed.flags),
            (None, _) => Arc::new(Plan::without_limits(sealed.tier.clone(), tier)),
        };
        let route_number = sealed.route.as_deref().and_then(|name| self.names.find(name)).unwrap_or(0);
        let route: Option<RouteIndex> =
            if route_number == 0 { None } else { policy.route_of_number(route_number) };
        Permit {
            decision: sealed.decision,
            plan,
            home: sealed.home,
            account: sealed.account,
            key: sealed.key,
            key_number: sealed.key_number,
            route,
            route_number,
            cost: sealed.cost,
            settles: sealed.settles,
            charged_at: sealed.charged_at,
            slot: SlotKey { holder: Some(sealed.holder), id: sealed.slot },
            hold: None,
            tier,
            refund_on: sealed.refund_on,
            limits: Some(sealed.limits.into()),
            name: sealed.name.map(|idempotency| PermitName { idempotency, rule: ReplayRule::Vouched }),
            kept: sealed.kept,
            flags: sealed.flags | Flags::FINISHED,
        }
    }

    /// Has a permit live for so long from now on, and its slot be held as long. The text that is returned replaces the
    /// one that was presented, which stays good for finishing.
    pub async fn renew_kept(
        &self,
        text: &str,
        hold: Nanos,
        now: Timestamp,
    ) -> Result<HandedPermit, FinishError> {
        match &self.shared {
            None => self.renew_kept_here(text, hold, now),
            Some(shared) => Box::pin(self.renew_shared(shared, text, hold, now)).await,
        }
    }

    /// As [`Engine::renew_kept`], where no store has to be asked: see [`Engine::is_shared`].
    pub fn renew_kept_here(
        &self,
        text: &str,
        hold: Nanos,
        now: Timestamp,
    ) -> Result<HandedPermit, FinishError> {
        let sealed = self.open_to_renew(text, now)?;
        let standing = self.standing_here(sealed.account);
        let permit = self.permit_of(sealed, standing.as_deref());
        self.renew_in_memory(permit, hold, now)
    }

    /// What a text says of a permit whose lease has not ended: of one that has, the slot may be another's.
    pub(crate) fn open_to_renew(&self, text: &str, now: Timestamp) -> Result<SealedPermit, FinishError> {
        let sealed = self.open_permit(text, now)?;
        if now >= sealed.ends { Err(FinishError::Expired) } else { Ok(sealed) }
    }

    /// Renews a permit whose slot is in the meters of this process.
    pub(crate) fn renew_in_memory(
        &self,
        mut permit: Permit,
        hold: Nanos,
        now: Timestamp,
    ) -> Result<HandedPermit, FinishError> {
        let held = self.finished.hold(permit.decision);
        if held.finished().is_some() {
            return Err(FinishError::Finished);
        }
        permit.hold = Hold::For(hold).span();
        if permit.is_held_by_service() {
            self.hold_slot(&permit, Traced::Yes, now);
        }
        drop(held);
        self.handed_on(permit, now)
    }

    /// The text of a permit that was renewed.
    pub(crate) fn handed_on(&self, mut permit: Permit, now: Timestamp) -> Result<HandedPermit, FinishError> {
        permit.flags = permit.flags.without(Flags::FINISHED);
        let lives = permit.lease();
        self.hand_out(&permit, now.plus(lives), lives).ok_or(FinishError::Unavailable)
    }

    /// Frees the slot of a permit that was finished before: a repeat of its request may have taken it again. Leaves a
    /// record of that only where a slot was held.
    pub(crate) fn release_again(&self, permit: &Permit, now: Timestamp) {
        if !permit.is_held_by_service() {
            return;
        }
        let held = |mode| {
            let request = permit.request(mode, Charges::Slots, Amount::ONE, now);
            let mut readings = Readings::new();
            self.meters.settle(&permit.plan.tariff.plan(&request), &mut readings);
            readings.iter().map(|reading| reading.used).sum::<u64>()
        };
        let before = held(Mode::Peek);
        let after = held(Mode::Refund { charged_at: permit.charged_at, reserved: Amount::ONE });
        if after < before && self.shared.is_none() {
            let _ = self.trace_finish(permit, permit.usage().map_or(0, Amount::get), now);
        }
    }
}

impl Permit {
    /// Whether its slot is in the meters of this process.
    fn kept_in_memory(&self, engine: &Engine) -> bool {
        engine.shared.is_none() || self.kept == Kept::Here
    }
}
