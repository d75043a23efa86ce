//! A table, a clock and the limits as they stand, driven as a front end drives them.

use std::num::NonZeroU32;

use sluicegate_core::calendar::{Calendar, Period};
use sluicegate_core::limit::{Axis, Limit, LimitName, Per};
use sluicegate_core::plan::{Charge, ChargePlan, Expects, HomeId, Mode, Sharer};
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::meters::MeterTable;

use crate::strategies::{Terms, axis, owed};

/// How a plan came out, and what its meters say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settlement {
    pub(crate) outcome: Outcome,
    pub(crate) readings: Readings,
}

pub(crate) struct Driver {
    table: MeterTable,
    limits: Vec<Limit>,
    pub(crate) now: Timestamp,
}

impl Driver {
    pub(crate) fn new(terms: &[Terms], now: Timestamp) -> Self {
        let limits =
            terms.iter().enumerate().map(|(meter, terms)| limit(meter, axis(meter), terms)).collect();
        Self { table: MeterTable::new(), limits, now }
    }

    pub(crate) fn limit(&self, meter: usize) -> &Limit {
        &self.limits[meter]
    }

    /// Whether what a request costs in the end concerns a meter: slots are taken whatever it is.
    pub(crate) fn counts_amounts(&self, meter: usize) -> bool {
        !matches!(self.limits[meter].rule, Rule::Concurrency { .. })
    }

    pub(crate) fn edit(&mut self, meter: usize, terms: &Terms) {
        self.limits[meter] = limit(meter, axis(meter), terms);
    }

    pub(crate) fn sweep(&self) {
        self.table.sweep(self.now);
    }

    pub(crate) fn later(&mut self, nanos: u64) {
        self.now = self.now.plus(Nanos(nanos));
    }

    pub(crate) fn earlier(&mut self, nanos: u64) {
        self.now = Timestamp::from_nanos(self.now.as_nanos().saturating_sub(nanos));
    }

    pub(crate) fn ask(&self, meters: &[usize], cost: u64, mode: Mode, slot: u64) -> Settlement {
        self.ask_at(meters, cost, mode, slot, self.now)
    }

    pub(crate) fn ask_at(
        &self,
        meters: &[usize],
        cost: u64,
        mode: Mode,
        slot: u64,
        now: Timestamp,
    ) -> Settlement {
        self.settle(&self.plan(meters, cost, mode, slot, now))
    }

    /// Asks as a plan does that expects something of a meter.
    pub(crate) fn ask_expecting(
        &self,
        meters: &[usize],
        cost: u64,
        expects: Option<Expects>,
        mode: Mode,
        slot: u64,
    ) -> Settlement {
        let mut plan = self.plan(meters, cost, mode, slot, self.now);
        plan.expects = expects;
        self.settle(&plan)
    }

    fn plan(&self, meters: &[usize], cost: u64, mode: Mode, slot: u64, now: Timestamp) -> ChargePlan<'_> {
        let mut plan = ChargePlan::new(HomeId(42), now, mode, SlotId(slot));
        for meter in meters {
            let limit = &self.limits[*meter];
            let (due, cost) = owed(*meter, cost);
            let (id, cost) = (self.table.enter(limit), Amount::new(cost).unwrap());
            // Even slots look the period up beforehand, as a tariff does; for the others the calendar is asked.
            let period = self.period(*meter, now).filter(|_| slot.is_multiple_of(2));
            plan.add(Charge { limit, id, sharer: sharer(limit), cost, period, due });
        }
        plan
    }

    fn settle(&self, plan: &ChargePlan<'_>) -> Settlement {
        let mut readings = Readings::new();
        let outcome = self.table.settle(plan, &mut readings);
        Settlement { outcome, readings }
    }

    /// For a calendar limit, the period of an instant.
    pub(crate) fn calendar(&self, meter: usize) -> Option<&Calendar> {
        if let Rule::Calendar { calendar, .. } = &self.limits[meter].rule { Some(calendar) } else { None }
    }

    pub(crate) fn period(&self, meter: usize, now: Timestamp) -> Option<Period> {
        self.calendar(meter).map(|calendar| calendar.period_at(now))
    }
}

/// Rates are a key's own, the rest is the account's.
fn sharer(limit: &Limit) -> Sharer {
    match limit.axis {
        Axis::Rate => Sharer::key(NonZeroU32::MIN),
        Axis::Concurrency | Axis::Quota | Axis::Conduct => Sharer::ALL,
    }
}

fn limit(meter: usize, axis: Axis, terms: &Terms) -> Limit {
    let name = LimitName::new(&format!("limit-{meter}")).unwrap();
    Limit { name, axis, per: Per::Account, rule: terms.rule.clone(), excess: terms.excess, sold: terms.sold }
}
