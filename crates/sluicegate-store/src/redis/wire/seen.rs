//! What the script says of a meter, and what that means: said by the core's own code.

use sluicegate_core::meter::{Moment, SmallMeter, State};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::period_meter::PeriodMeter;
use sluicegate_core::plan::{ChargePlan, Mode};
use sluicegate_core::rule::sliding_window::TwoCounts;
use sluicegate_core::rule::{Answer, Ask, Rule, Verdict};
use sluicegate_core::settle::{Outcome, Readings, settle};
use sluicegate_core::time::{Nanos, Timestamp};

use super::limit::{Kind, WireLimit};
use super::number::{Bytes, MICRO, Malformed, micros_ceil};
use super::outcome::{Fate, Told};
use crate::redis::meters::Settled;

/// A meter as the script shows it. Small ones come as they are; of large ones only what they say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    Small(SmallMeter),
    /// The count of a billed quota, and what its overage is counted from.
    Billed(PeriodMeter),
    Counts(TwoCounts),
    Said(Verdict),
}

impl Seen {
    pub(crate) fn read(limit: &WireLimit<'_>, bytes: &mut Bytes<'_>) -> Result<Self, Malformed> {
        match limit.kind {
            Kind::FineBucket | Kind::CoarseBucket => {
                let (micros, fraction) = (bytes.number()?, bytes.number()?);
                let grid = limit.grid.ok_or(Malformed("a bucket without numbers"))?;
                Ok(Self::Small(grid.tat(micros, fraction).into()))
            }
            Kind::FixedWindow | Kind::Calendar => {
                let count = SmallMeter { value: bytes.number()?, extra: start(bytes)? };
                if limit.terms().included.is_none() {
                    return Ok(Self::Small(count));
                }
                let baseline = OverageBaseline { recorded: bytes.number()?, used: bytes.number()? };
                Ok(Self::Billed(PeriodMeter { baseline, ..PeriodMeter::from(count) }))
            }
            Kind::TwoCounts => {
                let (current, previous, start) = (bytes.number()?, bytes.number()?, start(bytes)?);
                Ok(Self::Counts(TwoCounts { current, previous, start }))
            }
            Kind::Entries | Kind::Slots => {
                let used = bytes.number()?;
                let (next, reset) = (duration(bytes)?, duration(bytes)?);
                let answer = match bytes.optional()? {
                    Some(wait) => Answer::Wait(Nanos(wait.saturating_mul(MICRO))),
                    None => Answer::Fits,
                };
                Ok(Self::Said(Verdict { answer, used, next, reset }))
            }
        }
    }
}

/// The start of a window, in seconds.
pub(crate) fn start(bytes: &mut Bytes<'_>) -> Result<u32, Malformed> {
    let micros = bytes.number()?;
    u32::try_from(micros / (MICRO * 1_000)).map_err(|_| Malformed("a window after the end of time"))
}

fn duration(bytes: &mut Bytes<'_>) -> Result<Nanos, Malformed> {
    Ok(Nanos(bytes.number()?.saturating_mul(MICRO)))
}

impl State for Seen {
    type Step = ();

    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> ((), Verdict) {
        let verdict = match self {
            Self::Small(small) => small.settle(rule, ask, moment).1,
            Self::Billed(billed) => billed.count.settle(rule, ask, moment).1,
            Self::Counts(counts) => match rule {
                Rule::SlidingWindow(windowed) => counts.settle(windowed, ask, moment.now).1,
                _ => Verdict { answer: Answer::Never, used: 0, next: Nanos::ZERO, reset: Nanos::ZERO },
            },
            Self::Said(verdict) if matches!(ask, Ask::Look) => Verdict { answer: Answer::Fits, ..*verdict },
            Self::Said(verdict) => {
                let (cost, beyond) = match ask {
                    Ask::Take(cost) => (cost, 0),
                    Ask::TakeBeyond { cost, beyond } => (cost, beyond),
                    Ask::Look | Ask::Force(_) | Ask::Drain(_) | Ask::Give { .. } => return ((), *verdict),
                };
                // The script does not say for how long what never fits.
                let never = !matches!(rule, Rule::Concurrency { .. })
                    && cost > rule.capacity().saturating_add(beyond)
                    && verdict.answer == Answer::Fits;
                if never { Verdict { answer: Answer::Never, ..*verdict } } else { *verdict }
            }
        };
        ((), verdict)
    }

    fn baseline(&self, rule: &Rule, moment: &Moment<'_>) -> OverageBaseline {
        match self {
            Self::Billed(billed) => billed.baseline_at(rule, moment),
            _ => OverageBaseline::NONE,
        }
    }

    /// The script has done it.
    fn apply(&mut self, _step: ()) {}
}

/// A meter of which something was asked, or which was only looked at.
enum Judged {
    Asked(Seen),
    Still(Seen),
}

impl State for Judged {
    type Step = ();

    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> ((), Verdict) {
        match self {
            Self::Asked(seen) => seen.settle(rule, ask, moment),
            Self::Still(seen) => seen.settle(rule, Ask::Look, moment),
        }
    }

    fn baseline(&self, rule: &Rule, moment: &Moment<'_>) -> OverageBaseline {
        let (Self::Asked(seen) | Self::Still(seen)) = self;
        seen.baseline(rule, moment)
    }

    fn apply(&mut self, _step: ()) {}
}

/// What became of a plan: the outcome that the script told, with what its meters say now.
pub(crate) fn judge(plan: &ChargePlan<'_>, now: Timestamp, fate: Fate, seen: &mut [Seen]) -> Settled {
    let mut readings = Readings::new();
    let outcome = match fate.told {
        Told::Admitted { overage } => {
            look(plan, now, seen, &mut readings);
            Outcome::Admitted { overage }
        }
        Told::Elsewhere { remaining } => {
            look(plan, now, seen, &mut readings);
            Outcome::Elsewhere { remaining }
        }
        Told::Conflicts => {
            look(plan, now, seen, &mut readings);
            Outcome::Conflicts
        }
        Told::NeverFits { by } => {
            let _ = ask(plan, now, fate, seen, &mut readings);
            Outcome::NeverFits { by }
        }
        Told::Refused { by } => match ask(plan, now, fate, seen, &mut readings) {
            Outcome::Refused { retry_after, .. } => {
                Outcome::Refused { by, retry_after: micros_ceil(retry_after) }
            }
            // A call that is told again what it was told then: by now there is room.
            _ => Outcome::Refused { by, retry_after: Nanos::ZERO },
        },
    };
    for reading in &mut readings {
        reading.next = micros_ceil(reading.next);
        reading.reset = micros_ceil(reading.reset);
    }
    Settled { outcome, readings, now, repeats: fate.repeats }
}

/// Asks again what was refused, for how long that lasts. A repeat waits only for what counts it.
fn ask(
    plan: &ChargePlan<'_>,
    now: Timestamp,
    fate: Fate,
    seen: &mut [Seen],
    readings: &mut Readings,
) -> Outcome {
    let asked = at(plan, now, plan.mode);
    if fate.repeats.is_none() {
        return settle(&asked, seen, readings);
    }
    let counted = plan.charges().iter().map(|charge| charge.limit.counts_repeats());
    let mut judged: Vec<Judged> = seen
        .iter()
        .zip(counted)
        .map(|(seen, counted)| if counted { Judged::Asked(*seen) } else { Judged::Still(*seen) })
        .collect();
    settle(&asked, &mut judged, readings)
}

/// What the meters say now.
fn look(plan: &ChargePlan<'_>, now: Timestamp, seen: &[Seen], readings: &mut Readings) {
    let mut still: Vec<Judged> = seen.iter().copied().map(Judged::Still).collect();
    let _ = settle(&at(plan, now, Mode::Peek), &mut still, readings);
}

/// The same plan at another instant. What it expected is told already.
fn at<'p>(plan: &ChargePlan<'p>, now: Timestamp, mode: Mode) -> ChargePlan<'p> {
    let mut there = ChargePlan::new(plan.home, now, mode, plan.slot);
    for charge in plan.charges() {
        let mut charge = *charge;
        charge.period = charge.period.filter(|period| period.contains(now));
        there.add(charge);
    }
    there
}
