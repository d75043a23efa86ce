//! The driver for meters that nodes share, in Redis or Valkey.

use std::sync::Arc;

use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::settle::Outcome;
use sluicegate_core::tariff::{Plan, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind};
use sluicegate_store::directory::{Looked, LookedAccount, Verified};
use sluicegate_store::key_text::PresentedKey;
use sluicegate_store::redis::{Away, Expiry, HomesCounters, NotSettled, Owed, Settled as Settlement};

use super::attempt::ChargeResult;
use super::conclude::Judged;
use super::replay::NamedAttempt;
use super::{Attempt, Next, Question, RequestContext};
use crate::ErrorCode;
use crate::decision::{Answer, Decision, Denial, StoreMode};
use crate::engine::Engine;
use crate::ids::DecisionId;
use crate::permit::{Kept, SlotKey};
use crate::record::record;
use crate::request::{CallerRequest, Credential};
use crate::shared::{Shared, is_closed, is_owed, name_of};
use crate::unsettled::Unsettled;

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
        let decision = self.decide_anywhere(request, now).await;
        self.settled(decision).await
    }

    /// As [`Engine::decided`], but without waiting for the record: for batches, which wait once for all of them.
    pub async fn unsettled(&self, request: &CallerRequest<'_>, now: Timestamp) -> Unsettled<&Self> {
        Unsettled::new(self, self.decide_anywhere(request, now).await)
    }

    async fn decide_anywhere(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        match &self.shared {
            None => self.decide(request, now),
            // In a box: a request that waits for no store does not carry the state of the wait.
            Some(shared) => Box::pin(self.decide_redis(shared, request, now)).await,
        }
    }

    async fn decide_redis(&self, shared: &Shared, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        let mut context = self.begin(request, now);
        self.look_up(shared, &mut context).await;
        let mut decision = match self.prepare(&context) {
            Next::Decided(decision) => decision,
            Next::Ask(attempt) => self.drive_redis(shared, &context, attempt).await,
        };
        self.seen(&context, &mut decision);
        decision
    }

    /// Asks the store who is calling, where this node does not know.
    pub(super) async fn look_up(&self, shared: &Shared, context: &mut RequestContext<'_>) {
        // From here on: the key and its meters together may take as long as one call.
        let by = shared.homes.expiry();
        context.by = Some(by);
        context.verified = self.look_up_key(context).await;
        context.account = self.look_up_account(context, by).await;
        self.look_up_pressure(shared, context, by).await;
    }

    /// What the key of a request is, by memory or by the store. Nothing while the store cannot be reached: callers that
    /// are known already are served all the same.
    async fn look_up_key(&self, context: &RequestContext<'_>) -> Option<Verified> {
        let (Credential::Key(text) | Credential::ServiceToken(text)) = context.credential else {
            return None;
        };
        if context.token.is_some() {
            return None;
        }
        let presented = PresentedKey::parse(text).ok()?;
        match self.directory.verify(&presented, context.now) {
            Looked::Known(verified) => Some(verified),
            // Nobody waits for a store that is known to be unreachable.
            Looked::Ask if self.store_mode() == StoreMode::Degraded => None,
            // The answer is used as it came: what changes meanwhile may keep it from being remembered.
            Looked::Ask => self.directory.fetch(&presented, context.now).await.ok(),
        }
    }

    /// What the account is that a front end asserts.
    async fn look_up_account(&self, context: &RequestContext<'_>, by: Expiry) -> Option<LookedAccount> {
        let id = match (&context.token, context.credential) {
            (Some(Ok(token)), _) => &*token.account,
            (None, Credential::Account { id, .. }) => id,
            _ => return None,
        };
        if self.store_mode() == StoreMode::Degraded {
            return None;
        }
        let found = tokio::time::timeout_at(by.instant(), self.directory.account(id)).await;
        found.ok()?.ok().map(LookedAccount::from)
    }

    /// Decides by the store, or by the fallback if it cannot be reached.
    pub(super) async fn drive_redis(
        &self,
        shared: &Shared,
        context: &RequestContext<'_>,
        mut attempt: Attempt,
    ) -> Decision {
        let (home, name) = (attempt.permit.home, attempt.permit.name);
        let _turn = match name {
            Some(name) => Some(shared.turns.take(home, name.idempotency.key).await),
            None => None,
        };
        if let Some(name) = name {
            // The store knows all names but those that this node charged while it could not be reached.
            let key = name.idempotency.key;
            let known = self.idempotency.hold(home, key).find(home, key, context.now);
            attempt.apply_name(known.filter(|known| known.only_local), name);
        }
        match self.loop_redis(shared, context, attempt).await {
            Ok(Driven { mut decision, is_replay }) => {
                if let Some(name) = name {
                    let mut names = self.idempotency.hold(home, name.idempotency.key);
                    let attempted = NamedAttempt { home, name, is_replay };
                    self.remember_name(context, &mut decision, &mut names, attempted);
                }
                decision
            }
            Err(unanswered) => self.decide_degraded(shared, context, *unanswered),
        }
    }

    /// The decision of the store, or the attempt that it gave no answer to.
    async fn loop_redis(
        &self,
        shared: &Shared,
        context: &RequestContext<'_>,
        mut attempt: Attempt,
    ) -> Result<Driven, Box<Attempt>> {
        loop {
            let judged = match self.ask_redis(shared, context, &mut attempt).await {
                Ok(judged) => judged,
                Err(_) if matches!(attempt.question, Question::Charge) => return Err(Box::new(attempt)),
                Err(_) => Judged::Unknown,
            };
            let is_replay = attempt.permit.is_replay();
            match self.conclude(context, attempt, judged) {
                Next::Ask(again) => attempt = again,
                Next::Decided(decision) => return Ok(Driven { decision, is_replay }),
            }
        }
    }

    /// Asks the store. What it has admitted is recorded before anything is answered.
    async fn ask_redis(
        &self,
        shared: &Shared,
        context: &RequestContext<'_>,
        attempt: &mut Attempt,
    ) -> Result<Judged, Away> {
        let is_recorded = attempt.is_recorded(context);
        let mut room = None;
        if is_recorded {
            self.wait_for_owed(shared, attempt.permit.home, context.by).await;
            match self.reserve_record(&context.policy, &attempt.permit.plan) {
                Ok(reserved) => room = reserved,
                Err(error) => return Ok(Judged::Error(error)),
            }
        }
        let request = attempt.request(context);
        let permit = &mut attempt.permit;
        let name =
            permit.name.filter(|_| matches!(attempt.question, Question::Charge) && !permit.is_replay());
        let name = name.map(|name| name_of(name, permit.decision));
        let owed = Owed { name, hold: permit.hold, ..shared.owed_by(permit, request) };
        let expiry = context.by.unwrap_or_else(|| shared.homes.expiry());
        let settled = match shared.homes.settle_noting(owed, expiry).await {
            Ok(settled) => settled,
            Err(NotSettled { away, call }) => {
                if let Some(call) = call.filter(|_| is_recorded) {
                    self.note_lost(shared, permit, call, context.now);
                }
                return Err(away);
            }
        };
        permit.charged_at = settled.now;
        if let Some(first) = settled.repeats {
            permit.replay(DecisionId(first));
        }
        let mut recorded = None;
        if let (Some(room), Outcome::Admitted { overage }) = (room, settled.outcome)
            && let Some(usage) = permit.usage()
        {
            let record = record(permit, Kind::Charge, Some(usage), overage, settled.now);
            recorded = Some(room.append(&record));
        }
        let sold = Arc::clone(&permit.plan);
        let plan = sold.tariff.plan(&Request { now: settled.now, ..request });
        let result = ChargeResult { outcome: settled.outcome, recorded };
        Ok(self.judge(context, attempt, &plan, result, &settled.readings))
    }

    /// Decides here, because the store cannot be reached.
    fn decide_degraded(
        &self,
        shared: &Shared,
        context: &RequestContext<'_>,
        mut attempt: Attempt,
    ) -> Decision {
        let degraded = &context.policy.policy().degraded;
        if is_closed(degraded, &attempt.permit.plan) {
            let denial = Denial::of(ErrorCode::Unavailable);
            let mut decision = context.decision(attempt.caller, attempt.permit.route, Answer::Denied(denial));
            decision.deny_unavailable();
            decision.mode = StoreMode::Degraded;
            return decision;
        }
        let permit = &mut attempt.permit;
        let (home, name) = (permit.home, permit.name);
        let owed = is_owed(degraded, &permit.plan) && permit.usage().is_some();
        permit.flags = permit.flags | if owed { Flags::DEGRADED | Flags::OWED } else { Flags::DEGRADED };
        if name.is_some() {
            permit.flags = permit.flags | Flags::UNNAMED;
            // Not the one that the store may have heard of: what it has of that one is undone, and its name forgotten.
            permit.decision = self.ids.next(context.now, context.request.front.finisher());
            permit.slot = SlotKey::of(permit.decision);
        }
        let fresh = permit.decision;
        attempt.caller.plan = shared.fallback(&attempt.caller.plan, degraded, &self.meters);
        attempt.permit.kept = Kept::Here;
        attempt.mode = StoreMode::Degraded;
        self.scale(&mut attempt);
        let decision = self.drive_memory(context, attempt);
        if decision.is_admitted() && decision.id == fresh && (owed || name.is_some()) {
            if let Some(name) = name {
                let key = name.idempotency.key;
                self.idempotency.hold(home, key).set_only_local(home, key, true);
            }
            shared.journal.wake();
        }
        decision
    }
}

/// What the store has decided.
struct Driven {
    decision: Decision,
    /// Whether it repeats a request that was charged before.
    is_replay: bool,
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
