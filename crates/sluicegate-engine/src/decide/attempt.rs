//! A request whose limits have a say: what the meters are asked about it.

use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::{ChargePlan, Due, Mode};
use sluicegate_core::policy::Bucket;
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::Position;

use super::{Caller, RequestContext};
use crate::decision::{Answer, Decision, Denial, StoreMode};
use crate::permit::Permit;
use crate::pulse::Conduct;
use crate::shed::Ticket;

/// What comes next for a request.
pub(crate) enum Next {
    /// Its answer.
    Decided(Decision),
    /// A question to the meters.
    Ask(Attempt),
}

/// A request that the meters are asked about.
pub(crate) struct Attempt {
    pub(crate) caller: Caller,
    pub(crate) permit: Permit,
    pub(crate) question: Question,
    /// Its place at the upstream, where load is shed.
    pub(super) load_permit: Option<Ticket>,
    /// The reputation that the limits of the attempt are scaled for. Nothing: none is kept.
    pub(super) reputation: Option<Bucket>,
    /// Who answers for the meters.
    pub(super) mode: StoreMode,
}

/// What the meters are asked.
pub(crate) enum Question {
    /// May it pass? Every charge, or none.
    Charge,
    /// It may not, for a reason that is no limit's. What do its limits say?
    Explain(Denial),
    /// It was answered, without taking all of its charges. What do all of its limits say?
    Report(Box<Charged>),
}

/// What the charges of a request came to.
pub(crate) struct Charged {
    pub(super) answer: Answer,
    pub(super) result: ChargeResult,
    pub(super) conduct: Option<Box<[Conduct]>>,
}

/// What became of a charge plan.
#[derive(Clone, Copy)]
pub(crate) struct ChargeResult {
    pub(crate) outcome: Outcome,
    pub(crate) recorded: Option<Position>,
}

/// What is shown of the meters of a charge plan.
#[derive(Default)]
pub(crate) struct LimitReport {
    /// What its limits say.
    pub(crate) limits: Vec<LimitNow>,
    /// What is remembered of the caller's conduct, if a limit has refused.
    pub(crate) conduct: Option<Box<[Conduct]>>,
}

impl LimitReport {
    pub(super) fn of(plan: &ChargePlan<'_>, readings: &Readings, outcome: Outcome) -> Self {
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

impl Attempt {
    /// What is done with the charges.
    pub(super) fn plan_mode(&self, context: &RequestContext<'_>) -> Mode {
        match self.question {
            Question::Charge => context.mode(),
            Question::Explain(_) | Question::Report(_) => Mode::Peek,
        }
    }

    /// The question as limits see it.
    pub(super) fn request(&self, context: &RequestContext<'_>) -> Request {
        let charges = match self.question {
            Question::Charge => self.permit.charges(),
            Question::Explain(_) | Question::Report(_) => Charges::All,
        };
        context.request_of(&self.permit, self.plan_mode(context), charges)
    }

    /// Whether a record is written if the request is admitted.
    pub(super) fn is_recorded(&self, context: &RequestContext<'_>) -> bool {
        self.plan_mode(context) == Mode::Charge && self.permit.usage().is_some()
    }

    /// When it was decided: by the clock of the store that has answered.
    pub(super) fn decided_at(&self) -> Timestamp {
        self.permit.charged_at
    }
}
