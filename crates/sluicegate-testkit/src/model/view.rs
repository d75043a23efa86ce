//! One charge and its meter as they stand at the instant of a call.

use super::carry::carried;
use super::meter::{At, END_OF_TIME, MOST, Meter, saturated};
use super::past::{self, Change};
use super::{Charge, Due, Mode, Overage, Reading, Rule, overage};

#[derive(Clone)]
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
            Some(old) => {
                let mut meter = carried(old, charge.rule, &at);
                overage::carry(&old.mended(&at), &mut meter, charge, &at);
                meter
            }
            None => Meter { bill: overage::untouched(charge), ..Meter::untouched(charge.rule) },
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
        self.charge.overage != Overage::Refused
            && !matches!(self.charge.rule, Rule::TokenBucket { .. } | Rule::Concurrency { .. })
    }

    /// Whether it is settled without asking if it fits.
    fn is_settled_anyway(&self, mode: Mode) -> bool {
        let renews = self.meter.algorithm().holds(&self.at);
        let endless = self.bills_overage() && self.charge.overage == Overage::Billed;
        endless || (mode.is_forced() && (renews || !self.takes_a_slot()))
    }

    /// The meter as if its limit were as much more as is served beyond it: same counts, more room.
    fn served(&self) -> Meter {
        match self.charge.overage {
            Overage::BilledUpTo(cap) if self.bills_overage() => {
                carried(&self.meter, raised(self.charge.rule, cap), &self.at)
            }
            _ => self.meter.clone(),
        }
    }

    pub(super) fn never_fits(&self, mode: Mode) -> bool {
        !self.is_settled_anyway(mode) && self.cost() > self.served().algorithm().capacity()
    }

    pub(super) fn refuses(&self, mode: Mode) -> bool {
        !self.is_settled_anyway(mode) && !self.served().algorithm().fits(self.cost(), &self.at)
    }

    /// Only asked of a charge that refuses.
    pub(super) fn wait(&self) -> u64 {
        saturated(self.served().algorithm().wait(self.cost(), &self.at))
    }

    /// By how much the overage grows when it is charged.
    pub(super) fn added_overage(&self, mode: Mode) -> u64 {
        let mut charged = self.clone();
        charged.pay(mode);
        u64::try_from(overage::change(&self.meter, &charged.meter)).unwrap_or(0)
    }

    pub(super) fn pay(&mut self, mode: Mode) {
        let cost = self.cost();
        if let Mode::Correct { charged_at } = mode
            && self.corrects_past(Change::More(cost), charged_at)
        {
            return;
        }
        let before = self.meter.clone();
        match self.charge.due {
            Due::Admission => self.meter.algorithm_mut().charge(cost, &self.at),
            Due::Refusal => self.meter.algorithm_mut().drain(cost, &self.at),
        }
        if past::is_kept(self.charge) && before.held_start() != self.meter.held_start() {
            self.meter.past = past::closed(&before, &self.at);
        }
    }

    pub(super) fn give_back(&mut self, charged_at: u64, reserved: u64) {
        let cost = self.cost();
        if self.corrects_past(Change::Less(cost), charged_at) {
            return;
        }
        let charged_at = u128::from(charged_at).min(END_OF_TIME);
        self.meter.algorithm_mut().refund(cost, reserved, charged_at, &self.at);
    }

    /// Whether that is done to a period that is over.
    fn corrects_past(&mut self, change: Change, charged_at: u64) -> bool {
        let charged_at = u128::from(charged_at).min(END_OF_TIME);
        past::is_kept(self.charge) && past::correct(&mut self.meter, change, charged_at, &self.at)
    }

    pub(super) fn reading(&self) -> Reading {
        let meter = self.meter.algorithm();
        let (used, capacity) = (meter.used(&self.at), meter.capacity());
        Reading {
            used,
            remaining: capacity.saturating_sub(used),
            next: saturated(meter.next(&self.at)),
            reset: saturated(meter.reset(&self.at)),
            overage: overage::overage(&self.meter, &self.at),
        }
    }
}

/// The rule with so much more; counts stop where they always do.
fn raised(rule: Rule, more: u64) -> Rule {
    let raised = |limit: u64| limit.saturating_add(more).min(MOST);
    match rule {
        Rule::FixedWindow { limit, window_s } => Rule::FixedWindow { limit: raised(limit), window_s },
        Rule::Calendar { limit, calendar } => Rule::Calendar { limit: raised(limit), calendar },
        Rule::SlidingWindow { limit, window_s } => Rule::SlidingWindow { limit: raised(limit), window_s },
        Rule::SlidingBuckets { limit, window_s } => Rule::SlidingBuckets { limit: raised(limit), window_s },
        Rule::SlidingLog { limit, window_s } => Rule::SlidingLog { limit: raised(limit), window_s },
        Rule::TokenBucket { .. } | Rule::Concurrency { .. } => rule,
    }
}
