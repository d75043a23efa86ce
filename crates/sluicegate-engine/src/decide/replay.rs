//! Requests with an idempotency key, in the decision flow: whether an attempt is free, and what is remembered of it.

use sluicegate_ledger::Position;

use super::{Attempt, Question, RequestContext};
use crate::ErrorCode;
use crate::decision::{Decision, Denial};
use crate::engine::{Counters, Engine};
use crate::idempotency::{KnownName, Shard};
use crate::permit::PermitName;

impl Attempt {
    /// Applies what is known of the name of an attempt.
    pub(super) fn apply_name(&mut self, known: Option<KnownName>, name: PermitName) {
        match known {
            None => {}
            Some(known) if known.request != name.idempotency.request => {
                self.question = Question::Explain(Denial::of(ErrorCode::IdempotencyConflict));
            }
            Some(known) if name.rule.is_free(&known) => self.permit.replay(known.decision),
            // Charged like any other, under the same name.
            Some(_) => {}
        }
    }
}

impl Engine {
    /// Remembers an attempt that was admitted under a name.
    pub(super) fn remember_name(
        &self,
        context: &RequestContext<'_>,
        decision: &mut Decision,
        names: &mut Shard,
        attempted: NamedAttempt,
    ) {
        if !decision.is_admitted() {
            return;
        }
        let NamedAttempt { home, name, is_replay } = attempted;
        if !is_replay {
            return names.charged(home, name.idempotency, decision.id, context.now);
        }
        names.replayed(home, name.idempotency.key);
        Counters::count(&self.counters.repeated);
        if context.is_strict() {
            // The first may still be on its way to the disk; whatever was recorded before now is far enough.
            decision.pending = self.spool.tail().0.checked_sub(1).map(Position);
        }
    }
}

/// An attempt that was made under a name.
#[derive(Clone, Copy)]
pub(super) struct NamedAttempt {
    pub(super) home: sluicegate_core::plan::HomeId,
    pub(super) name: PermitName,
    /// Whether it was free.
    pub(super) is_replay: bool,
}
