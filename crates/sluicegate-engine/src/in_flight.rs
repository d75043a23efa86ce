//! Requests in flight whose slots have to be renewed: a slot frees itself after its lease, a long answer takes longer.

use std::collections::HashMap;
use std::hash::RandomState;

use parking_lot::Mutex;
use sluicegate_core::limit::Axis;
use sluicegate_core::plan::Mode;
use sluicegate_core::rule::concurrency::SlotId;
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

/// Requests in flight that hold a slot.
#[derive(Debug)]
pub(crate) struct InFlight(Box<[Mutex<HashMap<SlotId, Permit, RandomState>>]>);

impl Default for InFlight {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl InFlight {
    fn shard(&self, slot: SlotId) -> &Mutex<HashMap<SlotId, Permit, RandomState>> {
        &self.0[usize::try_from(slot.0 % SHARDS as u64).unwrap_or(0)]
    }
}

impl Engine {
    /// Notes that a request is in flight for as long as it takes. Only requests that hold a slot are.
    pub fn enter(&self, permit: &Permit) {
        if permit.plan.tariff.has(Axis::Concurrency) {
            self.in_flight.shard(permit.slot).lock().insert(permit.slot, permit.clone());
        }
    }

    /// Notes that it has ended.
    pub fn leave(&self, permit: &Permit) {
        if permit.plan.tariff.has(Axis::Concurrency) {
            self.in_flight.shard(permit.slot).lock().remove(&permit.slot);
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

    /// Renews the slots of requests that take long. Called every few seconds, far more often than a lease is long.
    pub fn renew(&self, now: Timestamp) -> usize {
        let mut renewed = 0;
        for shard in &self.in_flight.0 {
            let long: Vec<Permit> = {
                let shard = shard.lock();
                shard.values().filter(|permit| is_long(permit, now)).cloned().collect()
            };
            for permit in long {
                if let (Some(shared), Kept::Store) = (&self.shared, permit.kept) {
                    // One that has ended meanwhile frees itself with the lease.
                    shared.renew(&permit, now);
                    renewed += 1;
                    continue;
                }
                let request = permit.request(Mode::Force, Charges::Slots, Amount::ONE, now);
                self.meters.settle(&permit.plan.tariff.plan(&request), &mut Readings::new());
                // It may have ended meanwhile, and then nobody would release what was just renewed.
                if !shard.lock().contains_key(&permit.slot) {
                    let release = permit.release(now);
                    self.meters.settle(&permit.plan.tariff.plan(&release), &mut Readings::new());
                }
                renewed += 1;
            }
        }
        renewed
    }
}

fn is_long(permit: &Permit, now: Timestamp) -> bool {
    let lease = permit.plan.tariff.leases().min().unwrap_or(LEASE_DEFAULT);
    now.since(permit.charged_at) >= Nanos(lease.0 / RENEWED_AFTER_ONE_OF)
}
