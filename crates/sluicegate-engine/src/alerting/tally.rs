//! What callers use of their rates, minute by minute, counted from the records of the spool behind them.

use std::collections::{BTreeMap, HashMap};
use std::hash::RandomState;
use std::num::NonZeroU32;

use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::tariff::{Charges, Request};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Position, Record, Spool};

use super::caller_rate::{Pace, RateMeter, RatesUsed};
use crate::engine::Engine;

/// How many callers, by key and route, are told apart within a minute: 10 MiB or so. Of more, those that come last are
/// not counted.
const CALLERS_MAX: usize = 131_072;
/// How many minutes are open at a time: records come a little late.
const MINUTES_MAX: usize = 3;

/// Records, added up by whom they are about.
#[derive(Debug)]
pub(super) struct Tally {
    next: Position,
    /// The first minute all of whose records are seen.
    first: u64,
    minutes: BTreeMap<u64, HashMap<Payee, u64, RandomState>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Payee {
    home: HomeId,
    account: u64,
    key: u64,
    key_number: u32,
    route: u32,
    tier: u32,
}

impl Tally {
    /// Of what is recorded from now on.
    pub(super) fn new(spool: &Spool, now: Timestamp) -> Self {
        Self { next: spool.tail(), first: minute_of(now) + 1, minutes: BTreeMap::new() }
    }

    /// Counts what was recorded since.
    pub(super) fn read(&mut self, spool: &Spool) {
        let (minutes, first) = (&mut self.minutes, self.first);
        let read = spool.read(self.next, |_, record| count(minutes, first, record));
        // What was removed meanwhile is too old to matter.
        self.next = read.map_or_else(|_| spool.tail(), |report| report.next);
    }

    /// The minutes that have ended before this instant, from the first: each with what was used of every rate in it.
    pub(super) fn ended(&mut self, engine: &Engine, at: Timestamp) -> Vec<(u64, RatesUsed)> {
        let until = minute_of(at);
        let mut ended = Vec::new();
        while self.first < until {
            let used = self.minutes.remove(&self.first).unwrap_or_default();
            // After a long pause only the last ones matter.
            if until - self.first <= MINUTES_MAX as u64 {
                ended.push((self.first, rates(engine, used, at)));
            }
            self.first += 1;
        }
        ended
    }
}

/// The number of the minute.
pub(super) const fn minute_of(at: Timestamp) -> u64 {
    at.as_secs() as u64 / 60
}

fn count(minutes: &mut BTreeMap<u64, HashMap<Payee, u64, RandomState>>, first: u64, record: &Record) {
    let minute = minute_of(record.at);
    // An address prefix is no caller: its meters are shared because there are too many.
    if record.kind != Kind::Charge || minute < first || record.flags.contains(Flags::PREFIX) {
        return;
    }
    if minutes.len() >= MINUTES_MAX && !minutes.contains_key(&minute) {
        return;
    }
    let callers = minutes.entry(minute).or_default();
    let Record { home, account, key, key_number, route, tier, .. } = *record;
    let payee = Payee { home, account, key, key_number, route, tier };
    if callers.len() < CALLERS_MAX || callers.contains_key(&payee) {
        let used = callers.entry(payee).or_default();
        *used = used.saturating_add(record.cost);
    }
}

/// What the usage of callers is of their rates.
fn rates(engine: &Engine, used: HashMap<Payee, u64, RandomState>, now: Timestamp) -> RatesUsed {
    let policy = engine.policy();
    let mut sums: BTreeMap<RateMeter, u64> = BTreeMap::new();
    for (payee, cost) in used {
        let plan = if payee.account == 0 {
            policy.client_plan_of_number(payee.tier, &engine.meters, &engine.names)
        } else {
            engine.directory.account_by_serial(payee.account).and_then(|account| {
                policy.plan_of(&account.standing.load(), &engine.meters, &engine.names, &engine.counters)
            })
        };
        let (Some(plan), Some(cost)) = (plan, Amount::new(cost)) else { continue };
        let request = Request {
            home: payee.home,
            key: NonZeroU32::new(payee.key_number),
            route: policy.route_of_number(payee.route),
            cost,
            now,
            mode: Mode::Peek,
            which: Charges::Amounts,
            slot: SlotId(0),
        };
        for charge in plan.tariff.plan(&request).charges() {
            let Some(pace) = Pace::of(charge.limit) else { continue };
            let sharer = charge.sharer.get();
            let meter = RateMeter {
                home: payee.home,
                sharer,
                limit: charge.limit.name.to_string(),
                account: payee.account,
                key: if sharer == 0 { 0 } else { payee.key },
                pace,
            };
            let sum = sums.entry(meter).or_default();
            *sum = sum.saturating_add(charge.cost.get());
        }
    }
    sums.into_iter().collect()
}
