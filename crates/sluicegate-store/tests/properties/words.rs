//! Charges and answers in the words of the reference model.

use sluicegate_core::calendar::{CalendarUnit, Period};
use sluicegate_core::limit::{Axis, Excess, Limit};
use sluicegate_core::plan::{Due, Expects};
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_testkit::model;

use crate::strategies::owed;

/// What a request of this cost owes to the meter with this number.
pub(crate) fn charge(meter: usize, limit: &Limit, cost: u64, period: Option<Period>) -> model::Charge {
    let window_s = |rule: &Windowed| u64::from(rule.window.as_secs());
    let rule = match &limit.rule {
        Rule::TokenBucket(bucket) => model::Rule::TokenBucket {
            amount: bucket.amount(),
            window_s: u64::from(bucket.window().as_secs()),
            burst: bucket.burst(),
        },
        Rule::FixedWindow(rule) => {
            model::Rule::FixedWindow { limit: rule.limit.get(), window_s: window_s(rule) }
        }
        Rule::SlidingWindow(rule) => {
            model::Rule::SlidingWindow { limit: rule.limit.get(), window_s: window_s(rule) }
        }
        Rule::SlidingBuckets(rule) => {
            model::Rule::SlidingBuckets { limit: rule.limit.get(), window_s: window_s(rule) }
        }
        Rule::SlidingLog(rule) => {
            model::Rule::SlidingLog { limit: rule.limit.get(), window_s: window_s(rule) }
        }
        Rule::Calendar { limit, calendar } => model::Rule::Calendar {
            limit: limit.get(),
            calendar: u64::from(calendar.unit() == CalendarUnit::Day),
        },
        Rule::Concurrency { limit, lease } => {
            model::Rule::Concurrency { limit: limit.get(), lease_ns: lease.0 }
        }
    };
    let (due, cost) = owed(meter, cost);
    model::Charge {
        meter: meter as u64,
        rule,
        axis: match limit.axis {
            Axis::Rate => model::Axis::Rate,
            Axis::Concurrency => model::Axis::Concurrency,
            Axis::Quota => model::Axis::Quota,
            Axis::Conduct => model::Axis::Conduct,
        },
        overage: match limit.excess {
            Excess::Refuse(_) => model::Overage::Refused,
            Excess::BillOverage => model::Overage::Billed,
            Excess::BillUpTo(cap) => model::Overage::BilledUpTo(cap.amount.get()),
        },
        included: limit.sold.map(Amount::get),
        cost,
        period: period.map(|period| (period.start.as_nanos(), period.end.as_nanos())),
        due: match due {
            Due::Admission => model::Due::Admission,
            Due::Refusal => model::Due::Refusal,
        },
    }
}

/// What is expected of a meter.
pub(crate) fn expects(expects: Option<Expects>) -> Option<model::Expects> {
    expects.map(|Expects { place, least, most }| model::Expects { place, least, most })
}

/// What a plan was answered.
pub(crate) fn answer(outcome: Outcome, readings: &Readings) -> model::Answer {
    let outcome = match outcome {
        Outcome::Admitted { overage } => model::Outcome::Admitted { overage },
        Outcome::Refused { by, retry_after } => model::Outcome::Refused { by, retry_after: retry_after.0 },
        Outcome::NeverFits { by } => model::Outcome::NeverFits { by },
        Outcome::Elsewhere { remaining } => model::Outcome::Elsewhere { remaining },
        Outcome::Conflicts => unreachable!("nothing here has a name"),
    };
    let readings = readings.iter().map(|reading| model::Reading {
        used: reading.used,
        remaining: reading.remaining,
        next: reading.next.0,
        reset: reading.reset.0,
        overage: reading.overage,
    });
    model::Answer { outcome, readings: readings.collect() }
}
