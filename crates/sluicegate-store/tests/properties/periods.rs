//! What requests cost in the end counts in the period in which they were charged, and so does its overage.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sluicegate_core::calendar::{Calendar, CalendarUnit};
use sluicegate_core::limit::Excess;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp, Window};

use crate::cases;
use crate::driver::Driver;
use crate::strategies::{Terms, time_step};

/// The meter of the quota.
const QUOTA: usize = 3;
const INCLUDED: u64 = 20;
const KEPT_FOR: Nanos = Nanos::from_secs(48 * 3_600);

/// What happens: a request is charged, or one that was charged so many ago ends and has cost this much.
#[derive(Clone, Debug)]
enum Life {
    Charge { cost: u64 },
    Finish { ago: usize, cost: u64 },
    Sweep,
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        4 => (1..30u64).prop_map(|cost| Life::Charge { cost }),
        4 => (0..6usize, 0..40u64).prop_map(|(ago, cost)| Life::Finish { ago, cost }),
        1 => Just(Life::Sweep),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let limit = Amount::new(INCLUDED).unwrap();
    let window = select(vec![60, 3_600, 86_400, 10 * 86_400]);
    prop_oneof![
        select(vec![CalendarUnit::Day, CalendarUnit::Month])
            .prop_map(move |unit| Rule::Calendar { limit, calendar: Calendar::utc(unit) }),
        window.prop_map(move |secs| {
            Rule::FixedWindow(Windowed { limit, window: Window::from_secs(secs).unwrap() })
        }),
    ]
}

/// What was used in each period, by its start, and when it ended.
#[derive(Default)]
struct Ledger {
    periods: BTreeMap<Timestamp, (u64, Timestamp)>,
    /// The period in which something was charged last, and the one before it.
    last: Option<Timestamp>,
    previous: Option<Timestamp>,
}

impl Ledger {
    fn used(&self, start: Timestamp) -> u64 {
        self.periods.get(&start).map_or(0, |(used, _)| *used)
    }

    fn overage(&self, start: Timestamp) -> u64 {
        self.used(start).saturating_sub(INCLUDED)
    }

    /// Whether corrections of a period are taken.
    fn takes(&self, start: Timestamp, now: Timestamp) -> bool {
        let is_known = self.last == Some(start) || self.previous == Some(start);
        let end = self.periods.get(&start).map_or(start, |(_, end)| *end);
        is_known && self.used(start) > 0 && now.since(end) < KEPT_FOR
    }

    /// Something is charged in a period.
    fn move_on(&mut self, start: Timestamp) {
        if self.last != Some(start) {
            self.previous = self.last.filter(|last| self.used(*last) > 0).or(self.previous);
            self.last = Some(start);
        }
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn each_period_has_used_what_its_requests_cost_in_the_end(
        rule in rule(),
        lives in vec((time_step(), any::<bool>(), life()), 120),
    ) {
        let terms = Terms { rule: rule.clone(), excess: Excess::BillOverage, sold: None };
        let all = [terms.clone(), terms.clone(), terms.clone(), terms];
        let mut driver = Driver::new(&all, Timestamp::from_secs(1_790_000_000));
        let (mut ledger, mut open) = (Ledger::default(), Vec::new());
        let period_of = |at| match &rule {
            Rule::Calendar { calendar, .. } => calendar.period_at(at),
            Rule::FixedWindow(windowed) => windowed.aligned(at),
            _ => unreachable!("these are the rules with periods"),
        };
        for (step, hurry, life) in lives {
            if !hurry {
                driver.later(step);
            }
            let now = driver.now;
            let (cost, mode, charged_at) = match life {
                Life::Sweep => {
                    driver.sweep();
                    continue;
                }
                Life::Charge { cost } => {
                    open.push((now, cost));
                    (cost, Mode::Charge, now)
                }
                Life::Finish { ago, cost } => {
                    let Some(index) = open.len().checked_sub(ago + 1) else { continue };
                    let (charged_at, reserved) = open.remove(index);
                    let mode = match Amount::new(reserved) {
                        Some(reserved) if reserved.get() > cost => Mode::Refund { charged_at, reserved },
                        _ => Mode::Correct { charged_at },
                    };
                    if reserved == cost {
                        continue;
                    }
                    (reserved.abs_diff(cost), mode, charged_at)
                }
            };
            let (charged, current) = (period_of(charged_at), period_of(now));
            let takes = charged == current || ledger.takes(charged.start, now);
            let refund = matches!(mode, Mode::Refund { .. });
            let counted = if takes { charged } else { current };
            let before = ledger.overage(counted.start);
            if counted == current && !refund {
                ledger.move_on(current.start);
            }
            let (used, _) = ledger.periods.entry(counted.start).or_insert((0, counted.end));
            *used = match refund {
                true if takes => *used - cost,
                true => *used,
                false => *used + cost,
            };
            let change = ledger.overage(counted.start).abs_diff(before);
            let settled = driver.ask(&[QUOTA], cost, mode, 0);
            prop_assert_eq!(settled.outcome, Outcome::Admitted { overage: change });
            let used = ledger.used(current.start);
            prop_assert_eq!(settled.readings[0].used, used);
            prop_assert_eq!(settled.readings[0].overage, used.saturating_sub(INCLUDED));
        }
    }
}
