//! The meters of one home, and the settling of several charges: all or none.

use std::collections::BTreeMap;

use super::carry::carried;
use super::meter::{At, Meter, saturated};
use super::{Answer, Charge, Mode, Outcome, Reading, Rule};

/// The meters of one home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    meters: BTreeMap<u64, Meter>,
}

impl Home {
    /// Settles `charges`, given in the order rate, concurrency, quota. Slots are taken under the id `slot`.
    pub fn ask(&mut self, charges: &[Charge], mode: Mode, slot: u64, now: u64) -> Answer {
        let mut meters: Vec<Meter> =
            charges.iter().map(|charge| self.seen(charge, &at(charge, slot, now))).collect();
        let outcome = settle(charges, &meters, slot, now);
        if mode == Mode::Charge && matches!(outcome, Outcome::Admitted { .. }) {
            for (charge, meter) in charges.iter().zip(&mut meters) {
                meter.algorithm_mut().charge(owed(charge), &at(charge, slot, now));
                self.meters.insert(charge.meter, meter.clone());
            }
        }
        let readings =
            charges.iter().zip(&meters).map(|(charge, meter)| read(charge, meter, &at(charge, slot, now)));
        Answer { outcome, readings: readings.collect() }
    }

    /// Gives back `charge.cost` that was charged at `charged_at`; a concurrency charge releases `slot` instead.
    ///
    /// `charge.rule` and `charge.period` are those of `now`, not those of `charged_at`. A meter that was never
    /// charged has nothing to give back.
    pub fn refund(&mut self, charge: &Charge, slot: u64, charged_at: u64, now: u64) {
        if self.meters.contains_key(&charge.meter) {
            let at = at(charge, slot, now);
            let mut meter = self.seen(charge, &at);
            meter.algorithm_mut().refund(owed(charge), u128::from(charged_at), &at);
            self.meters.insert(charge.meter, meter);
        }
    }

    fn seen(&self, charge: &Charge, at: &At) -> Meter {
        match self.meters.get(&charge.meter) {
            Some(meter) => carried(meter, charge.rule, at),
            None => Meter::untouched(charge.rule),
        }
    }
}

fn settle(charges: &[Charge], meters: &[Meter], slot: u64, now: u64) -> Outcome {
    let both = || charges.iter().zip(meters);
    let never_fits = |(charge, meter): (&Charge, &Meter)| {
        !bills_overage(charge) && owed(charge) > meter.algorithm().capacity()
    };
    if let Some(by) = both().position(never_fits) {
        return Outcome::NeverFits { by };
    }

    let refuses = |(charge, meter): (&Charge, &Meter)| {
        !bills_overage(charge) && !meter.algorithm().fits(owed(charge), &at(charge, slot, now))
    };
    if let Some(by) = both().position(refuses) {
        let waits = both()
            .filter(|pair| refuses(*pair))
            .map(|(charge, meter)| saturated(meter.algorithm().wait(owed(charge), &at(charge, slot, now))));
        return Outcome::Refused { by, retry_after: waits.max().unwrap_or(0) };
    }

    let added = both().filter(|(charge, _)| bills_overage(charge)).map(|(charge, meter)| {
        let used_after = meter.algorithm().used(&at(charge, slot, now)).saturating_add(charge.cost);
        charge.cost.min(used_after.saturating_sub(meter.algorithm().capacity()))
    });
    Outcome::Admitted { overage: added.fold(0, u64::saturating_add) }
}

fn read(charge: &Charge, meter: &Meter, at: &At) -> Reading {
    let (used, capacity) = (meter.algorithm().used(at), meter.algorithm().capacity());
    Reading {
        used,
        remaining: capacity.saturating_sub(used),
        next: saturated(meter.algorithm().next(at)),
        reset: saturated(meter.algorithm().reset(at)),
        overage: if bills_overage(charge) { used.saturating_sub(capacity) } else { 0 },
    }
}

fn owed(charge: &Charge) -> u64 {
    if matches!(charge.rule, Rule::Concurrency { .. }) { 1 } else { charge.cost }
}

fn bills_overage(charge: &Charge) -> bool {
    charge.overage && !matches!(charge.rule, Rule::TokenBucket { .. } | Rule::Concurrency { .. })
}

fn at(charge: &Charge, slot: u64, now: u64) -> At {
    let (start, end) = charge.period.unwrap_or((0, u64::MAX));
    At { now: u128::from(now), slot, period: (u128::from(start), u128::from(end)) }
}
