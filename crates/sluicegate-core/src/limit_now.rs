//! What one limit says after a plan was settled, in numbers: all that answers tell of it.

use crate::limit::{Axis, Limit, LimitName};
use crate::plan::{Charge, ChargePlan, Due};
use crate::rule::Rule;
use crate::settle::Reading;
use crate::time::{Nanos, Timestamp};

/// What one limit says now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitNow {
    /// Which.
    pub name: LimitName,
    /// What it protects.
    pub axis: Axis,
    /// The amount per its window.
    pub limit: u64,
    /// The most that fits at once.
    pub capacity: u64,
    /// The window over which the capacity is allotted, in seconds: for a bucket, the time in which it fills. Nothing
    /// for slots.
    pub window_s: Option<u64>,
    /// What counts against it.
    pub used: u64,
    /// The most that would be admitted now.
    pub remaining: u64,
    /// What was used above it, where that is billed.
    pub overage: u64,
    /// How long until more is free.
    pub next: Nanos,
    /// How long until it is as if never used; for a quota, until its period ends.
    pub reset: Nanos,
}

impl LimitNow {
    /// What the limits of a settled plan say, in its order. What is due on refusal is no limit.
    pub fn all(plan: &ChargePlan<'_>, readings: &[Reading]) -> Vec<Self> {
        plan.charges()
            .iter()
            .zip(readings)
            .filter(|(charge, _)| charge.due == Due::Admission)
            .map(|(charge, reading)| Self::of(charge, reading, plan.now))
            .collect()
    }

    /// What the meters of the caller's conduct say, which are charged with refusals: with what one is charged there.
    pub fn conduct(plan: &ChargePlan<'_>, readings: &[Reading]) -> Vec<(Self, u64)> {
        plan.charges()
            .iter()
            .zip(readings)
            .filter(|(charge, _)| charge.due == Due::Refusal)
            .map(|(charge, reading)| (Self::of(charge, reading, plan.now), charge.cost.get()))
            .collect()
    }

    /// What a limit says of somebody who was never seen. Calendar windows are as long as their periods are, which only
    /// an instant tells: they have none here.
    pub fn untouched(limit: &Limit) -> Self {
        Self {
            name: limit.name.clone(),
            axis: limit.axis,
            limit: limit.rule.per_window(),
            capacity: limit.rule.capacity(),
            window_s: window_of(&limit.rule),
            used: 0,
            remaining: limit.rule.capacity(),
            overage: 0,
            next: Nanos::ZERO,
            reset: Nanos::ZERO,
        }
    }

    /// What one of so many callers is told who share the meter: no more than it bought.
    #[must_use]
    pub fn of_one_among(self, callers: u64) -> Self {
        let callers = callers.max(1);
        let capacity = self.capacity / callers;
        let remaining = self.remaining.min(capacity);
        let used = self.used.min(capacity.saturating_sub(remaining));
        Self { limit: self.limit / callers, capacity, remaining, used, ..self }
    }

    fn of(charge: &Charge<'_>, reading: &Reading, now: Timestamp) -> Self {
        let limit = charge.limit;
        Self {
            name: limit.name.clone(),
            axis: limit.axis,
            limit: limit.rule.per_window(),
            capacity: limit.rule.capacity(),
            window_s: window_s(charge, now),
            used: reading.used,
            remaining: reading.remaining,
            overage: reading.overage,
            next: reading.next,
            reset: match limit.axis {
                // An unused quota has nothing to reset; its period still ends.
                Axis::Quota if reading.reset == Nanos::ZERO => reading.next,
                _ => reading.reset,
            },
        }
    }
}

/// What a settled plan tells of how its caller has behaved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConductNow {
    /// The points that are left of its reputation, if one is kept.
    pub score: Option<u8>,
    /// How many more refusals it may have before it is blocked, if they are counted.
    pub strikes_left: Option<u64>,
}

impl ConductNow {
    /// What the meters say after the plan.
    pub fn of(plan: &ChargePlan<'_>, readings: &[Reading]) -> Self {
        let remaining = |name: &str| {
            let signals =
                plan.charges().iter().zip(readings).filter(|(charge, _)| charge.due == Due::Refusal);
            signals
                .filter(|(charge, _)| charge.limit.name.as_str() == name)
                .map(|(_, reading)| reading.remaining)
                .next()
        };
        Self {
            score: remaining(LimitName::REPUTATION).map(|points| u8::try_from(points).unwrap_or(u8::MAX)),
            strikes_left: remaining(LimitName::STRIKES),
        }
    }
}

fn window_s(charge: &Charge<'_>, now: Timestamp) -> Option<u64> {
    match &charge.limit.rule {
        Rule::Calendar { calendar, .. } => {
            let period = charge.period.unwrap_or_else(|| calendar.period_at(now));
            Some(period.length().as_secs_ceil())
        }
        rule => window_of(rule),
    }
}

/// The window of a rule that has the same one always.
fn window_of(rule: &Rule) -> Option<u64> {
    match rule {
        Rule::TokenBucket(bucket) => Some(bucket.fill_time().as_secs_ceil()),
        Rule::FixedWindow(rule)
        | Rule::SlidingWindow(rule)
        | Rule::SlidingBuckets(rule)
        | Rule::SlidingLog(rule) => Some(u64::from(rule.window.as_secs())),
        Rule::Calendar { .. } | Rule::Concurrency { .. } => None,
    }
}
