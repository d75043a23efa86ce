//! Limits that belong to no account: whoever asks brings along the limit and who is limited.
//!
//! They are settled as those of tiers are, on one meter each, and are on nobody's bill: no record is written. What a
//! meter says survives a restart by the checkpoint alone. Subjects beyond the bound of their class share overflow
//! buckets.

mod known;
mod overflow;
mod shared;

use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::{Nanos, Timestamp};

use crate::decision::StoreMode;
use crate::engine::{Counters, Engine};

pub use known::Throttle;
pub(crate) use known::Throttles;
pub(crate) use overflow::OverflowBuckets;

/// What is left within this time would be forgotten before it could be saved and read again.
const SAVED_FROM: Nanos = Nanos::from_secs(10);

/// What is asked of a throttle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThrottleAsk {
    /// So much is taken, if it fits.
    Take(Amount),
    /// Whether so much would fit.
    Peek(Amount),
    /// So much of what was taken around now is given back.
    Give(Amount),
}

impl ThrottleAsk {
    fn request(self, subject: HomeId, now: Timestamp) -> Request {
        let (mode, cost) = match self {
            Self::Take(cost) => (Mode::Charge, cost),
            Self::Peek(cost) => (Mode::Peek, cost),
            Self::Give(cost) => (Mode::Refund { charged_at: now, reserved: cost }, cost),
        };
        let (key, route, which) = (None, None, Charges::All);
        Request { home: subject, key, route, cost, now, mode, which, slot: SlotId(0) }
    }
}

/// What a throttle answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThrottleAnswer {
    /// It fits. Unless it was a peek, it was done.
    Fits,
    /// It fits after this long, if nobody else comes. Nothing was taken.
    Wait(Nanos),
    /// It is more than ever fits. Nothing was taken.
    Never,
    /// The store is away, and the policy says that nothing is decided then.
    Unavailable,
}

/// What a throttle says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Throttled {
    /// The answer.
    pub answer: ThrottleAnswer,
    /// What its meter says now.
    pub limit: LimitNow,
    /// Whether the store has decided.
    pub mode: StoreMode,
}

impl Throttled {
    fn new(
        answer: ThrottleAnswer,
        plan: &ChargePlan<'_>,
        readings: &Readings,
        mode: StoreMode,
    ) -> Option<Self> {
        LimitNow::all(plan, readings).pop().map(|limit| Self { answer, limit, mode })
    }
}

impl Engine {
    /// Makes a limit ready. Those that were asked for lately are kept.
    pub fn throttle(&self, name: &LimitName, rule: &Rule) -> Throttle {
        self.throttles.get(name, rule, |limit| self.meters.enter_asked(limit))
    }

    /// Where the meter of a subject lives. The parts are hashed and never joined: no two lists of them are one subject.
    pub fn subject(&self, parts: &[&[u8]]) -> HomeId {
        self.homes.of_parts(parts)
    }

    /// Settles here and now. Nothing, if the meters are in a store that nodes share: [`Engine::throttled`] waits for
    /// it.
    pub fn throttled_here(
        &self,
        throttle: &Throttle,
        subject: HomeId,
        ask: ThrottleAsk,
        now: Timestamp,
    ) -> Option<Throttled> {
        match self.shared {
            None => Some(self.throttled_by(throttle, subject, ask, now)),
            Some(_) => None,
        }
    }

    /// Settles by a meter of this process: one of the subject's own, or, beyond the bound of those, one that it shares.
    fn throttled_by(
        &self,
        throttle: &Throttle,
        subject: HomeId,
        ask: ThrottleAsk,
        now: Timestamp,
    ) -> Throttled {
        if !self.watch.seats.has_room_for_asked(subject, &self.meters) {
            Counters::count(&self.counters.crowded);
            return self.overflow.settle(throttle, subject, ask, now);
        }
        let plan = throttle.plan().tariff.plan(&ask.request(subject, now));
        let mut readings = Readings::new();
        let outcome = self.meters.settle(&plan, &mut readings);
        let throttled = Throttled::new(answer_of(outcome), &plan, &readings, StoreMode::Normal);
        let throttled = throttled.unwrap_or_else(|| throttle.untouched());
        if outcome.changes_meters(plan.mode) && throttled.limit.reset > SAVED_FROM {
            self.watch.touched_asked.add(subject);
        }
        throttled
    }
}

fn answer_of(outcome: Outcome) -> ThrottleAnswer {
    match outcome {
        Outcome::Admitted { .. } => ThrottleAnswer::Fits,
        Outcome::Refused { retry_after, .. } => ThrottleAnswer::Wait(retry_after),
        Outcome::NeverFits { .. } => ThrottleAnswer::Never,
        // Neither expects anything of a meter nor has a name.
        Outcome::Elsewhere { .. } | Outcome::Conflicts => ThrottleAnswer::Unavailable,
    }
}

/// The limit behind a throttle.
fn limit(name: &LimitName, rule: &Rule) -> Limit {
    Limit {
        name: name.clone(),
        axis: Axis::Rate,
        per: Per::Account,
        // Its number in the book may be that of many.
        rule: rule.in_family(),
        excess: Excess::Refuse(RefusalStatus::TooManyRequests),
        sold: None,
    }
}
