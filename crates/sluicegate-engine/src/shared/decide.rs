//! The way of a request whose meters are far away.

use std::sync::Arc;

use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::Mode;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::{Charges, Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Idempotency, Kind};
use sluicegate_store::directory::{Looked, LookedAccount, Verified};
use sluicegate_store::key_text::PresentedKey;
use sluicegate_store::redis::{Away, Expiry, HomesCounters, Owed, Settled as Settlement};

use super::fallback::{is_closed, is_owed};
use super::{Shared, name_of};
use crate::ErrorCode;
use crate::decide::{Caller, NotSettled, Reached, Settled, Shown, Way};
use crate::decision::{Answer, Decision, Denial, StoreMode};
use crate::engine::{Counters, Engine};
use crate::ids::DecisionId;
use crate::permit::{Kept, Permit};
use crate::record::record;
use crate::request::{CallerRequest, Credential};
use crate::unsettled::Unsettled;

/// What the store said, and when it was there.
type There = (Settled, Answer, Shown, Timestamp);

impl Engine {
    /// Whether deciding may have to wait for a store that several nodes share: then only [`Engine::decided`] decides.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether the store decides at the moment.
    pub fn store_mode(&self) -> StoreMode {
        match self.shared.as_ref().map(|shared| shared.homes.mode()) {
            None | Some(sluicegate_store::redis::StoreMode::Normal) => StoreMode::Normal,
            Some(sluicegate_store::redis::StoreMode::Degraded) => StoreMode::Degraded,
        }
    }

    /// What this node has asked of a store that several share. Nothing: the meters are in this process.
    pub fn store_counters(&self) -> Option<&HomesCounters> {
        self.shared.as_ref().map(|shared| shared.homes.counters())
    }

    /// Decides, wherever the meters are, and waits for what the policy wants to be waited for.
    pub async fn decided(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let decision = match &self.shared {
            None => self.decide(request, now),
            // In a box: whoever waits for no store does not carry about what waiting takes.
            Some(shared) => Box::pin(self.decide_shared(shared, request, now)).await,
        };
        self.settled(decision).await
    }

    /// As [`Engine::decided`], for whoever decides on several before any is waited for.
    pub async fn unsettled(&self, request: &CallerRequest<'_>, now: Timestamp) -> Unsettled<&Self> {
        let decision = match &self.shared {
            None => self.decide(request, now),
            // In a box: whoever waits for no store does not carry about what waiting takes.
            Some(shared) => Box::pin(self.decide_shared(shared, request, now)).await,
        };
        Unsettled::new(self, decision)
    }

    async fn decide_shared(&self, shared: &Shared, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let way = self.way_shared(shared, request, now).await;
        let mut decision = match self.until_limits(&way) {
            Reached::Decided(decision) => *decision,
            Reached::Unfit(caller, permit, error) => {
                self.refuse_shared(shared, &way, caller, &permit, error).await
            }
            Reached::Limits(caller, permit, ticket) => {
                let decision = match self.idempotency(&way, &permit) {
                    None => self.settle_shared(shared, &way, caller, permit).await,
                    Some(name) => self.settle_once_shared(shared, &way, caller, permit, name).await,
                };
                decision.with_place(ticket)
            }
        };
        self.seen(&way, &mut decision);
        decision
    }

    /// A request at the beginning of its way, with what the store says of who is calling.
    pub(crate) async fn way_shared<'w>(
        &self,
        shared: &Shared,
        request: &'w CallerRequest<'w>,
        now: Timestamp,
    ) -> Way<'w> {
        // From here on: the key and its meters together may take as long as one call.
        let by = shared.homes.expiry();
        let verified = self.look_up_key(request, now).await;
        let account = self.look_up_account(request, by).await;
        Way { verified, account, by: Some(by), ..self.way(request, now) }
    }

    /// What the key of a request is, by memory or by the store. Nothing while the store is away: those who are known
    /// already are served all the same.
    async fn look_up_key(&self, request: &CallerRequest<'_>, now: Timestamp) -> Option<Verified> {
        let (Credential::Key(text) | Credential::ServiceToken(text)) = request.credential else {
            return None;
        };
        let presented = PresentedKey::parse(text).ok()?;
        match self.directory.verify(&presented, now) {
            Looked::Known(verified) => Some(verified),
            // Nobody waits for a store that is known to be away.
            Looked::Ask if self.store_mode() == StoreMode::Degraded => None,
            // The answer is used as it came: what changes meanwhile may keep it from being remembered.
            Looked::Ask => self.directory.fetch(&presented, now).await.ok(),
        }
    }

    /// What the account is that whoever asks vouches for.
    async fn look_up_account(&self, request: &CallerRequest<'_>, by: Expiry) -> Option<LookedAccount> {
        let Credential::Account { id, .. } = request.credential else { return None };
        if self.store_mode() == StoreMode::Degraded {
            return None;
        }
        let found = tokio::time::timeout_at(by.instant(), self.directory.account(id)).await;
        found.ok()?.ok().map(LookedAccount::from)
    }

    /// Refuses a known caller for a reason that is no limit's. Its limits are shown if the store says them.
    async fn refuse_shared(
        &self,
        shared: &Shared,
        way: &Way<'_>,
        caller: Caller,
        permit: &Permit,
        error: ErrorCode,
    ) -> Decision {
        let limits =
            shared.look(&permit.plan, way.request_of(permit, Mode::Peek, Charges::All), way.by).await;
        let mut decision = way.decision(caller, permit.route, Answer::Denied(Denial::of(error)));
        decision.limits = limits.unwrap_or_default();
        if error == ErrorCode::Unavailable {
            decision.deny_unavailable();
        }
        decision
    }

    async fn settle_once_shared(
        &self,
        shared: &Shared,
        way: &Way<'_>,
        caller: Caller,
        mut permit: Permit,
        idempotency: Idempotency,
    ) -> Decision {
        let home = caller.home;
        let _turn = shared.turns.take(home, idempotency.key).await;
        // What was charged by this node is known here, also while the store is away. The rest the store knows.
        let found = self.repeats.hold(home, idempotency.key).find(home, idempotency.key, way.now);
        match found {
            Some(charged) if charged.request != idempotency.request => {
                let conflict = ErrorCode::IdempotencyConflict;
                self.refuse_shared(shared, way, caller, &permit, conflict).await
            }
            Some(charged) => {
                // Charged already. Only what protects the service is charged again.
                permit.repeat(charged.decision);
                let decision = self.settle_shared(shared, way, caller, permit).await;
                self.repeated(way, decision)
            }
            None => {
                permit.idempotency = Some(idempotency);
                self.settle_shared(shared, way, caller, permit).await
            }
        }
    }

    /// Remembers the name of a request that was charged, for the time when the store is away.
    fn remember(&self, permit: &Permit, now: Timestamp) {
        if let Some(name) = permit.idempotency {
            self.repeats.hold(permit.home, name.key).remember(permit.home, name, permit.decision, now);
        }
    }

    /// All limits together, in the store. If it is away, what the policy says for that decides.
    async fn settle_shared(
        &self,
        shared: &Shared,
        way: &Way<'_>,
        caller: Caller,
        mut permit: Permit,
    ) -> Decision {
        let mut reputation = self.guess(&caller.plan, &caller.watched);
        loop {
            permit.plan = self.plan_for(&caller.plan, &caller.watched, reputation);
            match self.settle_there(shared, way, &caller, &mut permit).await {
                Ok(Some((settled, answer, shown, now))) => {
                    if answer == Answer::Admitted {
                        self.remember(&permit, way.now);
                    }
                    let standing = self.stood(&caller.watched, reputation);
                    let mut decision = way.conclude(caller, permit, settled, answer, shown);
                    decision.standing = standing;
                    decision.now = now;
                    return decision;
                }
                Ok(None) => return self.settle_here(shared, way, caller, permit),
                Err(NotSettled::Elsewhere(bucket)) => {
                    self.learn(&caller.watched, bucket);
                    reputation = Some(bucket);
                }
                Err(NotSettled::Otherwise(error)) => {
                    return self.refuse_shared(shared, way, caller, &permit, error).await;
                }
            }
        }
    }

    /// What the store says to a plan. Nothing if it is away.
    async fn settle_there(
        &self,
        shared: &Shared,
        way: &Way<'_>,
        caller: &Caller,
        permit: &mut Permit,
    ) -> Result<Option<There>, NotSettled> {
        let (mode, charges) = (way.mode(), permit.charges());
        let room = match (mode, permit.usage()) {
            (Mode::Charge, Some(_)) => self.room(&way.policy, &permit.plan).map_err(NotSettled::Otherwise)?,
            _ => None,
        };
        let request = way.request_of(permit, mode, charges);
        let name = permit.idempotency.map(|name| name_of(name, permit.decision));
        let owed = Owed { name, ..shared.owed(&permit.plan, request) };
        let Ok(settled) = shared.settle(owed, way.by).await else {
            return Ok(None);
        };
        permit.charged_at = settled.now;
        if let Some(first) = settled.repeats {
            permit.repeat(DecisionId(first));
            if matches!(settled.outcome, Outcome::Admitted { .. }) {
                Counters::count(&self.counters.repeated);
            }
        }
        let sold = Arc::clone(&permit.plan);
        let plan = sold.tariff.plan(&Request { now: settled.now, ..request });
        if settled.outcome.changes_meters(mode) {
            self.thresholds.watch(&plan, &settled.readings, permit.payer(), &caller.plan);
        }
        let answer = self.answer(way, caller, &plan, settled.outcome, &settled.readings)?;
        let recorded = match (room.filter(|_| permit.usage().is_some()), settled.outcome) {
            (Some(room), Outcome::Admitted { overage }) => {
                Some(room.append(&record(permit, Kind::Charge, permit.usage(), overage, settled.now)))
            }
            _ => None,
        };
        let mut shown = Shown::of(&plan, &settled.readings, settled.outcome);
        if charges != Charges::All {
            // What it does not take is shown all the same.
            let all = way.request_of(permit, Mode::Peek, Charges::All);
            shown.limits = shared.look(&sold, all, way.by).await.unwrap_or_default();
        }
        Ok(Some((Settled { outcome: settled.outcome, recorded }, answer, shown, settled.now)))
    }

    /// Decides here, because the store is away.
    fn settle_here(
        &self,
        shared: &Shared,
        way: &Way<'_>,
        mut caller: Caller,
        mut permit: Permit,
    ) -> Decision {
        let degraded = &way.policy.policy().degraded;
        if is_closed(degraded, &permit.plan) {
            let mut decision =
                way.decision(caller, permit.route, Answer::Denied(Denial::of(ErrorCode::Unavailable)));
            decision.deny_unavailable();
            decision.mode = StoreMode::Degraded;
            return decision;
        }
        let (home, name) = (permit.home, permit.idempotency);
        let owed = is_owed(degraded, &permit.plan) && permit.usage().is_some();
        permit.flags = permit.flags | if owed { Flags::DEGRADED | Flags::OWED } else { Flags::DEGRADED };
        if name.is_some() {
            permit.flags = permit.flags | Flags::UNNAMED;
            // Not the one that the store may have heard of: what it has of that one is undone, and its name forgotten.
            permit.decision = self.ids.next(way.now).0;
        }
        caller.plan = shared.fallback(&caller.plan, degraded, &self.meters);
        permit.kept = Kept::Here;
        let mut decision = self.settle(way, caller, permit);
        if decision.is_admitted() && way.mode() == Mode::Charge {
            if let Some(name) = name {
                self.repeats.hold(home, name.key).remember(home, name, decision.id, way.now);
            }
            if owed || name.is_some() {
                shared.journal.wake();
            }
        }
        decision.mode = StoreMode::Degraded;
        decision
    }
}

impl Shared {
    /// What all limits of a request say.
    pub(crate) async fn look(
        &self,
        plan: &Arc<Plan>,
        request: Request,
        by: Option<Expiry>,
    ) -> Result<Vec<LimitNow>, Away> {
        let settled = self.settle(self.owed(plan, request), by).await?;
        let asked = plan.tariff.plan(&Request { now: settled.now, ..request });
        Ok(LimitNow::all(&asked, &settled.readings))
    }
    async fn settle(&self, owed: Owed, by: Option<Expiry>) -> Result<Settlement, Away> {
        self.homes.settle_by(owed, by.unwrap_or_else(|| self.homes.expiry())).await
    }
}
