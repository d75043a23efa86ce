//! Redis answers as the table in memory and the reference model do, to the unit and the microsecond.

use std::cell::Cell;
use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tollgate_core::calendar::Period;
use tollgate_core::limit::{Axis, Limit, LimitName, Per};
use tollgate_core::plan::{Charge, ChargePlan, HomeId, Mode, Sharer};
use tollgate_core::rule::concurrency::SlotId;
use tollgate_core::rule::{Amount, Rule};
use tollgate_core::settle::{Outcome, Readings};
use tollgate_core::time::{Nanos, Timestamp};
use tollgate_store::meters::MeterTable;
use tollgate_testkit::model;
use tollgate_testkit::redis::Engine;

use crate::bed::Bed;
use crate::strategies::{Event, METERS, Terms, axis, event, start, terms};
use crate::{is_slow, on_each_engine, words};

const STEPS: usize = 100;
const MICRO: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;

on_each_engine!(redis_answers_as_memory_and_the_model_do);

fn redis_answers_as_memory_and_the_model_do(engine: Engine) {
    let bed = Bed::new(engine);
    let cases = if is_slow() { 20_000 } else { 800 };
    let config = Config { cases, max_shrink_iters: 5_000, failure_persistence: None, ..Config::default() };
    let first = (terms(0), terms(1), terms(2), terms(3));
    let homes = Cell::new(0);
    let result =
        TestRunner::new(config).run(&(first, start(), vec(event(), STEPS)), |(first, start, events)| {
            homes.set(homes.get() + 1);
            let terms = [first.0, first.1, first.2, first.3];
            Trio::new(&bed, HomeId(homes.get()), &terms, start).live(&events)
        });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// A charge that was admitted and may be given back.
struct Admitted {
    meters: Vec<usize>,
    cost: u64,
    slot: u64,
    at: Timestamp,
}

/// The same home in Redis, in memory and in the model.
struct Trio<'b> {
    bed: &'b Bed,
    home: HomeId,
    table: MeterTable,
    model: model::Home,
    limits: Vec<Limit>,
    /// Limits whose meter was rounded when it was carried over: their next edit may show that.
    rounded: [bool; METERS],
    now: Timestamp,
}

impl<'b> Trio<'b> {
    fn new(bed: &'b Bed, home: HomeId, terms: &[Terms], start: Timestamp) -> Self {
        let limits = terms.iter().enumerate().map(|(meter, terms)| limit(meter, terms)).collect();
        let now = Timestamp::from_nanos(start.as_nanos() / MICRO * MICRO);
        Self {
            bed,
            home,
            table: MeterTable::new(),
            model: model::Home::default(),
            limits,
            rounded: [false; METERS],
            now,
        }
    }

    fn live(mut self, events: &[Event]) -> Result<(), TestCaseError> {
        let mut admitted: Vec<Admitted> = Vec::new();
        for (step, event) in events.iter().enumerate() {
            let slot = step as u64;
            match event {
                Event::Nothing | Event::Sweep => {}
                Event::Later(nanos) => self.now = self.now.plus(Nanos(whole(*nanos))),
                Event::Earlier(nanos) => {
                    self.now = Timestamp::from_nanos(self.now.as_nanos().saturating_sub(whole(*nanos)));
                }
                Event::Edit { meter, terms } => self.edit(*meter, terms),
                Event::Peek { meters, cost } => {
                    self.compare(meters, *cost, Mode::Peek, slot)?;
                }
                Event::Ask { meters, cost } | Event::Force { meters, cost } => {
                    let mode = if let Event::Ask { .. } = event { Mode::Charge } else { Mode::Force };
                    if let Outcome::Admitted { .. } = self.compare(meters, *cost, mode, slot)? {
                        admitted.push(Admitted { meters: meters.clone(), cost: *cost, slot, at: self.now });
                    }
                }
                Event::Refund { ago } => {
                    if let Some(index) = admitted.len().checked_sub(ago + 1) {
                        self.refund(&admitted.remove(index))?;
                    }
                }
            }
        }
        for meter in 0..METERS {
            self.compare(&[meter], 1, Mode::Peek, 0)?;
        }
        Ok(())
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
    fn compare(
        &mut self,
        meters: &[usize],
        cost: u64,
        mode: Mode,
        slot: u64,
    ) -> Result<Outcome, TestCaseError> {
        let (outcome, readings) = self.ask_memory(meters, cost, mode, slot);
        let charges: Vec<_> = meters.iter().map(|meter| self.model_charge(*meter, cost)).collect();
        let model_mode = match mode {
            Mode::Charge => model::Mode::Charge,
            Mode::Force => model::Mode::Force,
            Mode::Peek | Mode::Refund { .. } => model::Mode::Peek,
        };
        let modelled = self.model.ask(&charges, model_mode, slot, self.now.as_nanos());
        prop_assert_eq!(&words::answer(outcome, &readings), &modelled);
        let stored = self.ask_redis(meters, cost, mode, slot)?;
        prop_assert_eq!(stored, in_micros(modelled), "{:?} {:?} at {:?}", mode, charges, self.now);
        Ok(outcome)
    }

    fn refund(&mut self, charged: &Admitted) -> Result<(), TestCaseError> {
        let mode = Mode::Refund { charged_at: charged.at };
        let (outcome, readings) = self.ask_memory(&charged.meters, charged.cost, mode, charged.slot);
        for meter in &charged.meters {
            let charge = self.model_charge(*meter, charged.cost);
            self.model.refund(&charge, charged.slot, charged.at.as_nanos(), self.now.as_nanos());
        }
        let stored = self.ask_redis(&charged.meters, charged.cost, mode, charged.slot)?;
        prop_assert_eq!(stored, in_micros(words::answer(outcome, &readings)), "refund at {:?}", self.now);
        Ok(())
    }

    fn ask_memory(&self, meters: &[usize], cost: u64, mode: Mode, slot: u64) -> (Outcome, Readings) {
        let mut readings = Readings::new();
        let outcome = self.table.settle(&self.plan(meters, cost, mode, slot), &mut readings);
        (outcome, readings)
    }

    fn ask_redis(
        &self,
        meters: &[usize],
        cost: u64,
        mode: Mode,
        slot: u64,
    ) -> Result<model::Answer, TestCaseError> {
        let plan = self.plan(meters, cost, mode, slot);
        let settled = self.bed.call_as(self.bed.seq(), self.home, &[plan], Some(self.now));
        let settled = settled.map_err(|error| TestCaseError::fail(format!("{error:?}")))?.remove(0);
        prop_assert_eq!(settled.now, self.now);
        Ok(words::answer(settled.outcome, &settled.readings))
    }

    fn plan(&self, meters: &[usize], cost: u64, mode: Mode, slot: u64) -> ChargePlan<'_> {
        let mut plan = ChargePlan::new(self.home, self.now, mode, SlotId(slot));
        for meter in meters {
            let limit = &self.limits[*meter];
            let sharer = match limit.axis {
                Axis::Rate => Sharer::key(NonZeroU32::MIN),
                Axis::Concurrency | Axis::Quota => Sharer::ALL,
            };
            let period = self.period(*meter).filter(|_| slot.is_multiple_of(2));
            let (id, cost) = (self.table.enter(limit), Amount::new(cost).unwrap());
            plan.add(Charge { limit, id, sharer, cost, period });
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
    Limit { name, axis: axis(meter), per: Per::Account, rule, excess: terms.excess }
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
    2 * (u128::from(bucket.burst()) + 1) * u128::from(unit) + 2 * u128::from(SECOND * parts) >= 1 << 53
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
