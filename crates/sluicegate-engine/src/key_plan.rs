//! Plans of keys that have limits of their own, below those of their accounts.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::Value;
use sluicegate_core::file::{self, Problem};
use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::{Excess, Per};
use sluicegate_core::policy::{Bypass, RefundOn, Routes, Tier, TierLimit, TierName};
use sluicegate_core::tariff::Plan;
use sluicegate_store::directory::{Key, KeyLimits, KeyPlanMemo, StoreError};
use sluicegate_store::meters::MeterTable;

use crate::engine::Engine;
use crate::snapshot::PolicySnapshot;

/// The keys of a tier that a key may have too.
const MEMBERS: [&str; 8] =
    ["rate", "burst", "burst_multiplier", "quota", "quota_window", "quota_status", "concurrency", "limits"];

/// Why the limits of a key cannot be used.
#[derive(Clone, Debug)]
pub enum BadKeyLimits {
    /// They are no JSON object.
    Form,
    /// A member that a key may not have.
    Member(String),
    /// What the reader of policies says.
    Problems(Vec<Problem>),
    /// There are none, or too many.
    Count,
    /// A limit that is billed, or that others share.
    NotOfAKey(String),
    /// Together with those of the account they are too many.
    DoNotFit,
}

impl fmt::Display for BadKeyLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("is not an object such as {\"rate\": \"5/s\", \"quota\": 1000}"),
            Self::Member(name) => {
                let shown: String = name.chars().take(64).collect();
                write!(f, "has \"{shown}\", which a key cannot have; known are {}", MEMBERS.join(", "))
            }
            Self::Problems(problems) => match problems.first() {
                Some(problem) => {
                    let help = problem.help.as_deref().unwrap_or("look at it again");
                    write!(f, "cannot be used: {}; {help}", problem.message)
                }
                None => f.write_str("cannot be used"),
            },
            Self::Count => write!(f, "has no limit, or more than {}", Plan::KEY_LIMITS_MAX),
            Self::NotOfAKey(name) => {
                write!(
                    f,
                    "has the limit \"{name}\", which is billed or shared; limits of a key refuse, per key"
                )
            }
            Self::DoNotFit => f.write_str("has more limits than fit beside those of the account's tier"),
        }
    }
}

impl std::error::Error for BadKeyLimits {}

/// The limits that a text stands for. Routes that the policy does not have are refused, or, where the text was written
/// under another policy, left out: no request matches them.
fn read(body: &str, routes: &Routes, is_stored: bool) -> Result<Vec<TierLimit>, BadKeyLimits> {
    let mut body: Value = serde_json::from_str(body).map_err(|_| BadKeyLimits::Form)?;
    let members = body.as_object_mut().ok_or(BadKeyLimits::Form)?;
    if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(BadKeyLimits::Member(unknown.clone()));
    }
    let mut shared = None;
    if let Some(limits) = members.get_mut("limits").and_then(Value::as_object_mut) {
        if is_stored {
            limits.retain(|_, limit| keep_known_routes(limit, routes));
        }
        // What is not said is per key, whatever it would be in a tier.
        shared = limits.iter().find_map(|(name, limit)| {
            let per = limit.get("per").and_then(Value::as_str);
            per.is_some_and(|per| per != Per::Key.as_str()).then(|| name.clone())
        });
    }
    if let Some(name) = shared {
        return Err(BadKeyLimits::NotOfAKey(name));
    }
    if is_stored {
        members.retain(|_, value| !value.as_object().is_some_and(serde_json::Map::is_empty));
        if members.is_empty() {
            return Ok(Vec::new());
        }
    }
    let name = TierName::new("key").ok_or(BadKeyLimits::Form)?;
    let tier = file::read_tier(body.to_string().as_bytes(), &name, routes).map_err(BadKeyLimits::Problems)?;
    if tier.bypass == Bypass::Yes || tier.refund_on != RefundOn::Nothing {
        return Err(BadKeyLimits::Form);
    }
    if tier.limits.is_empty() || tier.limits.len() > Plan::KEY_LIMITS_MAX {
        return Err(BadKeyLimits::Count);
    }
    match tier.limits.iter().find(|entry| !matches!(entry.limit.excess, Excess::Refuse(_))) {
        Some(billed) => Err(BadKeyLimits::NotOfAKey(billed.limit.name.to_string())),
        None => Ok(tier.limits),
    }
}

/// Leaves out the routes of a limit that the policy does not have. Whether any are left, where it names some.
fn keep_known_routes(limit: &mut Value, routes: &Routes) -> bool {
    let Some(named) = limit.get_mut("routes").and_then(Value::as_array_mut) else { return true };
    named.retain(|name| routes.iter().any(|(_, route)| Some(route.name.as_str()) == name.as_str()));
    !named.is_empty()
}

impl PolicySnapshot {
    /// Whether a key may have these limits under this policy, besides those of an account with this plan.
    pub(crate) fn check_key_limits(
        &self,
        limits: &KeyLimits,
        account: Option<&Plan>,
    ) -> Result<(), BadKeyLimits> {
        let own = read(limits.as_str(), &self.policy().routes, false)?;
        match account.map(|plan| plan.tariff.limits().count()) {
            Some(count) if count + own.len() > Tier::LIMITS_MAX => Err(BadKeyLimits::DoNotFit),
            _ => Ok(()),
        }
    }

    /// The plan of a key: that of its account, with its own limits. Nothing if those cannot be used under this policy:
    /// a key is never admitted without its limits.
    #[inline]
    pub(crate) fn plan_of_key(
        &self,
        account: Arc<Plan>,
        key: &Key,
        meters: &MeterTable,
    ) -> Option<Arc<Plan>> {
        if key.restrictions.is_none() {
            return Some(account);
        }
        self.plan_of_restricted_key(account, key, meters)
    }

    fn plan_of_restricted_key(
        &self,
        account: Arc<Plan>,
        key: &Key,
        meters: &MeterTable,
    ) -> Option<Arc<Plan>> {
        let restrictions = key.restrictions.as_ref()?;
        let Some(limits) = &restrictions.of.limits else { return Some(account) };
        if let Some(memo) = &*restrictions.memo.load()
            && Arc::ptr_eq(&memo.account, &account)
        {
            return Some(Arc::clone(&memo.plan));
        }
        let own = read(limits.as_str(), &self.policy().routes, true).ok()?;
        let calendar = &key.account.standing.load().calendar;
        let plan = account.with_key_limits(&own, calendar, |limit| meters.enter(limit)).ok()?;
        let plan = Arc::new(plan);
        restrictions.memo.store(Some(Arc::new(KeyPlanMemo { account, plan: Arc::clone(&plan) })));
        Some(plan)
    }
}

impl Engine {
    /// Whether a key of this account may have these limits under the policy in force.
    pub async fn check_key_limits(&self, limits: &KeyLimits, account: &str) -> Result<(), BadKeyLimits> {
        let policy = self.snapshot.load_full();
        // An account that cannot be read is no reason to refuse: the write that follows finds out.
        let account = self.directory.account(account).await.ok().flatten();
        let plan = account.and_then(|account| {
            policy.plan_of(&account.standing.load(), &self.meters, &self.names, &self.counters)
        });
        policy.check_key_limits(limits, plan.as_deref())
    }

    /// A plan of an account with the limits of the key that has this tagged number, as far as this process knows the
    /// key.
    pub(crate) fn plan_with_known_key(
        &self,
        policy: &PolicySnapshot,
        plan: Arc<Plan>,
        account: u64,
        tagged: Option<NonZeroU32>,
    ) -> Arc<Plan> {
        let number = tagged.and_then(KeyEnv::untag);
        let key = number.and_then(|number| self.directory.limited_key(account, number));
        match key {
            Some(key) => policy.plan_of_key(Arc::clone(&plan), &key, &self.meters).unwrap_or(plan),
            None => plan,
        }
    }

    /// Learns of a key with limits of its own, where nodes share a directory and this one has not seen it.
    pub(crate) async fn learn_limited_key(
        &self,
        account: u64,
        serial: u64,
        tagged: Option<NonZeroU32>,
    ) -> Result<(), StoreError> {
        let Some(number) = tagged.and_then(KeyEnv::untag) else { return Ok(()) };
        let fetched = self.directory.fetch_limited_key((account, number), serial, self.now()).await;
        fetched.map(|_| ())
    }
}
