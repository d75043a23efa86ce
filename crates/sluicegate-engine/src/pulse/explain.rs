//! Why a request was refused, with everything that people ask about it. No address, no secret and no cookie is in it.

use arrayvec::ArrayString;
use sluicegate_core::limit::LimitName;
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::policy::TierName;
use sluicegate_core::rule::Amount;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::directory::AccountId;
use sluicegate_store::key_text::{KeyId, PresentedKey};

use super::seen::Asked;
use crate::ErrorCode;
use crate::decision::{Decision, Denial, StoreMode};
use crate::identify::ClientId;
use crate::ids::DecisionId;
use crate::request::{Credential, Front};
use crate::watch::Standing;

/// How much of a path is kept, in characters.
const PATH_MAX: usize = 200;

/// How much of a method is.
const METHOD_MAX: usize = 16;

/// A decision in short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Brief {
    /// Its id.
    pub id: DecisionId,
    /// When it was made.
    pub at: Timestamp,
    /// Who asked for it.
    pub front: Front,
    /// Why not; nothing: it was admitted.
    pub error: Option<ErrorCode>,
    /// The status that was answered, or was to be.
    pub status: u16,
    /// The account, if the caller has one and is known.
    pub account: Option<AccountId>,
    /// The client, if the caller has no key.
    pub client: Option<ClientId>,
    /// The tier, if the caller is known.
    pub tier: Option<TierName>,
    /// The name of the route, if one matched. It is looked for once the caller is known.
    pub route: Option<Box<str>>,
    /// The method.
    pub method: ArrayString<METHOD_MAX>,
    /// The path without its query, cut where it is long.
    pub path: Box<str>,
}

/// Why a request was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The decision in short.
    pub brief: Brief,
    /// The key that was presented, whether it is valid or not.
    pub key: Option<KeyId>,
    /// The policy under which it was decided.
    pub policy_version: u64,
    /// What it would have cost.
    pub cost: u64,
    /// The largest cost that would have been admitted then.
    pub cost_admitted: u64,
    /// Whether the store decided.
    pub mode: StoreMode,
    /// How the caller stood.
    pub standing: Standing,
    /// The limit that refused, if one did.
    pub refused_by: Option<LimitName>,
    /// After how long it would have been admitted; zero: waiting does not help.
    pub retry_after: Nanos,
    /// What every limit said. Nothing was charged, so that it said the same before and after.
    pub limits: Box<[LimitNow]>,
    /// What is remembered of the caller's conduct, to which a refusal is charged.
    pub conduct: Box<[Conduct]>,
}

/// What a meter of the caller's conduct said after a refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conduct {
    /// What it said.
    pub after: LimitNow,
    /// What the refusal was charged there.
    pub charged: u64,
}

impl Explanation {
    /// When the request would have been admitted, where waiting helps.
    pub fn retry_at(&self) -> Option<Timestamp> {
        (self.retry_after > Nanos::ZERO).then(|| self.brief.at.plus(self.retry_after))
    }

    /// How much memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let route = self.brief.route.as_ref().map_or(0, |route| route.len());
        size_of::<Self>()
            + size_of_val(&*self.limits)
            + size_of_val(&*self.conduct)
            + self.brief.path.len()
            + route
    }

    /// Why this decision is a denial.
    pub(crate) fn of(asked: &Asked<'_>, decision: &Decision, denial: &Denial) -> Self {
        let route = decision.route.and_then(|route| decision.policy.policy().routes.get(route));
        let cost = match (asked.cost, route) {
            (Some(cost), _) => cost.get(),
            (None, Some(route)) => route.cost,
            (None, None) => Amount::ONE.get(),
        };
        Self {
            brief: Brief::of(asked, decision),
            key: decision.who.key.as_ref().map(|key| key.id).or_else(|| presented(asked)),
            policy_version: decision.policy.version(),
            cost,
            cost_admitted: cost_admitted(decision, denial),
            mode: decision.mode,
            standing: decision.standing,
            refused_by: denial.limit.clone(),
            retry_after: denial.retry_after,
            limits: decision.limits.clone().into_boxed_slice(),
            conduct: decision.who.conduct.clone().unwrap_or_default(),
        }
    }
}

impl Brief {
    /// This decision in short.
    pub(crate) fn of(asked: &Asked<'_>, decision: &Decision) -> Self {
        let denial = decision.denial();
        let account = decision.account.as_ref().or_else(|| Some(&decision.who.key.as_ref()?.account));
        let tier = match &decision.plan {
            Some(plan) => Some(plan.name.clone()),
            None => account.map(|account| account.standing.load().tier.clone()),
        };
        let route = decision.route.and_then(|route| decision.policy.policy().routes.get(route));
        let mut method = ArrayString::new();
        asked.method.chars().take(METHOD_MAX).for_each(|letter| {
            // Letters of several bytes may be one too many.
            let _ = method.try_push(letter);
        });
        let path_end = asked.path.char_indices().nth(PATH_MAX).map_or(asked.path.len(), |(end, _)| end);
        Self {
            id: decision.id,
            at: asked.now,
            front: asked.front,
            error: denial.map(|denial| denial.error),
            status: denial.map_or(200, |denial| denial.status),
            account: account.map(|account| account.id.clone()),
            client: decision.who.client,
            tier,
            route: route.map(|route| route.name.as_str().into()),
            method,
            path: asked.path[..path_end].into(),
        }
    }
}

/// The key that was presented, if it has the form of one. Its id is no secret.
fn presented(asked: &Asked<'_>) -> Option<KeyId> {
    match asked.credential? {
        Credential::Key(text) | Credential::KeyFrom { key: text, .. } | Credential::ServiceToken(text) => {
            PresentedKey::parse(text).ok().map(|presented| presented.id)
        }
        Credential::Account { .. }
        | Credential::Nothing { .. }
        | Credential::Tier { .. }
        | Credential::Headers(_)
        | Credential::Ambiguous => None,
    }
}

/// The largest cost that all limits together would have admitted. Where no limit refused, nothing would have been.
fn cost_admitted(decision: &Decision, denial: &Denial) -> u64 {
    let is_limits = matches!(
        denial.error,
        ErrorCode::RateLimited
            | ErrorCode::ConcurrencyLimited
            | ErrorCode::QuotaExceeded
            | ErrorCode::CostExceedsLimit
    );
    if !is_limits {
        return 0;
    }
    let bounds = decision.limits.iter().filter_map(|limit| most_of(decision, limit));
    bounds.min().unwrap_or(0)
}

/// The largest cost that one limit would have admitted. Nothing: any.
fn most_of(decision: &Decision, limit: &LimitNow) -> Option<u64> {
    use sluicegate_core::key_env::KeyEnv;
    use sluicegate_core::limit::Axis;
    if limit.axis == Axis::Concurrency {
        // One place, whatever the cost.
        return (limit.remaining == 0).then_some(0);
    }
    let sold = decision.plan.as_ref()?.tariff.limits().find(|sold| sold.name == limit.name);
    // What goes beyond is billed, up to a point or without end; nothing of it to test keys.
    let is_test = decision.who.key.as_ref().is_some_and(|key| key.env == KeyEnv::Test);
    let reach = sold.filter(|_| !is_test).map_or(Some(0), |sold| sold.excess.reach())?;
    Some(limit.capacity.saturating_add(reach).saturating_sub(limit.used))
}
