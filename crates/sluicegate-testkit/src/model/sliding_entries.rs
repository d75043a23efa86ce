//! Sliding buckets and the sliding log: a list of what was admitted, oldest first, each entry forgotten by itself.
//!
//! An entry covers the time from its `start` to `start + bucket`; in a log, `bucket` is 0 and an entry is an instant.

use super::meter::{Algorithm, At, MOST, Nanos, saturated};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlidingEntries {
    pub(super) limit: u64,
    pub(super) window: Nanos,
    pub(super) bucket: Nanos,
    /// Sorted by `start`; none is empty.
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    start: Nanos,
    amount: u64,
}

impl SlidingEntries {
    pub(super) fn untouched(limit: u64, window: Nanos, bucket: Nanos) -> SlidingEntries {
        SlidingEntries { limit, window, bucket, entries: Vec::new() }
    }

    fn start_of(&self, instant: Nanos) -> Nanos {
        if self.bucket == 0 { instant } else { instant - instant % self.bucket }
    }

    /// The instant from which an entry no longer counts.
    fn forgotten(&self, entry: &Entry) -> Nanos {
        entry.start + self.bucket + self.window
    }

    fn counting(&self, now: Nanos) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| now < self.forgotten(entry))
    }

    fn sum(&self, now: Nanos) -> u128 {
        self.counting(now).map(|entry| u128::from(entry.amount)).sum()
    }
}

impl Algorithm for SlidingEntries {
    fn capacity(&self) -> u64 {
        self.limit
    }

    fn used(&self, at: &At) -> u64 {
        saturated(self.sum(at.now))
    }

    fn wait(&self, cost: u64, at: &At) -> Nanos {
        let mut left = self.sum(at.now);
        for entry in self.counting(at.now) {
            left -= u128::from(entry.amount);
            if left + u128::from(cost) <= u128::from(self.limit) {
                return self.forgotten(entry) - at.now;
            }
        }
        0
    }

    fn next(&self, at: &At) -> Nanos {
        self.counting(at.now).next().map_or(self.window, |oldest| self.forgotten(oldest) - at.now)
    }

    fn reset(&self, at: &At) -> Nanos {
        self.counting(at.now).next_back().map_or(0, |newest| self.forgotten(newest) - at.now)
    }

    fn charge(&mut self, cost: u64, at: &At) {
        self.entries = self.counting(at.now).copied().collect();
        let start = self.start_of(at.now);
        let amount = cost.min(MOST - self.used(at));
        match self.entries.last_mut() {
            Some(newest) if start <= newest.start => newest.amount += amount,
            _ => self.entries.push(Entry { start, amount }),
        }
        self.entries.retain(|entry| entry.amount > 0);
    }

    fn refund(&mut self, cost: u64, _reserved: u64, charged_at: Nanos, at: &At) {
        let charged = Entry { start: self.start_of(charged_at), amount: cost };
        if at.now >= self.forgotten(&charged) {
            return;
        }
        let mut left = cost;
        for entry in self.entries.iter_mut().filter(|entry| entry.start >= charged.start) {
            let taken = left.min(entry.amount);
            (left, entry.amount) = (left - taken, entry.amount - taken);
        }
        self.entries.retain(|entry| entry.amount > 0);
    }
}
