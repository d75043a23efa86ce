//! How long a cost has to wait at a limit that has another size by then, from what its meter says now.
//!
//! A refused caller may have a smaller limit when it comes back, or a larger one. The meter keeps what was used, so its
//! reading is enough to tell when a cost fits a limit of another size. For token buckets and for windows that end as a
//! whole the wait is exact. For sliding windows it lasts until everything used now is forgotten: never too short.

use crate::limit::Limit;
use crate::rule::{Answer, Rule};
use crate::settle::Reading;
use crate::time::Nanos;

/// Whether `cost` fits `limit`, or after how long, if nobody else calls. `written` is the same limit's rule as the
/// meter was read under.
pub fn wait_at(limit: &Limit, cost: u64, written: &Rule, reading: &Reading) -> Answer {
    match (&limit.rule, written) {
        (Rule::TokenBucket(bucket), Rule::TokenBucket(written)) => match bucket.burst().checked_sub(cost) {
            None => Answer::Never,
            // Until the next call the meter stays as it was written, and fills at that rate.
            Some(left) => wait(Nanos(reading.reset.0.saturating_sub(written.time_of(left).0))),
        },
        (Rule::Concurrency { limit: slots, .. }, _) if reading.used < slots.get() => Answer::Fits,
        (Rule::Concurrency { .. }, _) => wait(reading.reset),
        _ => match limit.max_cost() {
            Some(most) if cost > most => Answer::Never,
            Some(most) if reading.used.saturating_add(cost) > most => wait(reading.reset),
            Some(_) | None => Answer::Fits,
        },
    }
}

fn wait(time: Nanos) -> Answer {
    if time == Nanos::ZERO { Answer::Fits } else { Answer::Wait(time) }
}
