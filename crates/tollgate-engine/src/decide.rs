//! The way of a request.

use std::sync::Arc;

use tollgate_core::headers;
use tollgate_core::limit::{Axis, Excess};
use tollgate_core::plan::{ChargePlan, HomeId, Mode};
use tollgate_core::policy::{Bypass, DegradedQuota, Durability, RefundOn, Route, RouteIndex};
use tollgate_core::rule::Amount;
use tollgate_core::rule::concurrency::SlotId;
use tollgate_core::settle::{Outcome, Reading, Readings};
use tollgate_core::tariff::{Charges, Plan, Request};
use tollgate_core::time::{Nanos, Timestamp};
use tollgate_ledger::{Idempotency, Kind, Position, Reservation};
use tollgate_store::directory::{Account, Key, Looked, Verified};
use tollgate_store::key_text::PresentedKey;

use crate::answer::ErrorCode;
use crate::decision::{Answer, Decision, Denial, LimitNow};
use crate::engine::{Counters, Engine};
use crate::ids::DecisionId;
use crate::lines::HeaderLines;
use crate::permit::{Permit, Settles};
use crate::record::record;
use crate::request::{CallerRequest, Credential, Hold, Purpose};
use crate::snapshot::PolicySnapshot;

/// Who is calling, once that is settled.
struct Caller {
    plan: Arc<Plan>,
    home: HomeId,
    account: Option<Arc<Account>>,
    key: Option<Arc<Key>>,
}

/// One request on its way.
struct Way<'w> {
    request: &'w CallerRequest<'w>,
    policy: Arc<PolicySnapshot>,
    id: DecisionId,
    slot: SlotId,
    now: Timestamp,
}

/// What became of a plan.
struct Settled {
    outcome: Outcome,
    recorded: Option<Position>,
}

impl Engine {
    /// Decides whether a request may pass. If it may, it has been charged and recorded.
    ///
    /// The order is part of the contract: who is calling, before anything about limits is disclosed; scopes, before
    /// anything is charged; then all limits together.
    pub fn decide(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let (id, count) = self.ids.next(now);
        let way = Way { request, policy: self.snapshot.load_full(), id, slot: SlotId(count), now };
        let caller = match self.identify(&way) {
            Ok(caller) => caller,
            Err(error) => return way.refuse(error),
        };
        let routes = &way.policy.policy().routes;
        let route = routes.find(request.method, request.path);
        let permit = way.permit(&caller, route);
        if caller.plan.bypass == Bypass::Yes {
            return self.pass(&way, caller, &permit);
        }
        if let Some(error) = lacks_scope(&caller, route.map(|(_, route)| route)) {
            return self.refuse_known(&way, caller, &permit, error);
        }
        match request.idempotency_key.filter(|_| request.purpose == Purpose::Charge) {
            None => self.settle(&way, caller, permit),
            Some(name) => self.settle_once(&way, caller, permit, name),
        }
    }

    /// Who is calling, and under which plan.
    fn identify(&self, way: &Way<'_>) -> Result<Caller, ErrorCode> {
        let (text, wanted) = match way.request.credential {
            Credential::Key(text) => (text, Bypass::No),
            // A service token is a key of an account whose tier is a bypass, in a header of its own. Neither kind is
            // accepted in the other's place: a leaked API key never becomes a bypass.
            Credential::ServiceToken(text) => (text, Bypass::Yes),
            Credential::Ambiguous => return Err(ErrorCode::AmbiguousKey),
            Credential::Nothing { address, headers } => {
                let plan =
                    way.policy.anonymous_plan(&self.meters, &self.names).ok_or(ErrorCode::MissingKey)?;
                let home = crate::identify::client_home(&self.homes, way.policy.policy(), address, headers);
                return Ok(Caller { plan, home, account: None, key: None });
            }
        };
        let presented = PresentedKey::parse(text).map_err(|_| ErrorCode::InvalidKey)?;
        let key = match self.directory.verify(&presented, way.now) {
            Looked::Known(Verified::Key(key)) => key,
            Looked::Known(Verified::Invalid) => return Err(ErrorCode::InvalidKey),
            // Whoever calls has fetched the key before, or the store is away.
            Looked::Ask => match self.directory.known_while_away(&presented, way.now) {
                Some(Verified::Key(key)) => key,
                Some(Verified::Invalid) => return Err(ErrorCode::InvalidKey),
                None => return Err(ErrorCode::Unavailable),
            },
        };
        let account = Arc::clone(&key.account);
        let plan = way
            .policy
            .plan_of(&account.standing.load(), &self.meters, &self.names, &self.counters)
            .ok_or(ErrorCode::Unavailable)?;
        if plan.bypass != wanted {
            return Err(ErrorCode::InvalidKey);
        }
        Ok(Caller { plan, home: account.home, account: Some(account), key: Some(key) })
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
    fn refuse_known(&self, way: &Way<'_>, caller: Caller, permit: &Permit, error: ErrorCode) -> Decision {
        let mut readings = Readings::new();
        let request = way.request_of(permit, Mode::Peek, Charges::All);
        let plan = permit.plan.tariff.plan(&request);
        let outcome = self.meters.settle(&plan, &mut readings);
        // A peek that would be refused is no reason to say "retry after": it is not why this was refused.
        let outcome =
            if let Outcome::Admitted { .. } = outcome { outcome } else { Outcome::Admitted { overage: 0 } };
        let shown = Shown::of(&plan, outcome, &readings, &way.policy);
        let denial = Denial::of(error);
        shown.into_decision(way.decision(caller, permit.route, Answer::Denied(denial)))
    }

    /// Settles a request that may be a repeat. The name is held meanwhile: of two at once, one is charged.
    fn settle_once(&self, way: &Way<'_>, caller: Caller, mut permit: Permit, name: &str) -> Decision {
        let idempotency = self.idempotency(way, name, permit.cost);
        let mut shard = self.repeats.hold(caller.home, idempotency.key);
        match shard.find(caller.home, idempotency.key, way.now) {
            Some(charged) if charged.request != idempotency.request => {
                drop(shard);
                self.refuse_known(way, caller, &permit, ErrorCode::IdempotencyConflict)
            }
            Some(charged) => {
                drop(shard);
                // Charged already. Only what a request in flight takes is taken again.
                permit.decision = charged.decision;
                permit.cost = None;
                permit.settles = Settles::Nothing;
                permit.charged_at = way.now;
                let mut decision = self.settle(way, caller, permit);
                decision.id = charged.decision;
                if way.is_strict() && decision.is_admitted() {
                    // The first may still be on its way to the disk; whatever was recorded before now is far enough.
                    decision.pending = self.spool.tail().0.checked_sub(1).map(Position);
                }
                decision
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

    /// All limits together: every meter is charged, or none is.
    fn settle(&self, way: &Way<'_>, caller: Caller, mut permit: Permit) -> Decision {
        let Way { policy, now, .. } = way;
        let mode = if way.request.purpose == Purpose::Peek { Mode::Peek } else { Mode::Charge };
        // A free request, or one that was charged before, takes a place in flight and nothing else.
        let charges = if permit.cost.is_some() { Charges::All } else { Charges::Slots };
        let sold = Arc::clone(&permit.plan);
        let tariff = &sold.tariff;
        let plan = tariff.plan(&way.request_of(&permit, mode, charges));
        let room = match (mode, permit.cost) {
            (Mode::Charge, Some(_)) => match self.room(policy, &sold) {
                Ok(room) => room,
                Err(error) => return self.refuse_known(way, caller, &permit, error),
            },
            _ => None,
        };
        let mut readings = Readings::new();
        let settled = self.settle_and_record(&plan, &permit, room, *now, &mut readings);
        let answer = answer_of(&plan, settled.outcome);
        let shown = if charges == Charges::All {
            Shown::of(&plan, settled.outcome, &readings, policy)
        } else {
            // What it does not take is shown all the same.
            let all = tariff.plan(&way.request_of(&permit, Mode::Peek, Charges::All));
            self.meters.settle(&all, &mut readings);
            Shown::of(&all, among(&plan, settled.outcome, &all), &readings, policy)
        };
        let admitted = answer == Answer::Admitted && mode == Mode::Charge;
        let kept = admitted
            && (way.request.hold == Hold::Yes
                || tariff.has(Axis::Concurrency)
                || sold.refund_on == RefundOn::ServerError);
        let mut decision = shown.into_decision(way.decision(caller, permit.route, answer));
        decision.pending = settled.recorded.filter(|_| way.is_strict());
        if let Outcome::Admitted { overage } = settled.outcome {
            permit.overage = overage;
        }
        decision.charged = decision.pending.map(|_| Box::new(permit.clone()));
        decision.permit = kept.then(|| Box::new(permit));
        decision
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
    fn room(&self, policy: &PolicySnapshot, plan: &Plan) -> Result<Option<Reservation<'_>>, ErrorCode> {
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

    fn idempotency(&self, way: &Way<'_>, name: &str, cost: Option<Amount>) -> Idempotency {
        let request = way.request;
        let cost = cost.map_or(0, Amount::get).to_le_bytes();
        let key = self.homes.of_parts(&[b"idempotency", name.as_bytes()]);
        let same = self.homes.of_parts(&[request.method.as_bytes(), request.path.as_bytes(), &cost]);
        #[expect(clippy::cast_possible_truncation, reason = "half of a keyed hash is enough within one home")]
        // Zero stands for no name in records.
        Idempotency { key: (key.0 as u64).max(1), request: (same.0 as u64).max(1) }
    }
}

impl Way<'_> {
    fn permit(&self, caller: &Caller, route: Option<(RouteIndex, &Route)>) -> Permit {
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
            key_number: key.map(|key| key.number),
            route: index,
            route_number: self.policy.route_number(index),
            cost,
            overage: 0,
            settles: Settles::TrueCost,
            charged_at: self.now,
            slot: self.slot,
            idempotency: None,
        }
    }

    fn request_of(&self, permit: &Permit, mode: Mode, charges: Charges) -> Request {
        permit.request(mode, charges, permit.cost.unwrap_or(Amount::ONE), self.now)
    }

    /// Whether the answer waits for the disk.
    fn is_strict(&self) -> bool {
        self.policy.policy().ledger.durability == Durability::Strict
    }

    /// Refuses a caller that is not known.
    fn refuse(&self, error: ErrorCode) -> Decision {
        let mut decision = Decision {
            id: self.id,
            answer: Answer::Denied(Denial::of(error)),
            plan: None,
            account: None,
            policy: Arc::clone(&self.policy),
            route: None,
            limits: Vec::new(),
            headers: HeaderLines::default(),
            charged: None,
            permit: None,
            pending: None,
        };
        if error == ErrorCode::Unavailable {
            decision.deny_unavailable();
        }
        decision
    }

    fn decision(&self, caller: Caller, route: Option<RouteIndex>, answer: Answer) -> Decision {
        Decision {
            id: self.id,
            answer,
            plan: Some(caller.plan),
            account: caller.account,
            policy: Arc::clone(&self.policy),
            route,
            limits: Vec::new(),
            headers: HeaderLines::default(),
            charged: None,
            permit: None,
            pending: None,
        }
    }
}

impl Permit {
    /// The request that this permit was given for, as limits see it.
    pub(crate) fn request(&self, mode: Mode, which: Charges, cost: Amount, now: Timestamp) -> Request {
        let (home, key, route, slot) = (self.home, self.key_number, self.route, self.slot);
        Request { home, key, route, cost, now, mode, slot, which }
    }
}

/// What the limits of a settled plan say.
struct Shown {
    limits: Vec<LimitNow>,
    headers: HeaderLines,
}

impl Shown {
    fn of(plan: &ChargePlan<'_>, outcome: Outcome, readings: &[Reading], policy: &PolicySnapshot) -> Self {
        let responses = &policy.policy().responses;
        let headers = HeaderLines::collect(|sink| headers::write(plan, outcome, readings, responses, sink));
        Self { limits: limits_now(plan, readings), headers }
    }

    fn into_decision(self, mut decision: Decision) -> Decision {
        decision.limits = self.limits;
        decision.headers = self.headers;
        if matches!(&decision.answer, Answer::Denied(denial) if denial.error == ErrorCode::Unavailable) {
            decision.deny_unavailable();
        }
        decision
    }
}

/// What every limit of a plan says.
pub(crate) fn limits_now(plan: &ChargePlan<'_>, readings: &[Reading]) -> Vec<LimitNow> {
    let lines = plan.charges().iter().zip(readings).map(|(charge, reading)| LimitNow {
        name: charge.limit.name.clone(),
        limit: charge.limit.rule.per_window(),
        used: reading.used,
        remaining: reading.remaining,
        reset: match charge.limit.axis {
            // An unused quota has nothing to reset; its period still ends.
            Axis::Quota if reading.reset == Nanos::ZERO => reading.next,
            _ => reading.reset,
        },
    });
    lines.collect()
}

/// The outcome of a plan, in the places of another that has the same limits and more.
fn among(plan: &ChargePlan<'_>, outcome: Outcome, all: &ChargePlan<'_>) -> Outcome {
    let place = |by: usize| {
        let name = plan.charges().get(by).map(|charge| &charge.limit.name);
        all.charges().iter().position(|charge| Some(&charge.limit.name) == name).unwrap_or(by)
    };
    match outcome {
        Outcome::Admitted { .. } => Outcome::Admitted { overage: 0 },
        Outcome::Refused { by, retry_after } => Outcome::Refused { by: place(by), retry_after },
        Outcome::NeverFits { by } => Outcome::NeverFits { by: place(by) },
    }
}

fn lacks_scope(caller: &Caller, route: Option<&Route>) -> Option<ErrorCode> {
    let scope = route?.scope.as_deref()?;
    match &caller.key {
        Some(key) if key.scopes.admit(scope) => None,
        Some(_) => Some(ErrorCode::InsufficientScope),
        None => Some(ErrorCode::MissingKey),
    }
}

fn answer_of(plan: &ChargePlan<'_>, outcome: Outcome) -> Answer {
    let (by, wait) = match outcome {
        Outcome::Admitted { .. } => return Answer::Admitted,
        Outcome::Refused { by, retry_after } => (by, Some(retry_after)),
        Outcome::NeverFits { by } => (by, None),
    };
    let limit = plan.charges().get(by).map(|charge| charge.limit);
    let Some(retry_after) = wait else {
        let error = ErrorCode::CostExceedsLimit;
        return Answer::Denied(Denial { limit: limit.map(|limit| limit.name.clone()), ..Denial::of(error) });
    };
    let error = match limit.map(|limit| limit.axis) {
        Some(Axis::Rate) => ErrorCode::RateLimited,
        Some(Axis::Concurrency) => ErrorCode::ConcurrencyLimited,
        Some(Axis::Quota) => ErrorCode::QuotaExceeded,
        None => ErrorCode::Unavailable,
    };
    let status = match limit.map(|limit| limit.excess) {
        Some(Excess::Refuse(status)) => status.code(),
        _ => error.status(),
    };
    Answer::Denied(Denial { error, status, limit: limit.map(|limit| limit.name.clone()), retry_after })
}
