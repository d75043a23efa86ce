//! The same home in Redis, in memory and in the model, asked the same.

use std::cmp::Ordering;
use std::num::NonZeroU32;

use proptest::prelude::*;
use sluicegate_core::calendar::Period;
use sluicegate_core::limit::{Axis, Limit, LimitName, Per};
use sluicegate_core::plan::{Charge, ChargePlan, Due, Expects, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::meters::MeterTable;
use sluicegate_testkit::model;

use crate::bed::Bed;
use crate::strategies::{Event, METERS, Terms, axis, owed};
use crate::words;

const MICRO: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;
/// How many other meters a home has: more than it keeps in one string.
const MANY: u32 = 14;

/// How Redis is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Each plan in a call of its own.
    Single,
    /// All plans of an instant in one call.
    Together,
}

/// What a plan asks.
#[derive(Clone)]
struct Asked {
    meters: Vec<usize>,
    cost: u64,
    expects: Option<Expects>,
    mode: Mode,
    slot: u64,
}

/// A plan that Redis has not been asked yet, and what memory said to it.
struct Waiting {
    asked: Asked,
    expected: model::Answer,
}

/// A charge that was admitted and may be given back.
struct Admitted {
    meters: Vec<usize>,
    cost: u64,
    slot: u64,
    at: Timestamp,
}

/// The same home in Redis, in memory and in the model.
pub(crate) struct Trio<'b> {
    bed: &'b Bed,
    home: HomeId,
    table: MeterTable,
    model: model::Home,
    limits: Vec<Limit>,
    /// Limits whose meter was rounded when it was carried over: their next edit may show that.
    rounded: [bool; METERS],
    now: Timestamp,
    calls: Calls,
    waiting: Vec<Waiting>,
}

impl<'b> Trio<'b> {
    pub(crate) fn new(bed: &'b Bed, calls: Calls, home: HomeId, terms: &[Terms], start: Timestamp) -> Self {
        let limits = terms.iter().enumerate().map(|(meter, terms)| limit(meter, terms)).collect();
        // Redis marks an overdrawn bucket by a microsecond less, and its numbers are never below zero: a bucket that is
        // overdrawn in the first microsecond of 1970 cannot be written. No clock is there.
        let now = Timestamp::from_nanos((start.as_nanos() / MICRO * MICRO).max(MICRO));
        Self {
            bed,
            home,
            table: MeterTable::new(),
            model: model::Home::default(),
            limits,
            rounded: [false; METERS],
            now,
            calls,
            waiting: Vec::new(),
        }
    }

    /// The home in Redis has many other meters, so that they are in a hash.
    pub(crate) fn among_many(self) -> Self {
        let other = crate::bed::monthly(1_000);
        for _ in 0..2 {
            let mut plans = Vec::new();
            for key in 2..=MANY + 1 {
                let mut plan = ChargePlan::new(self.home, self.now, Mode::Charge, SlotId(0));
                let (id, sharer) = (self.table.enter(&other), Sharer::key(NonZeroU32::new(key).unwrap()));
                let (cost, due) = (Amount::ONE, Due::Admission);
                plan.add(Charge { limit: &other, id, sharer, cost, period: None, due });
                plans.push(plan);
            }
            self.bed.call_as(self.bed.seq(), self.home, &plans, Some(self.now)).unwrap();
        }
        let home = format!("sg1:{{{:032x}}}:m", self.home.0);
        assert_eq!(self.bed.server.ask(&["HLEN", home.as_str()]).text(), (MANY + 1).to_string());
        self
    }

    pub(crate) fn live(mut self, events: &[Event]) -> Result<(), TestCaseError> {
        let mut admitted: Vec<Admitted> = Vec::new();
        for (step, event) in events.iter().enumerate() {
            let slot = step as u64;
            if matches!(event, Event::Later(_) | Event::Earlier(_) | Event::Edit { .. }) {
                self.ask_redis()?;
            }
            match event {
                Event::Nothing | Event::Sweep => {}
                Event::Later(nanos) => self.now = self.now.plus(Nanos(whole(*nanos))),
                Event::Earlier(nanos) => {
                    let earlier = self.now.as_nanos().saturating_sub(whole(*nanos));
                    self.now = Timestamp::from_nanos(earlier.max(MICRO));
                }
                Event::Edit { meter, terms } => self.edit(*meter, terms),
                Event::Peek { meters, cost, expects } => {
                    let (meters, cost, expects) = (meters.clone(), *cost, *expects);
                    self.compare(Asked { meters, cost, expects, mode: Mode::Peek, slot })?;
                }
                Event::Ask { meters, cost, expects } | Event::Force { meters, cost, expects } => {
                    let mode = if let Event::Ask { .. } = event { Mode::Charge } else { Mode::Force };
                    let asked = Asked { meters: meters.clone(), cost: *cost, expects: *expects, mode, slot };
                    if let Outcome::Admitted { .. } = self.compare(asked)? {
                        admitted.push(Admitted { meters: meters.clone(), cost: *cost, slot, at: self.now });
                    }
                }
                Event::Refund { ago } => {
                    if let Some(index) = admitted.len().checked_sub(ago + 1) {
                        let charged = admitted.remove(index);
                        self.refund(&charged, charged.cost)?;
                    }
                }
                Event::Finish { ago, cost } => {
                    if let Some(index) = admitted.len().checked_sub(ago + 1) {
                        let mut charged = admitted.remove(index);
                        // Slots are taken whatever a request costs in the end.
                        let is_slot =
                            |meter: &usize| matches!(self.limits[*meter].rule, Rule::Concurrency { .. });
                        charged.meters.retain(|meter| !is_slot(meter));
                        self.finish(charged, *cost)?;
                    }
                }
            }
        }
        for meter in 0..METERS {
            let meters = vec![meter];
            self.compare(Asked { meters, cost: 1, expects: None, mode: Mode::Peek, slot: 0 })?;
        }
        self.ask_redis()
    }

    fn edit(&mut self, meter: usize, terms: &Terms) {
        if self.rounded[meter] {
            return;
        }
        let (old, new) = (&self.limits[meter].rule, &terms.rule);
        self.rounded[meter] = matches!(old, Rule::TokenBucket(_)) && is_coarse(new);
        self.limits[meter] = limit(meter, terms);
    }

    /// Asks all three, and gives what they say.
    fn compare(&mut self, asked: Asked) -> Result<Outcome, TestCaseError> {
        let (outcome, readings) = self.ask_memory(&asked);
        let charges: Vec<_> =
            asked.meters.iter().map(|meter| self.model_charge(*meter, asked.cost)).collect();
        let model_mode = match asked.mode {
            Mode::Charge => model::Mode::Charge,
            Mode::Force => model::Mode::Force,
            Mode::Correct { charged_at } => model::Mode::Correct { charged_at: charged_at.as_nanos() },
            Mode::Peek | Mode::Refund { .. } => model::Mode::Peek,
        };
        let (expects, now) = (words::expects(asked.expects), self.now.as_nanos());
        let modelled = self.model.ask_expecting(&charges, expects, model_mode, asked.slot, now);
        prop_assert_eq!(&words::answer(outcome, &readings), &modelled);
        self.expect(Waiting { asked, expected: in_micros(modelled) })?;
        Ok(outcome)
    }

    /// Settles what a request cost in the end.
    fn finish(&mut self, charged: Admitted, cost: u64) -> Result<(), TestCaseError> {
        match cost.cmp(&charged.cost) {
            Ordering::Less => self.refund(&charged, charged.cost - cost),
            Ordering::Equal => Ok(()),
            Ordering::Greater => {
                let (cost, slot) = (cost - charged.cost, charged.slot);
                let mode = Mode::Correct { charged_at: charged.at };
                self.compare(Asked { meters: charged.meters, cost, expects: None, mode, slot }).map(drop)
            }
        }
    }

    /// Gives back so much of a charge.
    fn refund(&mut self, charged: &Admitted, cost: u64) -> Result<(), TestCaseError> {
        let mode = Mode::Refund { charged_at: charged.at, reserved: Amount::new(charged.cost).unwrap() };
        let asked = Asked { meters: charged.meters.clone(), cost, expects: None, mode, slot: charged.slot };
        let (outcome, readings) = self.ask_memory(&asked);
        let mut overage = 0;
        for meter in &charged.meters {
            let charge = self.model_charge(*meter, cost);
            let (at, now) = (charged.at.as_nanos(), self.now.as_nanos());
            overage += self.model.refund(&charge, charged.cost, charged.slot, at, now);
        }
        prop_assert_eq!(outcome, Outcome::Admitted { overage });
        self.expect(Waiting { asked, expected: in_micros(words::answer(outcome, &readings)) })
    }

    /// Redis must answer a plan so, when it is asked.
    fn expect(&mut self, plan: Waiting) -> Result<(), TestCaseError> {
        // A peek keeps nothing, but among other plans it may keep what an edit made of its meter.
        // So does a plan for another standing, with which nothing is done.
        let keeps = |plan: &Waiting| {
            let elsewhere = matches!(plan.expected.outcome, model::Outcome::Elsewhere { .. });
            plan.asked.mode != Mode::Peek && !elsewhere
        };
        if self.waiting.last().is_some_and(|last| keeps(last) != keeps(&plan)) {
            self.ask_redis()?;
        }
        self.waiting.push(plan);
        if self.calls == Calls::Single { self.ask_redis() } else { Ok(()) }
    }

    fn ask_memory(&self, asked: &Asked) -> (Outcome, Readings) {
        let mut readings = Readings::new();
        let outcome = self.table.settle(&self.plan(asked), &mut readings);
        (outcome, readings)
    }

    /// Asks Redis the plans that wait.
    fn ask_redis(&mut self) -> Result<(), TestCaseError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let plans: Vec<ChargePlan<'_>> = waiting.iter().map(|it| self.plan(&it.asked)).collect();
        let settled = self.bed.call_as(self.bed.seq(), self.home, &plans, Some(self.now));
        let settled = settled.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        prop_assert_eq!(settled.len(), waiting.len());
        for (settled, asked) in settled.iter().zip(&waiting) {
            prop_assert_eq!(settled.now, self.now);
            let answer = words::answer(settled.outcome, &settled.readings);
            let Waiting { asked: Asked { meters, cost, expects, mode, slot }, expected } = asked;
            let limits: Vec<&Limit> = meters.iter().map(|meter| &self.limits[*meter]).collect();
            prop_assert_eq!(
                &answer,
                expected,
                "{:?} of {} slot {} expecting {:?}: {:#?} at {:?}",
                mode,
                cost,
                slot,
                expects,
                limits,
                self.now
            );
        }
        Ok(())
    }

    fn plan(&self, asked: &Asked) -> ChargePlan<'_> {
        let mut plan = ChargePlan::new(self.home, self.now, asked.mode, SlotId(asked.slot));
        plan.expects = asked.expects;
        for meter in &asked.meters {
            let limit = &self.limits[*meter];
            let sharer = match limit.axis {
                Axis::Rate => Sharer::key(NonZeroU32::MIN),
                Axis::Concurrency | Axis::Quota | Axis::Conduct => Sharer::ALL,
            };
            let period = self.period(*meter).filter(|_| asked.slot.is_multiple_of(2));
            let (due, cost) = owed(*meter, asked.cost);
            let (id, cost) = (self.table.enter(limit), Amount::new(cost).unwrap());
            plan.add(Charge { limit, id, sharer, cost, period, due });
        }
        plan
    }

    fn model_charge(&self, meter: usize, cost: u64) -> model::Charge {
        words::charge(meter, &self.limits[meter], cost, self.period(meter))
    }

    fn period(&self, meter: usize) -> Option<Period> {
        match &self.limits[meter].rule {
            Rule::Calendar { calendar, .. } => Some(calendar.period_at(self.now)),
            _ => None,
        }
    }
}

fn limit(meter: usize, terms: &Terms) -> Limit {
    let name = LimitName::new(&format!("limit-{meter}")).unwrap();
    let rule = match &terms.rule {
        // Redis counts in microseconds.
        Rule::Concurrency { limit, lease } => {
            Rule::Concurrency { limit: *limit, lease: Nanos(lease.0.div_ceil(MICRO) * MICRO) }
        }
        rule => rule.clone(),
    };
    Limit { name, axis: axis(meter), per: Per::Account, rule, excess: terms.excess, sold: terms.sold }
}

/// A step of time in whole microseconds. What is a nanosecond after an edge becomes a microsecond after it.
fn whole(nanos: u64) -> u64 {
    if nanos % SECOND == 1 { nanos - 1 + MICRO } else { nanos / MICRO * MICRO }
}

/// Whether Redis keeps a bucket in coarser fractions than memory does: its numbers do not fit a double.
fn is_coarse(rule: &Rule) -> bool {
    let Rule::TokenBucket(bucket) = rule else { return false };
    let (mut a, mut b) = (bucket.amount(), bucket.window().as_nanos());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let (unit, parts) = (bucket.window().as_nanos() / a, bucket.amount() / a);
    (11 * u128::from(bucket.burst()) + 2) * u128::from(unit) + 2 * u128::from(SECOND * parts) >= 1 << 53
}

/// With durations rounded up to microseconds.
fn in_micros(mut answer: model::Answer) -> model::Answer {
    let up = |nanos: &mut u64| *nanos = nanos.div_ceil(MICRO).saturating_mul(MICRO);
    if let model::Outcome::Refused { retry_after, .. } = &mut answer.outcome {
        up(retry_after);
    }
    for reading in &mut answer.readings {
        up(&mut reading.next);
        up(&mut reading.reset);
    }
    answer
}
