//! Everything before the meters are asked. It does no I/O and never waits.
//!
//! The order is part of the contract: who is calling, before anything about limits is disclosed; scopes, before
//! anything is charged; then all limits together.

use std::num::NonZeroU32;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::Axis;
use sluicegate_core::policy::{Bypass, DegradedQuota, Policy, Route};
use sluicegate_core::rule::Amount;
use sluicegate_core::tariff::Plan;
use sluicegate_ledger::{Idempotency, Kind, Reservation};

use super::identify::IdentifyError;
use super::{Attempt, Caller, Next, Question, RequestContext};
use crate::ErrorCode;
use crate::decision::{Answer, Decision, Denial, StoreMode};
use crate::engine::{Counters, Engine};
use crate::permit::{Permit, PermitName};
use crate::record::record;
use crate::request::{Name, Purpose};
use crate::shed::Ticket;
use crate::snapshot::PolicySnapshot;

impl Engine {
    /// Decides what can be decided without asking a meter.
    #[inline]
    pub(crate) fn prepare(&self, context: &RequestContext<'_>) -> Next {
        if let Some(denial) = self.at_the_edge(context) {
            return Next::Decided(context.refuse_unknown(denial));
        }
        let caller = match self.identify(context) {
            Ok(caller) => caller,
            Err(IdentifyError::Refused(refused)) => {
                let (denial, who) = *refused;
                let mut decision = context.refuse_unknown(denial);
                decision.who = who;
                return Next::Decided(decision);
            }
            Err(IdentifyError::Error(error)) => return Next::Decided(context.refuse(error)),
        };
        let policy = context.policy.policy();
        let route = policy.routes.find(context.request.method, context.request.path);
        let mut permit = context.permit(&caller, route);
        if caller.plan.bypass == Bypass::Yes {
            return Next::Decided(self.admit_bypass(context, caller, &permit));
        }
        let route = route.map(|(_, route)| route);
        if let Some(error) = lacks_scope(&caller, scope_of(policy, route)) {
            return explain(caller, permit, Denial::of(error));
        }
        if let Some((Name::Malformed, _)) = context.name_at(route) {
            return explain(caller, permit, Denial::of(ErrorCode::InvalidIdempotencyKey));
        }
        match self.place(context, &caller, route) {
            Ok(load_permit) => {
                permit.name = self.idempotency_name(context, &caller, &permit, route);
                self.attempt(caller, permit, load_permit)
            }
            Err(overloaded) if self.shared.is_some() => {
                // Its limits would cost a round trip to the store that is overloaded already.
                let denied = Answer::Denied(overloaded.denial());
                Next::Decided(context.decision(caller, permit.route, denied))
            }
            Err(overloaded) => explain(caller, permit, overloaded.denial()),
        }
    }

    #[inline]
    pub(super) fn attempt(&self, caller: Caller, permit: Permit, load_permit: Option<Ticket>) -> Next {
        let reputation = self.guess(&caller.plan, &caller.watched);
        let mut attempt = Attempt {
            caller,
            permit,
            question: Question::Charge,
            load_permit,
            reputation,
            mode: StoreMode::Normal,
        };
        self.scale(&mut attempt);
        Next::Ask(attempt)
    }

    /// Gives an attempt the limits of its caller's reputation, and of whatever else scales them.
    #[inline]
    pub(super) fn scale(&self, attempt: &mut Attempt) {
        let Attempt { caller, permit, reputation, .. } = attempt;
        permit.plan = self.plan_for(&caller.plan, &caller.watched, *reputation);
    }

    /// Admits a caller whose limits are not asked. It is recorded like any other.
    pub(super) fn admit_bypass(
        &self,
        context: &RequestContext<'_>,
        caller: Caller,
        permit: &Permit,
    ) -> Decision {
        if context.request.purpose == Purpose::Charge {
            match self.spool.reserve() {
                Ok(room) => drop(room.append(&record(permit, Kind::Charge, permit.cost, 0, context.now))),
                Err(_) => Counters::count(&self.counters.unrecorded),
            }
        }
        context.decision(caller, permit.route, Answer::Admitted)
    }

    /// Room for the record of an attempt, or whether the request is decided without one.
    #[inline]
    pub(super) fn reserve_record(
        &self,
        policy: &PolicySnapshot,
        plan: &Plan,
    ) -> Result<Option<Reservation<'_>>, ErrorCode> {
        match self.spool.reserve() {
            Ok(room) => Ok(Some(room)),
            Err(_)
                if plan.tariff.has(Axis::Quota)
                    && policy.policy().degraded.quota == DegradedQuota::Closed =>
            {
                Err(ErrorCode::Unavailable)
            }
            Err(_) => {
                Counters::count(&self.counters.unrecorded);
                Ok(None)
            }
        }
    }

    /// The name of a request, and what it stands for, if it has one: its method, path, query and cost. Nobody reads
    /// bodies. Where quotas are per key, so are names; those of test keys are apart as their quotas are.
    #[inline]
    fn idempotency_name(
        &self,
        context: &RequestContext<'_>,
        caller: &Caller,
        permit: &Permit,
        route: Option<&Route>,
    ) -> Option<PermitName> {
        context.request.idempotency_key?;
        let (Name::Given { text, query }, rule) = context.name_at(route)? else { return None };
        let request = context.request;
        let number = match permit.key_number {
            Some(number) if permit.plan.tariff.has_quota_per_key() => Some(number),
            // What a test key was charged for, a live key was not.
            Some(number) if KeyEnv::of_tagged(number) == KeyEnv::Test => Some(KeyEnv::TEST_KEYS),
            _ => None,
        };
        let number = number.map_or(0, NonZeroU32::get).to_le_bytes();
        // Callers that share meters do not share names.
        let client = caller.client.filter(|_| !caller.watched.is_alone());
        let key = match (client, number) {
            (Some(client), _) => {
                self.homes.of_parts(&[b"idempotency", text.as_bytes(), &client.0.0.to_le_bytes()])
            }
            (None, [0, 0, 0, 0]) => self.homes.of_parts(&[b"idempotency", text.as_bytes()]),
            (None, number) => self.homes.of_parts(&[b"idempotency", text.as_bytes(), &number]),
        };
        let cost = permit.cost.map_or(0, Amount::get).to_le_bytes();
        let parts = [request.method.as_bytes(), request.path.as_bytes(), &cost];
        let same = match query {
            None => self.homes.of_parts(&parts),
            Some(query) => self.homes.of_parts(&[parts[0], parts[1], parts[2], query.as_bytes()]),
        };
        #[expect(clippy::cast_possible_truncation, reason = "half of a keyed hash is enough within one home")]
        // Zero stands for no name in records.
        let idempotency = Idempotency { key: (key.0 as u64).max(1), request: (same.0 as u64).max(1) };
        Some(PermitName { idempotency, rule })
    }
}

/// Refuses a known caller for a reason that is no limit's. Its limits are shown as they are.
fn explain(caller: Caller, permit: Permit, denial: Denial) -> Next {
    Next::Ask(Attempt {
        caller,
        permit,
        question: Question::Explain(denial),
        load_permit: None,
        reputation: None,
        mode: StoreMode::Normal,
    })
}

/// The scope that a request needs: its route's, or the default one if it matches none.
pub(super) fn scope_of<'p>(policy: &'p Policy, route: Option<&'p Route>) -> Option<&'p str> {
    match route {
        Some(route) => route.scope.as_deref(),
        None => policy.default_scope.as_deref(),
    }
}

pub(super) fn lacks_scope(caller: &Caller, scope: Option<&str>) -> Option<ErrorCode> {
    let scope = scope?;
    if let Some(token) = &caller.token {
        return (!token.scopes.admit(scope)).then_some(ErrorCode::InsufficientScope);
    }
    match &caller.key {
        Some(key) if key.scopes.admit(scope) => None,
        Some(_) => Some(ErrorCode::InsufficientScope),
        // A front end that asserts an account is responsible for its scopes.
        None if caller.is_asserted() => None,
        None => Some(ErrorCode::MissingKey),
    }
}
