//! The table answers as the reference model does, to the unit and the nanosecond.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate_core::plan::{Expects, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::Timestamp;
use sluicegate_testkit::model;

use crate::driver::{Driver, Settlement};
use crate::strategies::{Event, METERS, all_terms, event, start};
use crate::{cases, words};

const STEPS: usize = 200;

/// What a plan asks.
struct Asked<'e> {
    meters: &'e [usize],
    cost: u64,
    expects: Option<Expects>,
}

/// A charge that was admitted and may be given back.
struct Admitted {
    meters: Vec<usize>,
    cost: u64,
    slot: u64,
    at: Timestamp,
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn the_table_answers_as_the_model_does(
        first in all_terms(),
        start in start(),
        events in vec(event(), STEPS),
    ) {
        let mut driver = Driver::new(&first, start);
        let mut home = model::Home::default();
        let mut admitted: Vec<Admitted> = Vec::new();
        for (step, event) in events.iter().enumerate() {
            let slot = step as u64;
            match event {
                // A sweep forgets what a clock that steps back could still bring to mind: `promises` has it.
                Event::Nothing | Event::Sweep => {}
                Event::Later(nanos) => driver.later(*nanos),
                Event::Earlier(nanos) => driver.earlier(*nanos),
                Event::Edit { meter, terms } => driver.edit(*meter, terms),
                Event::Peek { meters, cost, expects } => {
                    let asked = Asked { meters, cost: *cost, expects: *expects };
                    compare(&driver, &mut home, &asked, Mode::Peek, slot)?;
                }
                Event::Ask { meters, cost, expects } | Event::Force { meters, cost, expects } => {
                    let mode = if let Event::Ask { .. } = event { Mode::Charge } else { Mode::Force };
                    let asked = Asked { meters, cost: *cost, expects: *expects };
                    let settlement = compare(&driver, &mut home, &asked, mode, slot)?;
                    if let Outcome::Admitted { .. } = settlement.outcome {
                        admitted.push(Admitted { meters: meters.clone(), cost: *cost, slot, at: driver.now });
                    }
                }
                Event::Refund { ago } => {
                    if let Some(charge) = nth_last(&mut admitted, *ago) {
                        refund(&driver, &mut home, &charge, charge.cost)?;
                    }
                }
                Event::Finish { ago, cost } => {
                    if let Some(mut charge) = nth_last(&mut admitted, *ago) {
                        charge.meters.retain(|meter| driver.counts_amounts(*meter));
                        finish(&driver, &mut home, &charge, *cost)?;
                    }
                }
            }
        }
        for meter in 0..METERS {
            compare(&driver, &mut home, &Asked { meters: &[meter], cost: 1, expects: None }, Mode::Peek, 0)?;
        }
    }
}

fn compare(
    driver: &Driver,
    home: &mut model::Home,
    asked: &Asked<'_>,
    mode: Mode,
    slot: u64,
) -> Result<Settlement, TestCaseError> {
    let Asked { meters, cost, expects } = *asked;
    let ours = driver.ask_expecting(meters, cost, expects, mode, slot);
    let charges: Vec<_> = meters.iter().map(|meter| charge(driver, *meter, cost)).collect();
    let model_mode = match mode {
        Mode::Charge => model::Mode::Charge,
        Mode::Force => model::Mode::Force,
        Mode::Correct { charged_at } => model::Mode::Correct { charged_at: charged_at.as_nanos() },
        Mode::Peek | Mode::Refund { .. } => model::Mode::Peek,
    };
    let expected = words::expects(expects);
    let theirs = home.ask_expecting(&charges, expected, model_mode, slot, driver.now.as_nanos());
    prop_assert_eq!(
        words::answer(ours.outcome, &ours.readings),
        theirs,
        "{:?} {:?} expecting {:?} at {:?}",
        mode,
        charges,
        expects,
        driver.now
    );
    Ok(ours)
}

fn nth_last(admitted: &mut Vec<Admitted>, ago: usize) -> Option<Admitted> {
    admitted.len().checked_sub(ago + 1).map(|index| admitted.remove(index))
}

/// Gives back so much of a charge.
fn refund(
    driver: &Driver,
    home: &mut model::Home,
    charged: &Admitted,
    cost: u64,
) -> Result<(), TestCaseError> {
    let reserved = Amount::new(charged.cost).unwrap();
    let mode = Mode::Refund { charged_at: charged.at, reserved };
    let ours = driver.ask(&charged.meters, cost, mode, charged.slot);
    let mut overage = 0;
    for meter in &charged.meters {
        let charge = charge(driver, *meter, cost);
        let (at, now) = (charged.at.as_nanos(), driver.now.as_nanos());
        overage += home.refund(&charge, charged.cost, charged.slot, at, now);
    }
    prop_assert_eq!(ours.outcome, Outcome::Admitted { overage });
    Ok(())
}

/// Settles what a request cost in the end.
fn finish(
    driver: &Driver,
    home: &mut model::Home,
    charged: &Admitted,
    cost: u64,
) -> Result<(), TestCaseError> {
    match cost.cmp(&charged.cost) {
        Ordering::Less => refund(driver, home, charged, charged.cost - cost)?,
        Ordering::Equal => {}
        Ordering::Greater => {
            let asked = Asked { meters: &charged.meters, cost: cost - charged.cost, expects: None };
            compare(driver, home, &asked, Mode::Correct { charged_at: charged.at }, charged.slot)?;
        }
    }
    Ok(())
}

fn charge(driver: &Driver, meter: usize, cost: u64) -> model::Charge {
    words::charge(meter, driver.limit(meter), cost, driver.period(meter, driver.now))
}
