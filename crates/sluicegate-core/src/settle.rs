//! Settling a plan: every meter is charged, or none is. What is due on refusal is charged in the step that refuses.

use arrayvec::ArrayVec;

use crate::limit::Excess;
use crate::meter::{Moment, State};
use crate::plan::{CHARGES_MAX, Charge, ChargePlan, Due, Mode};
use crate::rule::{Amount, Answer, Ask, Verdict};
use crate::time::Nanos;

/// How a plan came out. Charges are named by their place in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything fits; unless the plan was only a peek, it was done to every meter.
    Admitted {
        /// By how much the overage of the billed quota grew; of a refund, by how much it fell.
        overage: u64,
    },
    /// A limit refuses, and nothing was charged but what is due on refusal.
    Refused {
        /// The first limit that refuses.
        by: usize,
        /// After how long the whole plan fits, if nobody else calls.
        retry_after: Nanos,
    },
    /// A cost is larger than its limit: waiting does not help. Nothing was charged.
    NeverFits {
        /// The first limit it does not fit.
        by: usize,
    },
    /// A meter does not say what the plan expects, so it is not the plan to settle. Nothing was changed.
    Elsewhere {
        /// What remains there.
        remaining: u64,
    },
    /// Its name was given to another request, says a store that remembers names. Nothing was changed.
    Conflicts,
}

/// What one meter says after the plan was settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What counts against the limit.
    pub used: u64,
    /// The most that would be admitted now.
    pub remaining: u64,
    /// The overage of the period, where it is billed.
    pub overage: u64,
    /// How long until at least one unit more is free than now.
    pub next: Nanos,
    /// How long until the meter is as if never used.
    pub reset: Nanos,
}

/// What each meter of a plan says, in the plan's order. Callers keep one and hand it in again: it is too
/// large to move about.
pub type Readings = ArrayVec<Reading, CHARGES_MAX>;

/// Settles `plan` against `meters`, of which there is one for each charge, in the same order. What they say
/// goes into `readings`.
///
/// The caller holds the home exclusively and has made each meter ready with
/// [`Meter::bring_up`](crate::meter::Meter::bring_up).
#[inline]
pub fn settle<S: State>(plan: &ChargePlan<'_>, meters: &mut [S], readings: &mut Readings) -> Outcome {
    debug_assert_eq!(plan.charges().len(), meters.len(), "a meter for each charge");
    if !plan.is_plain() {
        return settle_with_signals(plan, meters, readings);
    }
    readings.clear();
    let mut tally = Tally::default();
    // Nearly every plan has one or two charges; with their number known, the steps never leave the registers.
    if let ([first, second], [one, other]) = (plan.charges(), &*meters) {
        let step = tally.ask(plan, first, one, readings);
        let steps = [step, tally.ask(plan, second, other, readings)];
        return finish(plan, tally, meters, &steps, readings);
    }
    if let ([charge], [meter]) = (plan.charges(), &*meters) {
        let steps = [tally.ask(plan, charge, meter, readings)];
        return finish(plan, tally, meters, &steps, readings);
    }
    let asked = plan.charges().iter().zip(&*meters);
    let steps: ArrayVec<S::Step, CHARGES_MAX> =
        asked.map(|(charge, meter)| tally.ask(plan, charge, meter, readings)).collect();
    finish(plan, tally, meters, &steps, readings)
}

/// Settles a plan that has charges due on refusal, or expects something of a meter.
#[inline(never)]
fn settle_with_signals<S: State>(
    plan: &ChargePlan<'_>,
    meters: &mut [S],
    readings: &mut Readings,
) -> Outcome {
    readings.clear();
    if let Some(elsewhere) = unexpected(plan, meters) {
        look(plan, meters, readings);
        return elsewhere;
    }
    let mut tally = Tally::default();
    let asked = plan.charges().iter().zip(&*meters);
    let steps: ArrayVec<Option<S::Step>, CHARGES_MAX> = asked
        .map(|(charge, meter)| match charge.due {
            Due::Admission => Some(tally.ask(plan, charge, meter, readings)),
            Due::Refusal => {
                readings.push(Reading::look(plan, charge, meter));
                None
            }
        })
        .collect();
    let outcome = tally.outcome();
    if outcome.changes_meters(plan.mode) {
        for (meter, step) in meters.iter_mut().zip(steps) {
            step.into_iter().for_each(|step| meter.apply(step));
        }
    } else {
        if outcome.charges(Due::Refusal, plan.mode) {
            signal(plan, meters);
        }
        look(plan, meters, readings);
    }
    outcome
}

/// The answer to a plan whose expectation does not hold.
fn unexpected<S: State>(plan: &ChargePlan<'_>, meters: &[S]) -> Option<Outcome> {
    let expects = plan.expects?;
    let (charge, meter) = (plan.charges().get(expects.place)?, meters.get(expects.place)?);
    let Reading { remaining, .. } = Reading::look(plan, charge, meter);
    (!(expects.least..=expects.most).contains(&remaining)).then_some(Outcome::Elsewhere { remaining })
}

/// Charges what is due on refusal.
fn signal<S: State>(plan: &ChargePlan<'_>, meters: &mut [S]) {
    for (charge, meter) in plan.charges().iter().zip(meters) {
        if charge.due == Due::Refusal {
            let ask = Ask::Drain(charge.cost.get());
            let (step, verdict) = meter.settle(&charge.limit.rule, ask, &plan.moment(charge));
            if verdict.answer == Answer::Fits {
                meter.apply(step);
            }
        }
    }
}

/// Does the steps if every charge fits.
#[inline]
fn finish<S: State>(
    plan: &ChargePlan<'_>,
    tally: Tally,
    meters: &mut [S],
    steps: &[S::Step],
    readings: &mut Readings,
) -> Outcome {
    let outcome = tally.outcome();
    if outcome.changes_meters(plan.mode) {
        for (meter, step) in meters.iter_mut().zip(steps) {
            meter.apply(*step);
        }
    } else {
        // What the meters would say after a charge is not what they say.
        look(plan, meters, readings);
    }
    outcome
}

/// What the charges of a plan have answered so far.
#[derive(Default)]
struct Tally {
    overage: u64,
    /// What is to be said instead of `Admitted`.
    refusal: Option<Outcome>,
}

impl Tally {
    /// Asks one meter and notes what it says. Always inlined: as a call it would pass its answers through memory.
    #[inline(always)]
    fn ask<S: State>(
        &mut self,
        plan: &ChargePlan<'_>,
        charge: &Charge<'_>,
        meter: &S,
        readings: &mut Readings,
    ) -> S::Step {
        // What is asked most is known here, so that nothing else is looked for where it is inlined. Nothing of it is
        // overage.
        if let (Mode::Charge, Excess::Refuse(_)) = (plan.mode, charge.limit.excess) {
            let ask = Ask::Take(charge.cost.get());
            let (step, verdict) = meter.settle(&charge.limit.rule, ask, &plan.moment(charge));
            if verdict.answer != Answer::Fits {
                self.refuse(readings.len(), verdict.answer);
            }
            readings.push(Reading::without_overage(charge, &verdict));
            return step;
        }
        self.ask_anything(plan, charge, meter, readings)
    }

    /// The same for whatever a plan may want of a meter.
    #[inline(never)]
    fn ask_anything<S: State>(
        &mut self,
        plan: &ChargePlan<'_>,
        charge: &Charge<'_>,
        meter: &S,
        readings: &mut Readings,
    ) -> S::Step {
        let moment = plan.moment(charge);
        let (step, verdict) = meter.settle(&charge.limit.rule, ask_of(charge, plan.mode), &moment);
        let reading = Reading::new(charge, meter, &moment, &verdict);
        if verdict.answer != Answer::Fits {
            self.refuse(readings.len(), verdict.answer);
        } else if reading.overage > 0 || plan.mode.is_correction() {
            let change = overage_change(plan, charge, meter, step, reading.overage);
            self.overage = self.overage.saturating_add(change);
        }
        readings.push(reading);
        step
    }

    /// Notes that the charge at `index` does not fit.
    ///
    /// What can never fit outranks what has to wait. The first refusal names the reason, but the wait is the
    /// longest of all: whoever waits that long is not refused by another limit then.
    #[cold]
    fn refuse(&mut self, index: usize, answer: Answer) {
        self.refusal = Some(match (self.refusal, answer) {
            (Some(Outcome::NeverFits { by }), _) => Outcome::NeverFits { by },
            (_, Answer::Never) => Outcome::NeverFits { by: index },
            (Some(Outcome::Refused { by, retry_after }), Answer::Wait(wait)) => {
                Outcome::Refused { by, retry_after: retry_after.max(wait) }
            }
            (_, Answer::Wait(wait)) => Outcome::Refused { by: index, retry_after: wait },
            (refusal, Answer::Fits) => return self.refusal = refusal,
        });
    }

    #[inline]
    fn outcome(self) -> Outcome {
        self.refusal.unwrap_or(Outcome::Admitted { overage: self.overage })
    }
}

fn ask_of(charge: &Charge<'_>, mode: Mode) -> Ask {
    let cost = charge.cost.get();
    match (mode, charge.limit.excess) {
        (Mode::Refund { charged_at, reserved }, _) => {
            Ask::Give { cost, reserved: reserved.get(), charged_at }
        }
        (Mode::Force | Mode::Correct { .. }, _) | (_, Excess::BillOverage) => Ask::Force(cost),
        (Mode::Charge | Mode::Peek, Excess::Refuse(_)) => Ask::Take(cost),
        (Mode::Charge | Mode::Peek, Excess::BillUpTo(cap)) => {
            Ask::TakeBeyond { cost, beyond: cap.amount.get() }
        }
    }
}

/// By how much the overage grows, or falls with a refund, when that of the meter of a charge becomes `after`.
#[cold]
fn overage_change<S: State>(
    plan: &ChargePlan<'_>,
    charge: &Charge<'_>,
    meter: &S,
    step: S::Step,
    after: u64,
) -> u64 {
    let included = charge.limit.included().map_or(u64::MAX, Amount::get);
    match meter.past_overage_change(step, included) {
        Some(change) => change,
        None => after.abs_diff(Reading::look(plan, charge, meter).overage),
    }
}

#[cold]
fn look<S: State>(plan: &ChargePlan<'_>, meters: &[S], readings: &mut Readings) {
    readings.clear();
    for (charge, meter) in plan.charges().iter().zip(meters) {
        readings.push(Reading::look(plan, charge, meter));
    }
}

impl Outcome {
    /// Whether settling with this outcome writes the meters of what is due on admission.
    #[inline]
    pub fn changes_meters(self, mode: Mode) -> bool {
        matches!(self, Self::Admitted { .. }) && mode != Mode::Peek
    }

    /// Whether what is due then is charged, or given back, with this outcome.
    #[inline]
    pub fn charges(self, due: Due, mode: Mode) -> bool {
        match due {
            Due::Admission => self.changes_meters(mode),
            Due::Refusal => matches!(self, Self::Refused { .. }) && mode == Mode::Charge,
        }
    }
}

impl Reading {
    /// What the meter of a charge says before anything is done.
    fn look<S: State>(plan: &ChargePlan<'_>, charge: &Charge<'_>, meter: &S) -> Self {
        let moment = plan.moment(charge);
        let (_, verdict) = meter.settle(&charge.limit.rule, Ask::Look, &moment);
        Self::new(charge, meter, &moment, &verdict)
    }

    fn new<S: State>(charge: &Charge<'_>, meter: &S, moment: &Moment<'_>, verdict: &Verdict) -> Self {
        let overage = match charge.limit.included() {
            Some(included) => {
                meter.baseline(&charge.limit.rule, moment).overage(included.get(), verdict.used)
            }
            None => 0,
        };
        Self { overage, ..Self::without_overage(charge, verdict) }
    }

    #[inline]
    fn without_overage(charge: &Charge<'_>, verdict: &Verdict) -> Self {
        let remaining = charge.limit.rule.capacity().saturating_sub(verdict.used);
        Self { used: verdict.used, remaining, overage: 0, next: verdict.next, reset: verdict.reset }
    }
}
