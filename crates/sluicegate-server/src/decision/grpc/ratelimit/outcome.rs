//! What became of one descriptor.

use std::slice;

use sluicegate_core::headers::{self, Field, Lines, Shown, Sink as _};
use sluicegate_core::limit::{Axis, LimitName};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::policy::Policy;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{
    Answer, Decision, Denial, ErrorCode, HeaderLines, StoreMode, ThrottleAnswer, Throttled, problem,
};

use super::unit;
use crate::decision::grpc::message::ratelimit::Unit;
use crate::decision::refusal::Refusal;

/// What became of one descriptor.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Nothing limits it, or something was given back.
    Free,
    /// Nothing limits it, because the policy says so.
    Unlimited,
    /// A limit of its own has decided.
    Throttled { said: Throttled, unit: Unit },
    /// A limit of its own has counted it, and refuses nothing.
    Counted { said: Throttled, unit: Unit },
    /// A limit of its own that admits nothing has.
    Closed { unit: Unit },
    /// What the caller may do has.
    Decided(Box<Decision>),
    /// The request is none that a gateway would forward.
    Malformed(Refusal),
}

/// How a refusal is told.
pub(super) struct Told {
    /// The status that it really is.
    pub(super) status: u16,
    /// The problem as a document.
    pub(super) document: String,
}

impl Outcome {
    /// Whether the request may not pass.
    pub(super) fn is_refused(&self) -> bool {
        match self {
            Self::Free | Self::Unlimited | Self::Counted { .. } => false,
            Self::Throttled { said, .. } => said.answer != ThrottleAnswer::Fits,
            Self::Decided(decision) => !decision.is_admitted(),
            Self::Closed { .. } | Self::Malformed(_) => true,
        }
    }

    /// Whether nothing could be decided.
    pub(super) fn is_unavailable(&self) -> bool {
        match self {
            Self::Throttled { said, .. } => said.answer == ThrottleAnswer::Unavailable,
            Self::Decided(decision) => {
                matches!(&decision.answer, Answer::Denied(denial) if denial.error == ErrorCode::Unavailable)
            }
            _ => false,
        }
    }

    /// The limit that stands for all, and its unit: the one that refuses, else that of the rate, else the one with the
    /// least left.
    pub(super) fn shown(&self) -> Option<(&LimitNow, Unit)> {
        match self {
            Self::Throttled { said, unit } | Self::Counted { said, unit } => Some((&said.limit, *unit)),
            Self::Decided(decision) => {
                let limit = shown_of(decision)?;
                let rules = decision.plan.iter().flat_map(|plan| plan.tariff.limits());
                let rule = rules.filter(|known| known.name == limit.name).map(|known| &known.rule).next();
                Some((limit, rule.map_or(Unit::Unknown, unit::of)))
            }
            Self::Free | Self::Unlimited | Self::Closed { .. } | Self::Malformed(_) => None,
        }
    }

    /// The lines that a gateway would put into the answer.
    pub(super) fn lines(&self, policy: &Policy, now: Timestamp) -> HeaderLines {
        match self {
            Self::Decided(decision) => decision.headers(),
            Self::Throttled { said, .. } => lines_of(said, policy, now),
            // Nobody is told of a limit that does not hold.
            _ => HeaderLines::default(),
        }
    }

    /// How the refusal is told, if it is one.
    pub(super) fn told(&self) -> Option<Told> {
        let denial = match self {
            Self::Free | Self::Unlimited | Self::Counted { .. } => return None,
            Self::Malformed(refusal) => {
                return Some(Told { status: refusal.status(), document: refusal.document() });
            }
            Self::Decided(decision) => {
                let Answer::Denied(denial) = &decision.answer else { return None };
                let document = problem::of_denial(decision, denial);
                return Some(Told { status: denial.status, document });
            }
            Self::Throttled { said, .. } => denial_of(said.answer, Some(said.limit.name.clone()))?,
            Self::Closed { .. } => denial_of(ThrottleAnswer::Wait(Nanos::ZERO), None)?,
        };
        Some(Told { status: denial.status, document: problem::of_limit(&denial) })
    }

    /// The denial of a caller, if it is one.
    pub(super) fn denial(&self) -> Option<&Denial> {
        match self {
            Self::Decided(decision) => match &decision.answer {
                Answer::Denied(denial) => Some(denial),
                Answer::Admitted => None,
            },
            _ => None,
        }
    }
}

fn shown_of(decision: &Decision) -> Option<&LimitNow> {
    let limits = &decision.limits;
    if let Answer::Denied(Denial { limit: Some(name), .. }) = &decision.answer {
        return limits.iter().find(|limit| limit.name == *name);
    }
    let rates = || limits.iter().filter(|limit| limit.axis == Axis::Rate);
    rates()
        .find(|limit| limit.name.as_str() == LimitName::RATE)
        .or_else(|| rates().min_by_key(|limit| limit.remaining))
        .or_else(|| limits.iter().min_by_key(|limit| limit.remaining))
}

fn denial_of(answer: ThrottleAnswer, limit: Option<LimitName>) -> Option<Denial> {
    let (error, retry_after) = match answer {
        ThrottleAnswer::Fits => return None,
        ThrottleAnswer::Wait(wait) => (ErrorCode::RateLimited, wait),
        ThrottleAnswer::Never => (ErrorCode::CostExceedsLimit, Nanos::ZERO),
        ThrottleAnswer::Unavailable => (ErrorCode::Unavailable, Nanos::ZERO),
    };
    Some(Denial { error, status: error.status(), limit, retry_after })
}

fn lines_of(said: &Throttled, policy: &Policy, now: Timestamp) -> HeaderLines {
    let (refused_by, retry_after_s) = match said.answer {
        ThrottleAnswer::Fits => (None, None),
        ThrottleAnswer::Wait(wait) => (Some(&said.limit.name), Some(wait.as_secs_ceil())),
        ThrottleAnswer::Never | ThrottleAnswer::Unavailable => (Some(&said.limit.name), None),
    };
    let shown = Shown { now, limits: slice::from_ref(&said.limit), refused_by, retry_after_s };
    let mut lines = Lines::default();
    headers::write(&shown, &policy.responses, &mut lines);
    if said.mode == StoreMode::Degraded {
        lines.line(Field::Mode, |text| text.push_str(said.mode.as_str()));
    }
    lines.into()
}
