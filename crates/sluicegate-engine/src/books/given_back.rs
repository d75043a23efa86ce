//! What was given back or corrected, where several nodes share the meters: a node may settle what another has charged.
//! Its own records may come to less than nothing, and the period of the charge may be one that it has no record of.
//!
//! A meter cannot hold that. So what is given back is kept beside the meters that count what was charged, and is taken
//! off at the end, for as long as the charge that it belongs to counts. An excess is a negative amount given back where
//! windows have periods; others count it at its own instant, as their meters do.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_core::limit::{Limit, LimitName, Per};
use sluicegate_core::plan::{ChargePlan, Due};
use sluicegate_core::rule::Rule;
use sluicegate_core::rule::timeline::Grain;
use sluicegate_core::tariff::Tariff;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::{Kind, Record};

use super::recount::{Quota, is_quota};

/// Whose: an account, a key where each has a meter of its own, a limit.
type Whose = (u64, Option<NonZeroU32>, LimitName);
/// By the instant of the charge, as exactly as the limit counts.
type Amounts = BTreeMap<Timestamp, i128>;

/// What was given back of quotas.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenBack {
    is_kept: bool,
    amounts: BTreeMap<Whose, Amounts>,
}

/// What was given back of the quotas of one account.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenBackOf(Vec<(Whose, Amounts)>);

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// It is counted.
    Yes,
    /// The meters are to count it.
    No,
}

impl GivenBack {
    /// It is kept from now on.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Counts a refund or an excess that changes these quotas, if that can be told apart from the meters.
    pub(super) fn take(&mut self, record: &Record, plan: &ChargePlan<'_>) -> Taken {
        let charges = || plan.charges().iter().filter(|charge| charge.due == Due::Admission);
        let all =
            |is_told_apart: fn(&Rule) -> bool| charges().all(|charge| is_told_apart(&charge.limit.rule));
        let is_told_apart = match record.kind {
            Kind::Charge => false,
            Kind::Refund => all(|rule| !matches!(rule, Rule::SlidingWindow(_))),
            Kind::Correction => all(has_periods),
        };
        if !self.is_kept || !is_told_apart {
            return Taken::No;
        }
        for charge in charges().filter(|charge| is_quota(charge.limit.axis, &charge.limit.rule)) {
            let whose = (record.account, key_of(record, charge.limit.per), charge.limit.name.clone());
            let at = grain_of(&charge.limit.rule, record.charged_at);
            let cost = i128::from(charge.cost.get());
            *self.amounts.entry(whose).or_default().entry(at).or_default() +=
                if record.kind == Kind::Refund { cost } else { -cost };
        }
        Taken::Yes
    }

    /// How much of a quota was given back that would still count.
    pub(super) fn of(&self, quota: &Quota, limit: &Limit, now: Timestamp) -> i128 {
        let whose = (quota.account, quota.key, quota.name.clone());
        let Some(amounts) = self.amounts.get(&whose) else { return 0 };
        amounts.iter().filter(|(at, _)| counts(&limit.rule, **at, now)).map(|(_, amount)| amount).sum()
    }

    /// What belongs to an account with these limits, and still counts.
    pub(super) fn of_account(&self, serial: u64, limits: &Tariff, now: Timestamp) -> GivenBackOf {
        let theirs = self.amounts.iter().filter(|((account, ..), _)| *account == serial);
        let still = |(whose, amounts): (&Whose, &Amounts)| {
            let limit = limits.limits().find(|limit| limit.name == whose.2)?;
            let amounts = amounts.iter().filter(|(at, _)| counts(&limit.rule, **at, now));
            Some((whose.clone(), amounts.map(|(at, amount)| (*at, *amount)).collect()))
        };
        GivenBackOf(theirs.filter_map(still).collect())
    }

    /// Puts back what was counted before.
    pub(super) fn restore(&mut self, counted: &GivenBackOf) {
        self.amounts.extend(counted.0.iter().cloned());
    }
}

/// Whether a window has periods, so that a correction counts in that of its charge.
pub(super) fn has_periods(rule: &Rule) -> bool {
    matches!(rule, Rule::Calendar { .. } | Rule::FixedWindow(_))
}

/// The key whose meter it is; nothing: all live keys share it.
fn key_of(record: &Record, per: Per) -> Option<NonZeroU32> {
    match (per, record.env) {
        (Per::Account, KeyEnv::Live) => None,
        (Per::Account, KeyEnv::Test) => Some(KeyEnv::TEST_KEYS),
        (Per::Key | Per::Client, _) => record.tagged_key_number(),
    }
}

/// The instant of a charge, as exactly as it matters when it stops counting. Windows and buckets begin with a second.
fn grain_of(rule: &Rule, at: Timestamp) -> Timestamp {
    if matches!(rule, Rule::SlidingLog(_)) { at } else { Timestamp::from_secs(at.as_secs()) }
}

/// Whether something that was charged then still counts.
fn counts(rule: &Rule, at: Timestamp, now: Timestamp) -> bool {
    let within = |from: Timestamp, window: u64| now < from.plus(Nanos(window));
    match rule {
        Rule::Calendar { calendar, .. } => at >= calendar.period_at(now).start,
        Rule::FixedWindow(rule) => at >= rule.aligned(now).start,
        Rule::SlidingBuckets(rule) => {
            let Grain::Buckets(secs) = Grain::buckets(rule) else { return true };
            let bucket = Timestamp::from_secs((at.as_secs() / secs).saturating_add(1).saturating_mul(secs));
            within(bucket, rule.window.as_nanos())
        }
        Rule::SlidingLog(rule) => within(at, rule.window.as_nanos()),
        Rule::SlidingWindow(_) | Rule::TokenBucket(_) | Rule::Concurrency { .. } => false,
    }
}
