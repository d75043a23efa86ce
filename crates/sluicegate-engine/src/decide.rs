//! The way of a request.

mod back;
mod way;
mod who;

use sluicegate_core::limit::{Axis, Limit, RefusalStatus};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::{ChargePlan, Due, Mode};
use sluicegate_core::policy::{Bucket, Bypass, DegradedQuota, Reputation, Route};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{Charges, Plan};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::{Idempotency, Kind, Position, Reservation};

use crate::ErrorCode;
use crate::decision::{Answer, Decision, Denial};
use crate::engine::{Counters, Engine};
use crate::permit::{Kept, Permit};
use crate::pulse::Conduct;
use crate::record::record;
use crate::request::{CallerRequest, Name, Purpose};
use crate::shed::Ticket;
use crate::snapshot::PolicySnapshot;

pub(crate) use way::Way;
pub(crate) use who::Caller;
use who::Unknown;

/// What became of a plan.
#[derive(Clone, Copy)]
pub(crate) struct Settled {
    pub(crate) outcome: Outcome,
    pub(crate) recorded: Option<Position>,
}

/// What is shown of the meters of a plan that was settled.
#[derive(Default)]
pub(crate) struct Shown {
    /// What its limits say.
    pub(crate) limits: Vec<LimitNow>,
    /// What is remembered of the caller's conduct, if a limit has refused.
    pub(crate) conduct: Option<Box<[Conduct]>>,
}

impl Shown {
    pub(crate) fn of(plan: &ChargePlan<'_>, readings: &Readings, outcome: Outcome) -> Self {
        let limits = LimitNow::all(plan, readings);
        let is_shown = !plan.is_plain() && !matches!(outcome, Outcome::Admitted { .. });
        Self { limits, conduct: is_shown.then(|| conduct(plan, readings, outcome)) }
    }
}

#[cold]
fn conduct(plan: &ChargePlan<'_>, readings: &Readings, outcome: Outcome) -> Box<[Conduct]> {
    let is_charged = outcome.charges(Due::Refusal, plan.mode);
    let meters = LimitNow::conduct(plan, readings).into_iter();
    meters.map(|(after, cost)| Conduct { after, charged: if is_charged { cost } else { 0 } }).collect()
}

/// Why a plan was not settled. Nothing was charged.
pub(crate) enum NotSettled {
    /// The caller's reputation is another than the one that the plan is for.
    Elsewhere(Bucket),
    /// For a reason that is no limit's: it could not be recorded, or its name is another's.
    Otherwise(ErrorCode),
}

/// How far a request comes before any limit is asked.
pub(crate) enum Reached {
    /// No limit has a say in it.
    Decided(Box<Decision>),
    /// The caller is known, and refused for a reason that is no limit's.
    Unfit(Caller, Permit, ErrorCode),
    /// The limits decide. It has a place at the upstream, where load is shed.
    Limits(Caller, Permit, Option<Ticket>),
}

impl Engine {
    /// Decides whether a request may pass. If it may, it has been charged and recorded.
    ///
    /// The order is part of the contract: who is calling, before anything about limits is disclosed; scopes, before
    /// anything is charged; then all limits together.
    pub fn decide(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let way = self.way(request, now);
        let mut decision = match self.until_limits(&way) {
            Reached::Decided(decision) => *decision,
            Reached::Unfit(caller, permit, error) => self.refuse_known(&way, caller, &permit, error),
            Reached::Limits(caller, permit, ticket) => {
                let decision = match self.idempotency(&way, &permit) {
                    None => self.settle(&way, caller, permit),
                    Some(name) => self.settle_once(&way, caller, permit, name),
                };
                decision.with_place(ticket)
            }
        };
        self.seen(&way, &mut decision);
        decision
    }

    /// A request at the beginning of its way.
    pub(crate) fn way<'w>(&self, request: &'w CallerRequest<'w>, now: Timestamp) -> Way<'w> {
        let (id, count) = self.ids.next(now);
        Way {
            request,
            policy: self.snapshot.load_full(),
            id,
            slot: SlotId(count),
            now,
            verified: None,
            account: None,
            by: None,
        }
    }

    /// The part of the way before any limit is asked. It never waits.
    #[inline]
    pub(crate) fn until_limits(&self, way: &Way<'_>) -> Reached {
        if let Some(denial) = self.at_the_edge(way) {
            return Reached::Decided(Box::new(way.refuse_unknown(denial)));
        }
        let caller = match self.identify(way) {
            Ok(caller) => caller,
            Err(Unknown::Refused(refused)) => {
                let (denial, who) = *refused;
                let mut decision = way.refuse_unknown(denial);
                decision.who = who;
                return Reached::Decided(Box::new(decision));
            }
            Err(Unknown::Error(error)) => return Reached::Decided(Box::new(way.refuse(error))),
        };
        let routes = &way.policy.policy().routes;
        let route = routes.find(way.request.method, way.request.path);
        let permit = way.permit(&caller, route);
        if caller.plan.bypass == Bypass::Yes {
            return Reached::Decided(Box::new(self.pass(way, caller, &permit)));
        }
        let route = route.map(|(_, route)| route);
        if let Some(error) = lacks_scope(&caller, route) {
            return Reached::Unfit(caller, permit, error);
        }
        if way.name_at(route) == Some(Name::Malformed) {
            return Reached::Unfit(caller, permit, ErrorCode::InvalidIdempotencyKey);
        }
        match self.place(way, &caller, route) {
            Ok(ticket) => Reached::Limits(caller, permit, ticket),
            Err(overloaded) => {
                Reached::Decided(Box::new(self.refuse_overloaded(way, caller, &permit, overloaded)))
            }
        }
    }

    /// Admits a caller whose limits are not asked. It is recorded like any other.
    fn pass(&self, way: &Way<'_>, caller: Caller, permit: &Permit) -> Decision {
        if way.request.purpose == Purpose::Charge {
            match self.spool.reserve() {
                Ok(room) => drop(room.append(&record(permit, Kind::Charge, permit.cost, 0, way.now))),
                Err(_) => Counters::count(&self.counters.unrecorded),
            }
        }
        way.decision(caller, permit.route, Answer::Admitted)
    }

    /// Refuses a known caller for a reason that is no limit's. Its limits are shown as they are.
    pub(crate) fn refuse_known(
        &self,
        way: &Way<'_>,
        caller: Caller,
        permit: &Permit,
        error: ErrorCode,
    ) -> Decision {
        let mut readings = Readings::new();
        let request = way.request_of(permit, Mode::Peek, Charges::All);
        let plan = permit.plan.tariff.plan(&request);
        self.meters.settle(&plan, &mut readings);
        let mut decision = way.decision(caller, permit.route, Answer::Denied(Denial::of(error)));
        decision.limits = LimitNow::all(&plan, &readings);
        if error == ErrorCode::Unavailable {
            decision.deny_unavailable();
        }
        decision
    }

    /// Settles a request that may be a repeat. The name is held meanwhile: of two at once, one is charged.
    fn settle_once(
        &self,
        way: &Way<'_>,
        caller: Caller,
        mut permit: Permit,
        idempotency: Idempotency,
    ) -> Decision {
        let mut shard = self.repeats.hold(caller.home, idempotency.key);
        match shard.find(caller.home, idempotency.key, way.now) {
            Some(charged) if charged.request != idempotency.request => {
                drop(shard);
                self.refuse_known(way, caller, &permit, ErrorCode::IdempotencyConflict)
            }
            Some(charged) => {
                drop(shard);
                // Charged already. Only what protects the service is charged again.
                permit.repeat(charged.decision);
                let decision = self.settle(way, caller, permit);
                self.repeated(way, decision)
            }
            None => {
                permit.idempotency = Some(idempotency);
                let home = caller.home;
                let decision = self.settle(way, caller, permit);
                if decision.is_admitted() {
                    shard.remember(home, idempotency, way.id, way.now);
                }
                decision
            }
        }
    }

    /// A repeat of what this node has charged.
    pub(crate) fn repeated(&self, way: &Way<'_>, mut decision: Decision) -> Decision {
        if decision.is_admitted() {
            Counters::count(&self.counters.repeated);
            if way.is_strict() {
                // The first may still be on its way to the disk; whatever was recorded before now is far enough.
                decision.pending = self.spool.tail().0.checked_sub(1).map(Position);
            }
        }
        decision
    }

    /// All limits together: every meter is charged, or none is. Under which limits, the caller's reputation says; if it
    /// turns out to be another than was thought, nothing was done, and it is asked again.
    pub(crate) fn settle(&self, way: &Way<'_>, mut caller: Caller, mut permit: Permit) -> Decision {
        let mut reputation = self.guess(&caller.plan, &caller.watched);
        loop {
            permit.plan = self.plan_for(&caller.plan, &caller.watched, reputation);
            match self.settle_under(way, &caller, &permit) {
                // Nothing was done: what is refused in a crowd is held against nobody.
                Ok((_, Answer::Denied(_), _)) if self.has_grown(&mut caller.watched) => {}
                Ok((settled, answer, shown)) => {
                    let (standing, watched) = (self.stood(&caller.watched, reputation), caller.watched);
                    let mut decision = way.conclude(caller, permit, settled, answer, shown);
                    decision.standing = standing;
                    watched.show_own_part(&mut decision.limits);
                    return decision;
                }
                Err(NotSettled::Elsewhere(bucket)) => {
                    self.learn(&caller.watched, bucket);
                    reputation = Some(bucket);
                }
                Err(NotSettled::Otherwise(error)) => return self.refuse_known(way, caller, &permit, error),
            }
        }
    }

    fn settle_under(
        &self,
        way: &Way<'_>,
        caller: &Caller,
        permit: &Permit,
    ) -> Result<(Settled, Answer, Shown), NotSettled> {
        let (mode, charges) = (way.mode(), permit.charges());
        let tariff = &permit.plan.tariff;
        let plan = tariff.plan(&way.request_of(permit, mode, charges));
        let room = match (mode, permit.usage()) {
            (Mode::Charge, Some(_)) => self.room(&way.policy, &permit.plan).map_err(NotSettled::Otherwise)?,
            _ => None,
        };
        let mut readings = Readings::new();
        let settled = self.settle_and_record(&plan, permit, room, way.now, &mut readings);
        if settled.outcome.changes_meters(mode) && permit.kept == Kept::Store {
            self.thresholds.watch(&plan, &readings, permit.payer(), &caller.plan);
        }
        let answer = self.answer(way, caller, &plan, settled.outcome, &readings)?;
        let mut shown = Shown::of(&plan, &readings, settled.outcome);
        if charges != Charges::All {
            // What it does not take is shown all the same.
            let all = tariff.plan(&way.request_of(permit, Mode::Peek, Charges::All));
            self.meters.settle(&all, &mut readings);
            shown.limits = LimitNow::all(&all, &readings);
        }
        Ok((settled, answer, shown))
    }

    /// What a plan's outcome means for the request, and for its caller.
    #[inline]
    pub(crate) fn answer(
        &self,
        way: &Way<'_>,
        caller: &Caller,
        plan: &ChargePlan<'_>,
        outcome: Outcome,
        readings: &Readings,
    ) -> Result<Answer, NotSettled> {
        match outcome {
            Outcome::Elsewhere { remaining } => {
                Err(NotSettled::Elsewhere(Reputation::bucket(u8::try_from(remaining).unwrap_or(u8::MAX))))
            }
            Outcome::Conflicts => Err(NotSettled::Otherwise(ErrorCode::IdempotencyConflict)),
            Outcome::Refused { by, retry_after } => {
                let retry_after = self.told_wait(way, caller, plan, readings, retry_after);
                Ok(answer_of(plan, Outcome::Refused { by, retry_after }))
            }
            Outcome::NeverFits { by } => Ok(self.too_large(way, caller, plan, by, readings)),
            Outcome::Admitted { .. } => Ok(Answer::Admitted),
        }
    }

    fn settle_and_record(
        &self,
        plan: &ChargePlan<'_>,
        permit: &Permit,
        room: Option<Reservation<'_>>,
        now: Timestamp,
        readings: &mut Readings,
    ) -> Settled {
        let mut recorded = None;
        let outcome = self.meters.settle_then(plan, readings, |outcome| {
            if let (Some(room), Outcome::Admitted { overage }) = (room, outcome) {
                recorded = Some(room.append(&record(permit, Kind::Charge, permit.cost, overage, now)));
            }
        });
        Settled { outcome, recorded }
    }

    /// Room for a record, or whether the request is decided without one.
    #[inline]
    pub(crate) fn room(
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
    /// bodies.
    #[inline]
    pub(crate) fn idempotency(&self, way: &Way<'_>, permit: &Permit) -> Option<Idempotency> {
        way.request.idempotency_key?;
        let route = permit.route.and_then(|route| way.policy.policy().routes.get(route));
        let Some(Name::Given { text, query }) = way.name_at(route) else { return None };
        let request = way.request;
        let cost = permit.cost.map_or(0, Amount::get).to_le_bytes();
        let key = self.homes.of_parts(&[b"idempotency", text.as_bytes()]);
        let parts = [request.method.as_bytes(), request.path.as_bytes(), &cost];
        let same = match query {
            None => self.homes.of_parts(&parts),
            Some(query) => self.homes.of_parts(&[parts[0], parts[1], parts[2], query.as_bytes()]),
        };
        #[expect(clippy::cast_possible_truncation, reason = "half of a keyed hash is enough within one home")]
        // Zero stands for no name in records.
        Some(Idempotency { key: (key.0 as u64).max(1), request: (same.0 as u64).max(1) })
    }
}

fn lacks_scope(caller: &Caller, route: Option<&Route>) -> Option<ErrorCode> {
    let scope = route?.scope.as_deref()?;
    match &caller.key {
        Some(key) if key.scopes.admit(scope) => None,
        Some(_) => Some(ErrorCode::InsufficientScope),
        // Whoever vouches for an account answers for what it may do.
        None if caller.is_vouched_for() => None,
        None => Some(ErrorCode::MissingKey),
    }
}

pub(crate) fn answer_of(plan: &ChargePlan<'_>, outcome: Outcome) -> Answer {
    let (by, wait) = match outcome {
        Outcome::Admitted { .. } => return Answer::Admitted,
        Outcome::Refused { by, retry_after } => (by, Some(retry_after)),
        Outcome::NeverFits { by } => (by, None),
        // Whoever expects something asks again elsewhere before it comes to an answer.
        Outcome::Elsewhere { .. } => return Answer::Denied(Denial::of(ErrorCode::Unavailable)),
        Outcome::Conflicts => return Answer::Denied(Denial::of(ErrorCode::IdempotencyConflict)),
    };
    let limit = plan.charges().get(by).map(|charge| charge.limit);
    let Some(retry_after) = wait else {
        let error = ErrorCode::CostExceedsLimit;
        return Answer::Denied(Denial { limit: limit.map(|limit| limit.name.clone()), ..Denial::of(error) });
    };
    Answer::Denied(refusal(limit, retry_after))
}

/// What a limit that refuses answers.
pub(crate) fn refusal(limit: Option<&Limit>, retry_after: Nanos) -> Denial {
    let error = match limit.map(|limit| limit.axis) {
        Some(Axis::Rate) => ErrorCode::RateLimited,
        Some(Axis::Concurrency) => ErrorCode::ConcurrencyLimited,
        Some(Axis::Quota) => ErrorCode::QuotaExceeded,
        // What is remembered of a caller's conduct refuses nothing by itself.
        Some(Axis::Conduct) | None => ErrorCode::Unavailable,
    };
    let status = limit.and_then(|limit| limit.excess.refusal());
    let status = status.map_or_else(|| error.status(), RefusalStatus::code);
    Denial { error, status, limit: limit.map(|limit| limit.name.clone()), retry_after }
}
