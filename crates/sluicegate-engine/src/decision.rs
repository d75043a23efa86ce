//! The answer to one request.

use std::sync::Arc;

use sluicegate_core::headers::{self, Field, Lines, Shown, Sink};
use sluicegate_core::limit::LimitName;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::policy::{HttpUrl, RouteIndex};
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::Position;
use sluicegate_store::directory::{Account, Key};

use crate::ErrorCode;
use crate::identify::ClientId;
use crate::ids::DecisionId;
use crate::lines::HeaderLines;
use crate::permit::Permit;
use crate::pulse::{Conduct, Late};
use crate::shed::Ticket;
use crate::snapshot::PolicySnapshot;
use crate::watch::Standing;

/// How long a caller is told to wait when nothing can be decided: about as long as it takes to notice that there is
/// room on the disk again.
const UNAVAILABLE_RETRY: Nanos = Nanos::from_secs(1);

/// The answer to one request, with everything that a front end may want to say about it.
#[derive(Debug)]
pub struct Decision {
    /// Its id.
    pub id: DecisionId,
    /// Admitted or not.
    pub answer: Answer,
    /// The plan it was decided under, if the caller is known.
    pub plan: Option<Arc<Plan>>,
    /// The account, if the caller has one.
    pub account: Option<Arc<Account>>,
    /// The policy it was decided under.
    pub policy: Arc<PolicySnapshot>,
    /// The route, if one matched.
    pub route: Option<RouteIndex>,
    /// When it was made.
    pub now: Timestamp,
    /// What every limit says now.
    pub limits: Vec<LimitNow>,
    /// What was charged, where the answer waits for the disk.
    pub(crate) charged: Option<Box<Permit>>,
    /// To be finished when the request has ended.
    pub permit: Option<Box<Permit>>,
    /// The record that has to be on disk before the answer is given: see [`crate::Engine::settled`].
    pub pending: Option<Position>,
    /// Whether the store decided.
    pub mode: StoreMode,
    /// How the caller stood.
    pub standing: Standing,
    /// Its place at the upstream, where load is shed.
    pub ticket: Option<Ticket>,
    /// What people are told about the caller.
    pub(crate) who: Who,
    /// What was asked, where the decision is noticed later.
    pub(crate) late: Option<Box<Late>>,
}

/// What people are told about a caller, beside what its answer says.
#[derive(Debug, Default)]
pub(crate) struct Who {
    /// Its key, if that is valid.
    pub(crate) key: Option<Arc<Key>>,
    /// What it is, without a key.
    pub(crate) client: Option<ClientId>,
    /// What is remembered of how it has behaved, if it was refused by a limit.
    pub(crate) conduct: Option<Box<[Conduct]>>,
}

/// Whether the store decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMode {
    /// It does.
    Normal,
    /// It is away, and this process decides by what `degraded` in the policy says.
    Degraded,
}

impl StoreMode {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Degraded => "degraded",
        }
    }
}

/// Admitted or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The request may pass.
    Admitted,
    /// It may not.
    Denied(Denial),
}

/// Why not, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Denial {
    /// Why.
    pub error: ErrorCode,
    /// The status to answer with.
    pub status: u16,
    /// The limit that refuses, if one does.
    pub limit: Option<LimitName>,
    /// After how long it would be admitted, where waiting helps.
    pub retry_after: Nanos,
}

impl Denial {
    /// A denial that no limit makes.
    pub(crate) fn of(error: ErrorCode) -> Self {
        Self { error, status: error.status(), limit: None, retry_after: Nanos::ZERO }
    }

    /// Whole seconds, rounded up, for what passes with time. Who has spent a plan that is answered with 402 or 403 is
    /// not told to come back: clients would hammer against a wall.
    fn retry_after_s(&self) -> Option<u64> {
        let passes = matches!(self.status, 429 | 503) && self.retry_after > Nanos::ZERO;
        passes.then(|| self.retry_after.as_secs_ceil())
    }
}

impl Decision {
    /// Whether the request may pass.
    pub fn is_admitted(&self) -> bool {
        self.answer == Answer::Admitted
    }

    /// Why it may not, if it may not.
    pub(crate) fn denial(&self) -> Option<&Denial> {
        match &self.answer {
            Answer::Admitted => None,
            Answer::Denied(denial) => Some(denial),
        }
    }

    /// Turns it into a denial: nothing can be decided, so nothing is admitted.
    pub(crate) fn deny_unavailable(&mut self) {
        let denial = Denial { retry_after: UNAVAILABLE_RETRY, ..Denial::of(ErrorCode::Unavailable) };
        self.answer = Answer::Denied(denial);
    }

    /// Writes what the limits say as headers, in the families that the policy has chosen.
    pub fn write_headers(&self, sink: &mut impl Sink) {
        let denial = self.denial();
        let shown = Shown {
            now: self.now,
            limits: &self.limits,
            refused_by: denial.and_then(|denial| denial.limit.as_ref()),
            retry_after_s: denial.and_then(Denial::retry_after_s),
        };
        headers::write(&shown, &self.policy.policy().responses, sink);
        if self.mode == StoreMode::Degraded {
            sink.line(Field::Mode, |text| text.push_str(self.mode.as_str()));
        }
    }

    /// The same as lines of a message.
    pub fn headers(&self) -> HeaderLines {
        let mut lines = Lines::default();
        self.write_headers(&mut lines);
        lines.into()
    }

    /// The name of the caller's tier.
    pub fn tier(&self) -> Option<&str> {
        self.plan.as_ref().map(|plan| plan.name.as_str())
    }

    /// Where the route sends its requests, if it has an upstream of its own.
    pub fn upstream(&self) -> Option<&HttpUrl> {
        self.policy.policy().routes.get(self.route?)?.upstream.as_ref()
    }
}
