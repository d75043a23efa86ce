//! All tiers of a policy, and which of them is the smallest.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::tier::{Bypass, Tier, TierName};
use crate::calendar::CalendarUnit;
use crate::limit::{Axis, Excess};
use crate::rule::Rule;

/// All tiers, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tiers {
    list: Vec<Tier>,
    by_name: BTreeMap<TierName, usize>,
}

impl Tiers {
    /// The tiers. Of several with one name the last is found; the reader of files lets none through.
    pub fn new(list: Vec<Tier>) -> Self {
        let by_name = list.iter().enumerate().map(|(at, tier)| (tier.name.clone(), at)).collect();
        Self { list, by_name }
    }

    /// The tier of this name.
    pub fn get(&self, name: &str) -> Option<&Tier> {
        self.by_name.get(name).and_then(|at| self.list.get(*at))
    }

    /// The tier that an account gets whose own tier is unknown: the lowest rate, then the lowest quota; no limit is the
    /// highest. Never a bypass, and never what was negotiated with one account. Nothing if there is no other.
    pub fn smallest(&self) -> Option<&Tier> {
        self.list.iter().filter(|tier| tier.bypass == Bypass::No && !tier.name.is_custom()).min_by(|a, b| {
            let rates = Pace::of(a, Axis::Rate).cmp(&Pace::of(b, Axis::Rate));
            rates.then_with(|| Pace::of(a, Axis::Quota).cmp(&Pace::of(b, Axis::Quota)))
        })
    }

    /// All of them, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Tier> {
        self.list.iter()
    }
}

impl<'t> IntoIterator for &'t Tiers {
    type Item = &'t Tier;
    type IntoIter = std::slice::Iter<'t, Tier>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// How much a tier admits in the long run, compared exactly.
#[derive(Clone, Copy)]
enum Pace {
    Per { amount: u64, secs: u32 },
    Unlimited,
}

impl Pace {
    /// The lowest among the tier's limits of this axis that count every request.
    fn of(tier: &Tier, axis: Axis) -> Self {
        let limits = tier.limits.iter().filter(|entry| entry.routes.is_empty());
        limits
            .map(|entry| &entry.limit)
            .filter(|limit| limit.axis == axis)
            .filter_map(|limit| match limit.excess {
                Excess::Refuse(_) => Some(Self::of_rule(&limit.rule)),
                Excess::BillUpTo(cap) => Some(Self::of_rule(&limit.rule.raised(cap.amount))),
                Excess::BillOverage => None,
            })
            .min_by(|a, b| a.cmp(b))
            .unwrap_or(Self::Unlimited)
    }

    fn of_rule(rule: &Rule) -> Self {
        let per = |amount: u64, secs: u32| Self::Per { amount, secs };
        match rule {
            Rule::TokenBucket(bucket) => per(bucket.amount(), bucket.window().as_secs()),
            Rule::FixedWindow(counted)
            | Rule::SlidingWindow(counted)
            | Rule::SlidingBuckets(counted)
            | Rule::SlidingLog(counted) => per(counted.limit.get(), counted.window.as_secs()),
            Rule::Calendar { limit, calendar } => per(limit.get(), longest_secs(calendar.unit())),
            Rule::Concurrency { .. } => Self::Unlimited,
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Unlimited, Self::Unlimited) => Ordering::Equal,
            (Self::Unlimited, Self::Per { .. }) => Ordering::Greater,
            (Self::Per { .. }, Self::Unlimited) => Ordering::Less,
            (Self::Per { amount: a, secs: s }, Self::Per { amount: b, secs: t }) => {
                (u128::from(a) * u128::from(t)).cmp(&(u128::from(b) * u128::from(s)))
            }
        }
    }
}

/// The seconds of a calendar unit at its longest.
const fn longest_secs(unit: CalendarUnit) -> u32 {
    match unit {
        CalendarUnit::Day => 86_400,
        CalendarUnit::Month | CalendarUnit::BillingMonth => 31 * 86_400,
    }
}
