//! Requests in flight whose slots have to be renewed: a slot frees itself after its lease, a long answer takes longer.
//!
//! Each slot has an instant at which its renewal is due, a third of its lease after the last. All that are due are
//! renewed together: in this process one step per account and limit set, in a shared store one call per account.

use std::collections::{BTreeMap, HashMap};
use std::hash::RandomState;
use std::num::NonZeroU32;
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::limit::Axis;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::RouteIndex;
use sluicegate_core::rule::concurrency::{SlotHold, SlotId};
use sluicegate_core::rule::{Amount, LEASE_DEFAULT};
use sluicegate_core::settle::Readings;
use sluicegate_core::tariff::Charges;
use sluicegate_core::time::{Nanos, Timestamp};

use crate::engine::Engine;
use crate::permit::{Kept, Permit};

const SHARDS: usize = 64;

/// A slot is renewed once this part of its lease has passed, so that some renewals may be late. Shorter requests, which
/// is nearly all, are never renewed.
const RENEWED_AFTER_ONE_OF: u64 = 3;

/// A request in flight that holds a slot.
#[derive(Debug)]
struct Flight {
    permit: Permit,
    /// When its slot is to be renewed.
    due: Timestamp,
}

/// What one round of renewals has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Renewed {
    /// Slots.
    pub slots: usize,
    /// Steps: each locks an account once, or is one call of a shared store.
    pub steps: usize,
}

/// What slots have in common that one step renews: the account, its plan, and which of its limits count.
type Group = (HomeId, usize, Option<NonZeroU32>, Option<RouteIndex>);

/// Requests in flight that hold a slot.
#[derive(Debug)]
pub(crate) struct InFlight(Box<[Mutex<HashMap<SlotId, Flight, RandomState>>]>);

impl Default for InFlight {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl InFlight {
    fn shard(&self, slot: SlotId) -> &Mutex<HashMap<SlotId, Flight, RandomState>> {
        &self.0[usize::try_from(slot.0 % SHARDS as u64).unwrap_or(0)]
    }
}

impl Engine {
    /// Notes that a request is in flight for as long as it takes. Only requests that hold a slot are.
    pub fn enter(&self, permit: &Permit) {
        if permit.plan.tariff.has(Axis::Concurrency) {
            let flight = Flight { permit: permit.clone(), due: due(permit, permit.charged_at) };
            self.in_flight.shard(permit.slot.id).lock().insert(permit.slot.id, flight);
        }
    }

    /// Notes that it has ended.
    pub fn leave(&self, permit: &Permit) {
        if permit.plan.tariff.has(Axis::Concurrency) {
            self.in_flight.shard(permit.slot.id).lock().remove(&permit.slot.id);
            self.observe_hold(permit, self.now());
        }
    }

    /// Notes how long a request has held its slot that ends now, if it has one.
    pub(crate) fn observe_hold(&self, permit: &Permit, now: Timestamp) {
        if permit.plan.tariff.has(Axis::Concurrency) {
            self.holds.observe(permit.plan.number, now.since(permit.charged_at));
        }
    }

    /// How many requests are in flight that hold a slot.
    pub fn in_flight(&self) -> usize {
        self.in_flight.0.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Renews the slots of requests that take long. Called every second, far more often than a lease is long.
    pub fn renew(&self, now: Timestamp) -> Renewed {
        let mut renewed = Renewed::default();
        let mut shared: BTreeMap<HomeId, Vec<Permit>> = BTreeMap::new();
        let mut here: BTreeMap<Group, Vec<Permit>> = BTreeMap::new();
        for permit in self.in_flight.take_due(now) {
            renewed.slots += 1;
            if self.shared.is_some() && permit.kept == Kept::Store {
                shared.entry(permit.home).or_default().push(permit);
            } else {
                let plan = Arc::as_ptr(&permit.plan) as usize;
                here.entry((permit.home, plan, permit.key_number, permit.route)).or_default().push(permit);
            }
        }
        for permits in here.values() {
            renewed.steps += 1;
            self.renew_here(permits, now);
        }
        if let Some(store) = &self.shared {
            for (home, permits) in &shared {
                // One that has ended meanwhile frees itself with the lease.
                renewed.steps += store.renew_slots(*home, permits, now);
            }
        }
        renewed
    }

    /// Renews slots of one account, all in one step.
    fn renew_here(&self, permits: &[Permit], now: Timestamp) {
        let Some(first) = permits.first() else { return };
        let holds: Vec<SlotHold> = permits.iter().map(Permit::slot_hold).collect();
        let request = first.request(Mode::Force, Charges::Slots, Amount::ONE, now);
        self.meters.renew_slots(&first.plan.tariff.plan(&request), &holds, || ());
        for permit in permits {
            // It may have ended meanwhile, and then nobody would release what was just renewed.
            if !self.in_flight.shard(permit.slot.id).lock().contains_key(&permit.slot.id) {
                let release = permit.release(now);
                self.meters.settle(&permit.plan.tariff.plan(&release), &mut Readings::new());
            }
        }
    }
}

impl InFlight {
    /// Those whose slots are to be renewed now. They are due again after another part of their lease.
    fn take_due(&self, now: Timestamp) -> Vec<Permit> {
        let mut taken = Vec::new();
        for shard in &self.0 {
            for flight in shard.lock().values_mut().filter(|flight| flight.due <= now) {
                flight.due = due(&flight.permit, now);
                taken.push(flight.permit.clone());
            }
        }
        taken
    }
}

/// When a slot is to be renewed that was taken or renewed at `since`.
fn due(permit: &Permit, since: Timestamp) -> Timestamp {
    let lease = permit.plan.tariff.leases().min().unwrap_or(LEASE_DEFAULT);
    since.plus(Nanos(lease.0 / RENEWED_AFTER_ONE_OF))
}
