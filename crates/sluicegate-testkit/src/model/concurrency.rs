//! Concurrency: slots held under ids until released or past their deadline.

use super::meter::{Algorithm, At, END_OF_TIME, Nanos, saturated};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Concurrency {
    pub(super) limit: u64,
    pub(super) lease: Nanos,
    /// Each id held, once, and its deadline.
    pub(super) slots: Vec<(u64, Nanos)>,
}

impl Concurrency {
    pub(super) fn untouched(limit: u64, lease: Nanos) -> Concurrency {
        Concurrency { limit, lease, slots: Vec::new() }
    }

    /// The deadlines of the slots that count.
    fn counting(&self, now: Nanos) -> impl Iterator<Item = Nanos> {
        let deadlines = self.slots.iter().map(|(_, deadline)| *deadline);
        deadlines.filter(move |deadline| now < *deadline)
    }
}

impl Algorithm for Concurrency {
    fn capacity(&self) -> u64 {
        self.limit
    }

    fn used(&self, at: &At) -> u64 {
        saturated(self.counting(at.now).count() as u128)
    }

    /// Until so many deadlines have passed that fewer than `limit` slots count.
    fn wait(&self, _cost: u64, at: &At) -> Nanos {
        let mut earliest_first: Vec<Nanos> = self.counting(at.now).collect();
        earliest_first.sort_unstable();
        let mut counting = self.used(at);
        for deadline in earliest_first {
            counting -= 1;
            if counting < self.limit {
                return deadline - at.now;
            }
        }
        0
    }

    fn next(&self, at: &At) -> Nanos {
        self.counting(at.now).min().map_or(0, |earliest| earliest - at.now)
    }

    fn reset(&self, at: &At) -> Nanos {
        self.counting(at.now).max().map_or(0, |latest| latest - at.now)
    }

    fn holds(&self, at: &At) -> bool {
        self.slots.iter().any(|(id, deadline)| *id == at.slot && at.now < *deadline)
    }

    fn charge(&mut self, _cost: u64, at: &At) {
        self.slots.retain(|(id, deadline)| *id != at.slot && at.now < *deadline);
        self.slots.push((at.slot, (at.now + self.lease).min(END_OF_TIME)));
    }

    fn refund(&mut self, _cost: u64, _reserved: u64, _charged_at: Nanos, at: &At) {
        self.slots.retain(|(id, _)| *id != at.slot);
    }
}
