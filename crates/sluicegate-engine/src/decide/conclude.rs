//! What the answer of the meters means. It does no I/O and never waits.

use sluicegate_core::limit::{Axis, Limit, RefusalStatus};
use sluicegate_core::plan::{ChargePlan, Mode};
use sluicegate_core::policy::{Bucket, RefundOn, Reputation};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::Charges;
use sluicegate_core::time::Nanos;

use super::attempt::{ChargeResult, Charged, LimitReport};
use super::{Attempt, Next, Question, RequestContext};
use crate::ErrorCode;
use crate::decision::{Answer, Decision, Denial};
use crate::engine::Engine;
use crate::idempotency::ReplayRule;
use crate::permit::Kept;

/// What the meters' answer to an attempt means.
pub(crate) enum Judged {
    /// This.
    Answered(Answer, ChargeResult, LimitReport),
    /// Nothing was charged: the caller's reputation is another than the one that its limits were scaled for.
    ReputationChanged(Bucket),
    /// Nothing was charged, for a reason that is no limit's: no room for a record, or the name is another request's.
    Error(ErrorCode),
    /// The meters cannot be asked, and the question was only for what they say.
    Unknown,
}

impl Engine {
    /// What an outcome means for the request, and for its caller.
    #[inline]
    pub(super) fn judge(
        &self,
        context: &RequestContext<'_>,
        attempt: &Attempt,
        plan: &ChargePlan<'_>,
        result: ChargeResult,
        readings: &Readings,
    ) -> Judged {
        let permit = &attempt.permit;
        if result.outcome.changes_meters(plan.mode) && permit.kept == Kept::Store {
            self.thresholds.watch(plan, readings, permit.payer(), &attempt.caller.plan);
        }
        let answer = match &attempt.question {
            Question::Charge => match self.answer(context, attempt, plan, result.outcome, readings) {
                Ok(answer) => answer,
                Err(judged) => return judged,
            },
            Question::Explain(denial) => Answer::Denied(denial.clone()),
            Question::Report(charged) => charged.answer.clone(),
        };
        Judged::Answered(answer, result, LimitReport::of(plan, readings, result.outcome))
    }

    #[inline]
    fn answer(
        &self,
        context: &RequestContext<'_>,
        attempt: &Attempt,
        plan: &ChargePlan<'_>,
        outcome: Outcome,
        readings: &Readings,
    ) -> Result<Answer, Judged> {
        let caller = &attempt.caller;
        match outcome {
            Outcome::Elsewhere { remaining } => {
                let score = u8::try_from(remaining).unwrap_or(u8::MAX);
                Err(Judged::ReputationChanged(Reputation::bucket(score)))
            }
            Outcome::Conflicts => Err(Judged::Error(ErrorCode::IdempotencyConflict)),
            Outcome::Refused { by, retry_after } => {
                let mut retry_after = self.told_wait(context, caller, plan, readings, retry_after);
                if caller.watched.is_prefix() {
                    retry_after = self.told_wait_of_prefix(context, attempt, retry_after);
                }
                Ok(answer_of(plan, Outcome::Refused { by, retry_after }))
            }
            Outcome::NeverFits { by } => Ok(self.too_large(context, caller, plan, by, readings)),
            Outcome::Admitted { .. } => Ok(Answer::Admitted),
        }
    }

    /// The decision, or what the meters are asked next.
    #[inline]
    pub(super) fn conclude(
        &self,
        context: &RequestContext<'_>,
        mut attempt: Attempt,
        judged: Judged,
    ) -> Next {
        match judged {
            Judged::ReputationChanged(bucket) => {
                self.learn(&attempt.caller.watched, bucket);
                attempt.reputation = Some(bucket);
                self.scale(&mut attempt);
                Next::Ask(attempt)
            }
            Judged::Error(error) => {
                attempt.question = Question::Explain(Denial::of(error));
                Next::Ask(attempt)
            }
            Judged::Unknown => match attempt.question {
                Question::Report(charged) => {
                    attempt.question = Question::Charge;
                    let Charged { answer, result, conduct } = *charged;
                    let report = LimitReport { limits: Vec::new(), conduct };
                    self.decided_on(context, attempt, answer, result, report)
                }
                Question::Explain(denial) => {
                    let mut decision =
                        context.decision(attempt.caller, attempt.permit.route, Answer::Denied(denial));
                    unavailable(&mut decision);
                    Next::Decided(decision)
                }
                Question::Charge => Next::Ask(attempt),
            },
            Judged::Answered(answer, result, report) => {
                self.answered(context, attempt, answer, result, report)
            }
        }
    }

    #[inline]
    fn answered(
        &self,
        context: &RequestContext<'_>,
        mut attempt: Attempt,
        answer: Answer,
        result: ChargeResult,
        mut report: LimitReport,
    ) -> Next {
        match std::mem::replace(&mut attempt.question, Question::Charge) {
            Question::Charge => {
                let is_denied = answer != Answer::Admitted;
                if is_denied && self.has_grown(&mut attempt.caller.watched) {
                    // Nothing was done: what is refused in an overflow bucket is held against nobody. More callers
                    // share it than its limits were scaled for.
                    self.scale(&mut attempt);
                    return Next::Ask(attempt);
                }
                if attempt.permit.charges() == Charges::All {
                    return self.decided_on(context, attempt, answer, result, report);
                }
                // What it does not take is shown all the same.
                let charged = Charged { answer, result, conduct: report.conduct };
                attempt.question = Question::Report(Box::new(charged));
                Next::Ask(attempt)
            }
            Question::Report(charged) => {
                report.conduct = charged.conduct;
                self.decided_on(context, attempt, charged.answer, charged.result, report)
            }
            Question::Explain(denial) => {
                let mut decision =
                    context.decision(attempt.caller, attempt.permit.route, Answer::Denied(denial));
                decision.limits = report.limits;
                decision.mode = attempt.mode;
                unavailable(&mut decision);
                Next::Decided(decision)
            }
        }
    }

    /// The decision on a request whose limits have answered.
    #[inline]
    fn decided_on(
        &self,
        context: &RequestContext<'_>,
        attempt: Attempt,
        answer: Answer,
        result: ChargeResult,
        report: LimitReport,
    ) -> Next {
        let (standing, watched) =
            (self.stood(&attempt.caller.watched, attempt.reputation), attempt.caller.watched);
        let decided_at = attempt.decided_at();
        let Attempt { caller, permit, load_permit, mode, .. } = attempt;
        let is_kept = answer == Answer::Admitted
            && context.mode() == Mode::Charge
            && (context.request.hold.is_asked_for()
                || permit.plan.tariff.has(Axis::Concurrency)
                || permit.refund_on == RefundOn::ServerError
                // How an attempt ends decides whether its repeat is free.
                || permit.name.is_some_and(|name| name.rule == ReplayRule::AfterFailure));
        let mut decision = context.decision(caller, permit.route, answer);
        if decision.is_admitted() {
            // A repeat has the decision that it repeats. A refusal is a new one.
            decision.id = permit.decision;
            decision.ticket = load_permit;
        }
        decision.limits = report.limits;
        watched.show_own_part(&mut decision.limits);
        decision.who.conduct = report.conduct;
        decision.pending = result.recorded.filter(|_| context.is_strict());
        decision.charged = decision.pending.map(|_| Box::new(permit.clone()));
        decision.permit = is_kept.then(|| Box::new(permit));
        decision.standing = standing;
        decision.mode = mode;
        decision.now = decided_at;
        Next::Decided(decision)
    }
}

/// A denial for want of a record says when to try again.
fn unavailable(decision: &mut Decision) {
    if decision.denial().is_some_and(|denial| denial.error == ErrorCode::Unavailable) {
        decision.deny_unavailable();
    }
}

pub(crate) fn answer_of(plan: &ChargePlan<'_>, outcome: Outcome) -> Answer {
    let (by, wait) = match outcome {
        Outcome::Admitted { .. } => return Answer::Admitted,
        Outcome::Refused { by, retry_after } => (by, Some(retry_after)),
        Outcome::NeverFits { by } => (by, None),
        // Both are handled before it comes to an answer.
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
