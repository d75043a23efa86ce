//! Settling the descriptors of a call: all of them are charged, or none is.

use sluicegate_core::limit::Axis;
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::Enforcement;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Engine, Hold, Purpose, Throttle, ThrottleAnswer, ThrottleAsk};

use super::asked::{Asked, Hits};
use super::outcome::Outcome;
use crate::decision::grpc::status::{Code, Status};
use crate::decision::outcome::free;

/// Settles them in their order. Once one refuses, what those before it were charged is given back, and those behind it
/// are only asked what they would say.
pub(super) async fn all(
    engine: &Engine,
    asked: &[Asked<'_>],
    actor: &str,
    now: Timestamp,
) -> Result<Vec<Outcome>, Status> {
    let hold = if asked.len() > 1 { Hold::Yes } else { Hold::IfNeeded };
    let outcomes = Vec::with_capacity(asked.len());
    let mut settling = Settling { engine, asked, outcomes, charged: 0, now };
    for (index, one) in asked.iter().enumerate() {
        let outcome = one.settle(engine, actor, hold, now).await;
        let (unavailable, refused) = (outcome.is_unavailable(), outcome.is_refused());
        settling.outcomes.push(outcome);
        if !refused {
            settling.charged = index + 1;
            continue;
        }
        settling.give_back().await;
        if unavailable {
            return Err(Status::new(Code::Unavailable, "nothing can be decided at the moment"));
        }
        for one in &asked[index + 1..] {
            settling.outcomes.push(one.look(engine, actor, now).await);
        }
        break;
    }
    Ok(settling.conclude())
}

/// What was settled so far. Who goes away before the last has asked for nothing.
struct Settling<'s, 'r> {
    engine: &'s Engine,
    asked: &'s [Asked<'r>],
    outcomes: Vec<Outcome>,
    /// How many of them were charged, and not given back.
    charged: usize,
    now: Timestamp,
}

impl Settling<'_, '_> {
    /// Gives back what was charged before one refused. What they say is what they say without it.
    async fn give_back(&mut self) {
        let charged = std::mem::take(&mut self.charged);
        let Self { engine, asked, outcomes, now, .. } = self;
        for outcome in outcomes.iter_mut().take(charged) {
            undo_decision(engine, outcome, *now);
        }
        for (one, outcome) in asked.iter().zip(outcomes).take(charged) {
            let Some((throttle, subject, ask)) = one.undo(outcome) else { continue };
            if let Outcome::Throttled { said, .. } | Outcome::Counted { said, .. } = outcome {
                said.limit = engine.throttled(throttle, subject, ask, *now).await.limit;
            }
        }
    }

    /// All have been asked. Nobody calls back when the request has ended, so no place in flight is held.
    fn conclude(mut self) -> Vec<Outcome> {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        for outcome in &mut outcomes {
            if let Outcome::Decided(decision) = outcome {
                free(self.engine, decision, self.now);
            }
        }
        outcomes
    }
}

impl Drop for Settling<'_, '_> {
    fn drop(&mut self) {
        for (one, outcome) in self.asked.iter().zip(&mut self.outcomes).take(self.charged) {
            let now = self.engine.now();
            // What a store far away has taken stays taken until its window ends.
            if let Some((throttle, subject, ask)) = one.undo(outcome) {
                let _ = self.engine.throttled_here(throttle, subject, ask, now);
            }
            undo_decision(self.engine, outcome, now);
        }
    }
}

/// Gives back what a caller was charged, if it is still held, and shows its limits without it.
fn undo_decision(engine: &Engine, outcome: &mut Outcome, now: Timestamp) {
    let Outcome::Decided(decision) = outcome else { return };
    let Some(permit) = decision.permit.take() else { return };
    // What cannot be given back on disk either is on record, and is the next reconciliation's to find.
    let Ok(finished) = engine.finish(&permit, None, Some(0), now) else { return };
    for limit in &mut decision.limits {
        let given = if limit.axis == Axis::Concurrency { 1 } else { finished.reserved };
        limit.remaining = limit.remaining.saturating_add(given).min(limit.capacity);
        limit.used = limit.used.saturating_sub(given);
    }
}

impl Asked<'_> {
    async fn settle(&self, engine: &Engine, actor: &str, hold: Hold, now: Timestamp) -> Outcome {
        match self {
            Self::Unmatched => Outcome::Free,
            Self::Unlimited => Outcome::Unlimited,
            Self::Throttle { hits, .. } => {
                if let ThrottleAsk::Give(units) = hits.ask() {
                    engine.note_give_back(actor, "descriptors", units.get(), now);
                }
                self.throttled(engine, hits.ask(), now).await
            }
            Self::Closed { hits: Hits::Give(_), .. } => Outcome::Free,
            Self::Closed { unit, .. } => Outcome::Closed { unit: *unit },
            Self::Caller { named, hits: hits @ Hits::Give(_) } => {
                // Who cannot be told how much it was gets nothing back, and is not refused for that.
                let _ = engine.give_back(&named.request(*hits, Hold::IfNeeded), actor, now).await;
                Outcome::Free
            }
            Self::Caller { named, hits } => {
                Outcome::Decided(Box::new(engine.decided(&named.request(*hits, hold), now).await))
            }
            Self::Malformed(refusal) => Outcome::Malformed(refusal.clone()),
        }
    }

    /// What it would say. What is to be given back is given all the same.
    async fn look(&self, engine: &Engine, actor: &str, now: Timestamp) -> Outcome {
        match self {
            Self::Throttle { hits, .. } => self.throttled(engine, hits.look(), now).await,
            Self::Caller { named, hits: hits @ Hits::Take(_) } => {
                let mut request = named.request(*hits, Hold::IfNeeded);
                request.purpose = Purpose::Peek;
                Outcome::Decided(Box::new(engine.decided(&request, now).await))
            }
            _ => self.settle(engine, actor, Hold::IfNeeded, now).await,
        }
    }

    async fn throttled(&self, engine: &Engine, ask: ThrottleAsk, now: Timestamp) -> Outcome {
        let Self::Throttle { throttle, subject, unit, enforcement, .. } = self else { return Outcome::Free };
        let (said, unit) = (engine.throttled(throttle, *subject, ask, now).await, *unit);
        match enforcement {
            Enforcement::Refuses => Outcome::Throttled { said, unit },
            Enforcement::Counts => Outcome::Counted { said, unit },
        }
    }

    /// How what a limit of its own has taken is given back, if it has taken anything.
    fn undo(&self, outcome: &Outcome) -> Option<(&Throttle, HomeId, ThrottleAsk)> {
        let Self::Throttle { throttle, subject, hits, .. } = self else { return None };
        match (hits.ask(), outcome) {
            (ThrottleAsk::Take(amount), Outcome::Throttled { said, .. } | Outcome::Counted { said, .. })
                if said.answer == ThrottleAnswer::Fits =>
            {
                Some((throttle, *subject, ThrottleAsk::Give(amount)))
            }
            _ => None,
        }
    }
}
