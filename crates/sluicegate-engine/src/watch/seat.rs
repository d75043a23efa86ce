//! Where a client's meters are: in a home of its own, or, beyond the number of those, in one that it shares.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sluicegate_core::tariff::Plan;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::meters::MeterTable;

use crate::abuse::{Crowd, Seat};
use crate::identify::Client;

/// The homes are counted once in so many clients: that takes as long as deciding on one.
const COUNT_EVERY: u64 = 64;

/// Who gets a home of its own.
#[derive(Debug)]
pub(super) struct Seats {
    crowd: Crowd,
    clients_max: usize,
    seen: AtomicU64,
    is_full: AtomicBool,
}

impl Seats {
    /// `random` is something that no other process has.
    pub(super) fn new(homes: HomeHasher, random: u64, clients_max: usize) -> Self {
        Self {
            crowd: Crowd::new(homes, random, Crowd::SEATS_LOG2_DEFAULT),
            clients_max,
            seen: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
        }
    }

    /// The home that a client of this plan shares with others. Nothing: it has one of its own.
    pub(super) fn shared(
        &self,
        client: &Client,
        plan: &Plan,
        meters: &MeterTable,
        now: Timestamp,
    ) -> Option<Seat> {
        if self.seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(COUNT_EVERY) {
            self.is_full.store(meters.homes() >= self.clients_max, Ordering::Relaxed);
        }
        // Whoever has a home keeps it: only newcomers find the house full.
        if !self.is_full.load(Ordering::Relaxed) || meters.has(client.home) {
            return None;
        }
        let counts_for = plan.tariff.limits().map(|limit| limit.rule.counts_for());
        let memory = counts_for.max().unwrap_or(Nanos::ZERO);
        Some(self.crowd.seat(client.home, client.address.unwrap_or(0), memory, now))
    }

    /// How many homes there may be before newcomers share.
    pub(super) const fn clients_max(&self) -> usize {
        self.clients_max
    }

    /// The seat as it is by now, if others have come since.
    pub(super) fn grown(&self, seat: &Seat) -> Option<Seat> {
        self.crowd.grown(seat)
    }
}
