//! What callers are promised, checked without the model.

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate_core::limit::Limit;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp};

use crate::cases;
use crate::driver::Driver;
use crate::strategies::{Event, LIMITS, all_terms, event, start};

/// All limits: what nothing but a request that is admitted may change.
const ALL: [usize; LIMITS] = [0, 1, 2, 3];

/// Which way the clock goes in a history.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    Forward,
    AnyWay,
}

/// Runs random events and calls `check` before each request.
fn with_random_history(
    events: &[Event],
    clock: Clock,
    driver: &mut Driver,
    mut check: impl FnMut(&Driver, &[usize], u64, u64) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut admitted = Vec::new();
    for (step, event) in events.iter().enumerate() {
        let slot = step as u64;
        match event {
            Event::Nothing | Event::Peek { .. } => {}
            Event::Later(nanos) => driver.later(*nanos),
            Event::Earlier(nanos) if clock == Clock::AnyWay => driver.earlier(*nanos),
            Event::Earlier(_) => {}
            Event::Sweep => driver.sweep(),
            Event::Edit { meter, terms } => driver.edit(*meter, terms),
            Event::Ask { meters, cost, .. } => {
                check(driver, meters, *cost, slot)?;
                if let Outcome::Admitted { .. } = driver.ask(meters, *cost, Mode::Charge, slot).outcome {
                    admitted.push((meters, *cost, slot, driver.now));
                }
            }
            Event::Force { meters, cost, .. } => {
                driver.ask(meters, *cost, Mode::Force, slot);
            }
            Event::Refund { ago } => {
                if let Some(index) = admitted.len().checked_sub(ago + 1) {
                    let (meters, cost, slot, charged_at) = admitted.remove(index);
                    let reserved = Amount::new(cost).unwrap();
                    driver.ask(meters, cost, Mode::Refund { charged_at, reserved }, slot);
                }
            }
            Event::Finish { ago, cost } => {
                if let Some(index) = admitted.len().checked_sub(ago + 1) {
                    let (meters, reserved, slot, charged_at) = admitted.remove(index);
                    let mode = match Amount::new(reserved) {
                        Some(reserved) if reserved.get() > *cost => Mode::Refund { charged_at, reserved },
                        _ => Mode::Correct { charged_at },
                    };
                    let amounts: Vec<usize> =
                        meters.iter().copied().filter(|meter| driver.counts_amounts(*meter)).collect();
                    if reserved != *cost {
                        driver.ask(&amounts, reserved.abs_diff(*cost), mode, slot);
                    }
                }
            }
        }
    }
    Ok(())
}

/// The most that a limit serves. Nothing: it bills without end.
fn capacity_with_cap(limit: &Limit) -> Option<u64> {
    let reach = if matches!(limit.rule, Rule::TokenBucket(_)) { Some(0) } else { limit.excess.reach() };
    Some(limit.rule.capacity().saturating_add(reach?).min(Amount::MAX))
}

fn history() -> impl Strategy<Value = (Driver, Vec<Event>)> {
    (all_terms(), start(), vec(event(), 200)).prop_map(|(terms, start, events)| {
        // Far enough from the end of time for every wait to be over before it.
        let start = start.min(Timestamp::from_nanos(Timestamp::MAX.as_nanos() / 2));
        (Driver::new(&terms, start), events)
    })
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rules: Vec<_> = ALL.iter().map(|meter| &self.limit(*meter).rule).collect();
        f.debug_struct("Driver").field("now", &self.now).field("rules", &rules).finish_non_exhaustive()
    }
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn refused_until_retry_after_then_admitted((mut driver, events) in history()) {
        with_random_history(&events, Clock::AnyWay, &mut driver, |driver, meters, cost, slot| {
            // Charged, not peeked: an edit takes hold at the first request after it, and the waits count from there.
            let Outcome::Refused { retry_after, .. } = driver.ask(meters, cost, Mode::Charge, slot).outcome else {
                return Ok(());
            };
            prop_assert!(retry_after > Nanos::ZERO);
            let then = driver.now.plus(retry_after);
            if then == Timestamp::MAX {
                // A bucket that takes a century to fill: the wait ends after the last instant there is.
                return Ok(());
            }
            let just_before = Timestamp::from_nanos(then.as_nanos() - 1);
            let ask = |now| driver.ask_at(meters, cost, Mode::Peek, slot, now).outcome;
            prop_assert!(matches!(ask(then), Outcome::Admitted { .. }), "still refused at {then:?}: {:?}", ask(then));
            prop_assert!(matches!(ask(just_before), Outcome::Refused { .. }), "admitted before {then:?}");
            Ok(())
        })?;
    }

    #[test]
    fn what_is_not_admitted_leaves_every_meter_as_it_was((mut driver, events) in history()) {
        with_random_history(&events, Clock::AnyWay, &mut driver, |driver, meters, cost, slot| {
            let later = driver.now.plus(Nanos(1_234_567_890));
            let all = |now| driver.ask_at(&ALL, 1, Mode::Peek, slot, now);
            let before = (all(driver.now), all(later));
            let outcome = driver.ask(meters, cost, Mode::Peek, slot).outcome;
            prop_assert_eq!((all(driver.now), all(later)), before.clone(), "after a peek");
            if !matches!(outcome, Outcome::Admitted { .. }) {
                driver.ask(meters, cost, Mode::Charge, slot);
                prop_assert_eq!(all(driver.now), before.0, "after a refusal");
                // From the first refusal after an edit on, usage counts under the new limit; a second one
                // moves nothing.
                let after = all(later);
                driver.ask(meters, cost, Mode::Charge, slot);
                prop_assert_eq!(all(later), after, "some time after a refusal");
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_refund_after_a_charge_is_as_if_nothing_had_been((mut driver, events) in history()) {
        with_random_history(&events, Clock::Forward, &mut driver, |driver, meters, cost, slot| {
            let before = driver.ask(&ALL, 1, Mode::Peek, slot).readings;
            if let Outcome::Admitted { .. } = driver.ask(meters, cost, Mode::Charge, slot).outcome {
                // A count that stopped at its maximum does not know how far it was pushed.
                let stopped = driver.ask(&ALL, 1, Mode::Peek, slot).readings.iter().any(|now| now.used >= 1 << 53 >> 1);
                let mode = Mode::Refund { charged_at: driver.now, reserved: Amount::new(cost).unwrap() };
                driver.ask(meters, cost, mode, slot);
                let after = driver.ask(&ALL, 1, Mode::Peek, slot).readings;
                prop_assert!(after == before || stopped, "{before:?} became {after:?}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_time(
        (mut driver, events) in history(),
        nanos in any::<u64>(),
        early in any::<bool>(),
    ) {
        let day = 86_400_000_000_000;
        let end = Timestamp::MAX.as_nanos() - day + nanos % (2 * day);
        driver.now = Timestamp::from_nanos(if early { nanos % day } else { end });
        with_random_history(&events, Clock::AnyWay, &mut driver, |driver, meters, cost, slot| {
            for reading in driver.ask(meters, cost, Mode::Peek, slot).readings {
                prop_assert!(reading.next.0 < u64::MAX / 2 && reading.reset.0 < u64::MAX / 2);
            }
            Ok(())
        })?;
    }

    #[test]
    fn remaining_is_never_above_the_limit_and_is_what_is_admitted((mut driver, events) in history()) {
        with_random_history(&events, Clock::AnyWay, &mut driver, |driver, meters, _, slot| {
            for meter in meters.iter().filter(|meter| ALL.contains(meter)) {
                let reading = driver.ask(&[*meter], 1, Mode::Peek, slot).readings[0];
                let capacity = driver.limit(*meter).rule.capacity();
                prop_assert!(reading.remaining <= capacity);
                let slots = matches!(driver.limit(*meter).rule, Rule::Concurrency { .. });
                let ask = |cost| driver.ask(&[*meter], cost, Mode::Peek, slot).outcome;
                let limit = driver.limit(*meter);
                if reading.remaining > 0 && !slots {
                    let outcome = ask(reading.remaining);
                    prop_assert!(matches!(outcome, Outcome::Admitted { .. }), "{outcome:?}");
                    // What the plan sold may be less than what is admitted for now; otherwise nothing of it is overage.
                    if limit.included().is_none_or(|included| included.get() >= capacity) {
                        prop_assert_eq!(outcome, Outcome::Admitted { overage: 0 });
                    }
                }
                // A limit at the largest number is never exceeded: counts stop there. What is billed is refused beyond
                // its cap only, and what of it is overage the model says.
                let Some(top) = capacity_with_cap(limit).filter(|top| *top < Amount::MAX && !slots) else { continue };
                let room = top.saturating_sub(reading.used);
                if room > 0 {
                    let outcome = ask(room);
                    prop_assert!(matches!(outcome, Outcome::Admitted { .. }), "{outcome:?}");
                }
                if reading.used > 0 {
                    let outcome = ask(room + 1);
                    prop_assert!(!matches!(outcome, Outcome::Admitted { .. }), "{outcome:?}");
                }
            }
            Ok(())
        })?;
    }
}

proptest! {
    // A sweep rebuilds the whole table, so these cases are dear.
    #![proptest_config(cases(500))]

    #[test]
    fn a_sweep_changes_no_answer((mut driver, events) in history()) {
        with_random_history(&events, Clock::Forward, &mut driver, |driver, _, _, slot| {
            let later = driver.now.plus(Nanos(1_234_567_890));
            let all = |now| driver.ask_at(&ALL, 1, Mode::Peek, slot, now);
            let before = (all(driver.now), all(later));
            driver.sweep();
            prop_assert_eq!((all(driver.now), all(later)), before);
            Ok(())
        })?;
    }
}
