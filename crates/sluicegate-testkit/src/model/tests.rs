//! Hand-computed answers of the model, one file per algorithm.

mod carry;
mod concurrency;
mod ends;
mod extremes;
mod force;
mod kept;
mod overage;
mod past;
mod promises;
mod refusal;
mod several;
mod sliding_buckets;
mod sliding_log;
mod sliding_window;
mod token_bucket;
mod window;

use super::*;

const S: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * S;
/// The largest amount, cost and count.
const MOST: u64 = 9_007_199_254_740_991;
/// The last instant.
const END: u64 = 4_294_967_295 * S;

fn charge(rule: Rule, cost: u64) -> Charge {
    let axis = match rule {
        Rule::Concurrency { .. } => Axis::Concurrency,
        Rule::Calendar { .. } => Axis::Quota,
        _ => Axis::Rate,
    };
    let (overage, due) = (Overage::Refused, Due::Admission);
    Charge { meter: 1, rule, axis, overage, included: None, cost, period: None, due }
}

fn billed(rule: Rule, cost: u64) -> Charge {
    Charge { axis: Axis::Quota, overage: Overage::Billed, ..charge(rule, cost) }
}

fn quota(rule: Rule, cost: u64) -> Charge {
    Charge { axis: Axis::Quota, ..charge(rule, cost) }
}

const ADMITTED: Outcome = Outcome::Admitted { overage: 0 };

fn refused(retry_after: u64) -> Outcome {
    Outcome::Refused { by: 0, retry_after }
}

impl Home {
    fn take(&mut self, rule: Rule, cost: u64, now: u64) -> Outcome {
        self.ask(&[charge(rule, cost)], Mode::Charge, now, now).outcome
    }

    /// What the meter says: used, remaining, next, reset.
    fn says(&self, rule: Rule, now: u64) -> (u64, u64, u64, u64) {
        let reading = self.clone().ask(&[charge(rule, 1)], Mode::Peek, 0, now).readings[0];
        assert_eq!(reading.overage, 0);
        (reading.used, reading.remaining, reading.next, reading.reset)
    }

    fn give_back(&mut self, rule: Rule, cost: u64, charged_at: u64, now: u64) {
        self.refund(&charge(rule, cost), cost, charged_at, charged_at, now);
    }
}
