//! How long requests have held their slots lately, by tier: what a refused caller is told to wait for one.
//!
//! A slot is free when its request ends, which nobody knows. The mean of recent requests of the tier is the estimate:
//! an exponentially weighted one, in a table of fixed size whose entries are replaced when two tiers meet in one.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::plan::{ChargePlan, Due};
use sluicegate_core::rule::{Answer, Rule};
use sluicegate_core::settle::Reading;
use sluicegate_core::time::Nanos;
use sluicegate_core::wait::wait_at;

/// What is told before any request of a tier has ended.
const UNKNOWN: Nanos = Nanos::from_secs(1);

/// How many tiers are told apart. Policies have a few; each negotiated one is one more.
const TIERS: u32 = 1_024;

/// A new hold time moves the mean by one part of so many.
const WEIGHT: u64 = 8;

/// The unit of the mean: a sixteenth of a millisecond, of which 2^32 last for three days.
const UNIT_NS: u64 = 62_500;

/// The mean hold time of each tier. An entry has the number of the tier in its upper half and the mean in the lower
/// one, at least 1; 0 is an entry that was never used.
#[derive(Debug)]
pub(crate) struct HoldTimes(Box<[AtomicU64]>);

impl Default for HoldTimes {
    fn default() -> Self {
        Self((0..TIERS).map(|_| AtomicU64::new(0)).collect())
    }
}

impl HoldTimes {
    fn entry(&self, tier: u32) -> &AtomicU64 {
        &self.0[(tier % TIERS) as usize]
    }

    fn mean(entry: u64, tier: u32) -> Option<u64> {
        (entry != 0 && entry >> 32 == u64::from(tier)).then_some(entry & u64::from(u32::MAX))
    }

    /// A request of this tier has held its slot for so long. Of two that end at once one may be lost.
    pub(crate) fn observe(&self, tier: u32, held: Nanos) {
        let entry = self.entry(tier);
        let held = held.0.div_ceil(UNIT_NS);
        let mean = match Self::mean(entry.load(Ordering::Relaxed), tier) {
            Some(mean) => (mean * (WEIGHT - 1) + held).div_ceil(WEIGHT),
            None => held,
        };
        let mean = mean.clamp(1, u32::MAX.into());
        entry.store(u64::from(tier) << 32 | mean, Ordering::Relaxed);
    }

    /// About how long it takes until a slot of this tier is free.
    pub(crate) fn estimate(&self, tier: u32) -> Nanos {
        let mean = Self::mean(self.entry(tier).load(Ordering::Relaxed), tier);
        mean.map_or(UNKNOWN, |mean| Nanos(mean * UNIT_NS))
    }

    /// How long a refused caller of this tier waits: `retry_after`, which counts a slot as held until its lease ends,
    /// with the estimate in place of that.
    #[inline]
    pub(crate) fn retry_after(
        &self,
        tier: u32,
        plan: &ChargePlan<'_>,
        readings: &[Reading],
        retry_after: Nanos,
    ) -> Nanos {
        let mut slots =
            plan.charges().iter().zip(readings).filter(|(charge, _)| takes_slot(&charge.limit.rule));
        if slots.all(|(_, reading)| reading.remaining > 0) {
            return retry_after;
        }
        self.without_leases(tier, plan, readings).min(retry_after)
    }

    #[cold]
    fn without_leases(&self, tier: u32, plan: &ChargePlan<'_>, readings: &[Reading]) -> Nanos {
        let others = plan.charges().iter().zip(readings).filter(|(charge, _)| charge.due == Due::Admission);
        let others = others.filter(|(charge, _)| !takes_slot(&charge.limit.rule));
        let waits = others.map(|(charge, reading)| {
            match wait_at(charge.limit, charge.cost.get(), &charge.limit.rule, reading) {
                Answer::Wait(wait) => wait,
                Answer::Fits | Answer::Never => Nanos::ZERO,
            }
        });
        waits.fold(self.estimate(tier), Nanos::max)
    }
}

fn takes_slot(rule: &Rule) -> bool {
    matches!(rule, Rule::Concurrency { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    #[test]
    fn the_mean_follows_what_requests_take_and_is_of_one_tier_alone() {
        let holds = HoldTimes::default();
        assert_eq!(holds.estimate(7), UNKNOWN);
        holds.observe(7, Nanos(300 * MILLI));
        assert_eq!((holds.estimate(7), holds.estimate(8)), (Nanos(300 * MILLI), UNKNOWN));
        (0..100).for_each(|_| holds.observe(7, Nanos(800 * MILLI)));
        assert!(holds.estimate(7).0.abs_diff(800 * MILLI) <= MILLI, "{:?}", holds.estimate(7));
        // Another tier takes the entry, and the first is unknown then.
        holds.observe(7 + TIERS, Nanos::ZERO);
        assert_eq!((holds.estimate(7), holds.estimate(7 + TIERS)), (UNKNOWN, Nanos(UNIT_NS)));
        holds.observe(9, Nanos(u64::MAX));
        assert!(holds.estimate(9) > Nanos::from_secs(3 * 86_400 - 1));
    }
}
