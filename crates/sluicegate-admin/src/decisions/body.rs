//! Decisions as people see them.

use serde::Serialize;
use sluicegate_core::limit::Axis;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::policy::Bucket;
use sluicegate_core::time::Nanos;
use sluicegate_engine::pulse::{Brief, Conduct, Explanation};
use utoipa::ToSchema;

use super::sentence::sentence;
use crate::instant;

/// A decision in short.
#[derive(Serialize, ToSchema)]
#[schema(as = DecisionInShort)]
pub(crate) struct BriefBody {
    /// Its id, as the answer had it.
    #[schema(example = "dec_01k8zv4qe0h3n8d5rj2m7w9xab")]
    decision_id: String,
    /// When it was made.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    at: String,
    /// Who asked: `gateway`, `decision`, `forward_auth` or `middleware`.
    #[schema(example = "gateway")]
    front: &'static str,
    /// Whether the request was admitted.
    allowed: bool,
    /// The status that was answered, or was to be.
    #[schema(example = 429)]
    status: u16,
    /// Why it was refused; null where it was not.
    #[schema(required, example = "rate_limited")]
    error: Option<&'static str>,
    /// The account; null where the caller has none, or is not known.
    #[schema(required, example = "acme")]
    account: Option<String>,
    /// The client; null where the caller has a key, or is not known.
    #[schema(required, example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
    client: Option<String>,
    /// The tier; null where the caller is not known.
    #[schema(required, example = "pro")]
    tier: Option<String>,
    /// The route; null where none matched, or nobody looked because the caller is not known.
    #[schema(required, example = "search")]
    route: Option<String>,
    /// The method.
    #[schema(example = "GET")]
    method: String,
    /// The path without its query, cut after 200 characters.
    #[schema(example = "/api/search/shoes")]
    path: String,
}

/// Why a request was refused.
#[derive(Serialize, ToSchema)]
#[schema(as = Explanation)]
pub(crate) struct ExplanationBody {
    #[serde(flatten)]
    brief: BriefBody,
    /// The key that was presented, if it has the form of one; valid or not.
    #[schema(required, pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    key: Option<String>,
    /// The policy under which it was decided.
    #[schema(minimum = 1, example = 3)]
    policy_version: u64,
    /// What the request would have cost.
    #[schema(example = 1)]
    cost: u64,
    /// `degraded`: the store was away.
    #[schema(example = "normal")]
    mode: &'static str,
    /// Whether the callers of the address shared the limits, because of pressure on it: what the limits say is the part
    /// of one of them.
    squeezed: bool,
    /// How the caller's reputation was: `low` risk, `medium`, `high` or `critical`; null where none is kept.
    #[schema(required, example = "low")]
    reputation: Option<&'static str>,
    /// Every limit, and what is remembered of the caller's conduct (`axis` is `conduct`). A refusal is charged to that
    /// alone.
    limits: Vec<ExplainedLimit>,
    /// When the request would have been admitted; null where waiting does not help.
    #[schema(required, format = DateTime, example = "2026-11-01T12:00:00.084Z")]
    retry_at: Option<String>,
    /// The largest cost that would have been admitted at that moment.
    #[schema(example = 0)]
    cost_admitted: u64,
    /// All of that in a sentence.
    #[schema(
        example = "acme spent its rate of 10 a second; the next request of cost 1 is admitted in 84 ms."
    )]
    sentence: String,
}

/// What one limit said.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExplainedLimit {
    /// Its name.
    #[schema(example = "rate")]
    name: String,
    /// What it protects: `rate`, `concurrency`, `quota` or `conduct`.
    #[schema(example = "rate")]
    axis: &'static str,
    /// The amount per its window.
    #[schema(example = 10)]
    limit: u64,
    /// What it said before the decision.
    before: MeterBody,
    /// What it said afterwards.
    after: MeterBody,
    /// How long until more is free.
    #[schema(example = 84)]
    reset_ms: u64,
    /// Whether it is the one that refused.
    refused: bool,
    /// If so, how long until the request would have been admitted; else 0.
    #[schema(example = 84)]
    retry_after_ms: u64,
}

/// What a meter says.
#[derive(Serialize, ToSchema)]
#[schema(as = Meter)]
pub(crate) struct MeterBody {
    /// What counts against the limit.
    #[schema(example = 20)]
    used: u64,
    /// The most that would be admitted.
    #[schema(example = 0)]
    remaining: u64,
}

impl BriefBody {
    pub(crate) fn of(brief: &Brief) -> Self {
        Self {
            decision_id: brief.id.to_string(),
            at: instant::text(brief.at),
            front: brief.front.as_str(),
            allowed: brief.error.is_none(),
            status: brief.status,
            error: brief.error.map(|error| error.as_str()),
            account: brief.account.as_ref().map(ToString::to_string),
            client: brief.client.as_ref().map(ToString::to_string),
            tier: brief.tier.as_ref().map(|tier| tier.as_str().to_owned()),
            route: brief.route.as_deref().map(str::to_owned),
            method: brief.method.to_string(),
            path: brief.path.to_string(),
        }
    }
}

impl ExplanationBody {
    pub(crate) fn of(explanation: &Explanation) -> Self {
        let refused = |limit: &LimitNow| explanation.refused_by.as_ref() == Some(&limit.name);
        let limits = explanation.limits.iter().map(|limit| {
            let wait = if refused(limit) { explanation.retry_after } else { Nanos::ZERO };
            ExplainedLimit::new(limit, MeterBody::of(limit), refused(limit), wait)
        });
        let conduct = explanation.conduct.iter().map(|conduct| {
            ExplainedLimit::new(&conduct.after, MeterBody::before(conduct), false, Nanos::ZERO)
        });
        Self {
            brief: BriefBody::of(&explanation.brief),
            key: explanation.key.map(|key| key.to_string()),
            policy_version: explanation.policy_version,
            cost: explanation.cost,
            mode: explanation.mode.as_str(),
            squeezed: explanation.standing.squeezed,
            reputation: explanation.standing.reputation.map(Bucket::as_str),
            limits: limits.chain(conduct).collect(),
            retry_at: explanation.retry_at().map(instant::text),
            cost_admitted: explanation.cost_admitted,
            sentence: sentence(explanation),
        }
    }
}

impl ExplainedLimit {
    fn new(limit: &LimitNow, before: MeterBody, refused: bool, wait: Nanos) -> Self {
        Self {
            name: limit.name.as_str().to_owned(),
            axis: limit.axis.as_str(),
            // Of conduct people know the points, and not how fast they come back.
            limit: if limit.axis == Axis::Conduct { limit.capacity } else { limit.limit },
            before,
            after: MeterBody::of(limit),
            reset_ms: limit.next.as_millis_ceil(),
            refused,
            retry_after_ms: wait.as_millis_ceil(),
        }
    }
}

impl MeterBody {
    fn of(limit: &LimitNow) -> Self {
        Self { used: limit.used, remaining: limit.remaining }
    }

    /// What a meter said before a refusal was charged to it.
    fn before(conduct: &Conduct) -> Self {
        let used = conduct.after.used.saturating_sub(conduct.charged);
        Self { used, remaining: conduct.after.capacity.saturating_sub(used) }
    }
}
