//! One charge and its meter as they stand at the instant of a call.

use super::carry::carried;
use super::meter::{At, END_OF_TIME, Meter, saturated};
use super::{Charge, Mode, Reading, Rule};

pub(super) struct View<'a> {
    pub(super) charge: &'a Charge,
    pub(super) meter: Meter,
    at: At,
}

impl View<'_> {
    pub(super) fn new<'a>(charge: &'a Charge, meter: Option<&Meter>, slot: u64, now: u64) -> View<'a> {
        let (start, end) = charge.period.unwrap_or((0, u64::MAX));
        let at =
            At { now: u128::from(now).min(END_OF_TIME), slot, period: (u128::from(start), u128::from(end)) };
        let meter = match meter {
            Some(meter) => carried(meter, charge.rule, &at),
            None => Meter::untouched(charge.rule),
        };
        View { charge, meter, at }
    }

    fn cost(&self) -> u64 {
        if self.takes_a_slot() { 1 } else { self.charge.cost }
    }

    fn takes_a_slot(&self) -> bool {
        matches!(self.charge.rule, Rule::Concurrency { .. })
    }

    fn bills_overage(&self) -> bool {
        self.charge.overage
            && !matches!(self.charge.rule, Rule::TokenBucket { .. } | Rule::Concurrency { .. })
    }

    /// Whether it is settled without asking if it fits.
    fn is_settled_anyway(&self, mode: Mode) -> bool {
        let renews = self.meter.algorithm().holds(&self.at);
        self.bills_overage() || (mode == Mode::Force && (renews || !self.takes_a_slot()))
    }

    pub(super) fn never_fits(&self, mode: Mode) -> bool {
        !self.is_settled_anyway(mode) && self.cost() > self.meter.algorithm().capacity()
    }

    pub(super) fn refuses(&self, mode: Mode) -> bool {
        !self.is_settled_anyway(mode) && !self.meter.algorithm().fits(self.cost(), &self.at)
    }

    /// Only asked of a charge that refuses.
    pub(super) fn wait(&self) -> u64 {
        saturated(self.meter.algorithm().wait(self.cost(), &self.at))
    }

    /// The part of the cost above what remained.
    pub(super) fn added_overage(&self) -> u64 {
        if self.bills_overage() { self.charge.cost.saturating_sub(self.reading().remaining) } else { 0 }
    }

    pub(super) fn pay(&mut self) {
        let cost = self.cost();
        self.meter.algorithm_mut().charge(cost, &self.at);
    }

    pub(super) fn give_back(&mut self, charged_at: u64) {
        let (cost, charged_at) = (self.cost(), u128::from(charged_at).min(END_OF_TIME));
        self.meter.algorithm_mut().refund(cost, charged_at, &self.at);
    }

    pub(super) fn reading(&self) -> Reading {
        let meter = self.meter.algorithm();
        let (used, capacity) = (meter.used(&self.at), meter.capacity());
        Reading {
            used,
            remaining: capacity.saturating_sub(used),
            next: saturated(meter.next(&self.at)),
            reset: saturated(meter.reset(&self.at)),
            overage: if self.bills_overage() { used.saturating_sub(capacity) } else { 0 },
        }
    }
}
