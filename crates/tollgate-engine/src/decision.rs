//! The answer to one request.

use std::sync::Arc;

use tollgate_core::headers::Field;
use tollgate_core::limit::LimitName;
use tollgate_core::policy::{HttpUrl, RouteIndex};
use tollgate_core::tariff::Plan;
use tollgate_core::time::Nanos;
use tollgate_ledger::Position;
use tollgate_store::directory::Account;

use crate::answer::ErrorCode;
use crate::ids::DecisionId;
use crate::lines::HeaderLines;
use crate::permit::Permit;
use crate::snapshot::PolicySnapshot;

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
    /// What every limit says now.
    pub limits: Vec<LimitNow>,
    /// The same as headers.
    pub headers: HeaderLines,
    /// What was charged, where the answer waits for the disk.
    pub(crate) charged: Option<Box<Permit>>,
    /// To be finished when the request has ended.
    pub permit: Option<Box<Permit>>,
    /// The record that has to be on disk before the answer is given: see [`crate::Engine::settled`].
    pub pending: Option<Position>,
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
}

/// What one limit says now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitNow {
    /// Which.
    pub name: LimitName,
    /// The amount per its window.
    pub limit: u64,
    /// What counts against it.
    pub used: u64,
    /// The most that would be admitted now.
    pub remaining: u64,
    /// How long until more is free: for a rate the next unit, for a quota its reset.
    pub reset: Nanos,
}

impl Decision {
    /// Whether the request may pass.
    pub fn is_admitted(&self) -> bool {
        self.answer == Answer::Admitted
    }

    /// Turns it into a denial: nothing can be decided, so nothing is admitted.
    pub(crate) fn deny_unavailable(&mut self) {
        let denial = Denial { retry_after: UNAVAILABLE_RETRY, ..Denial::of(ErrorCode::Unavailable) };
        self.answer = Answer::Denied(denial);
        self.headers.push(Field::RetryAfter, "1");
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
