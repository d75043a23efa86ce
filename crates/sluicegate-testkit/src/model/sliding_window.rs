//! The sliding window of two counts. Waits are searched for, not calculated.

use super::meter::{Algorithm, At, MOST, Nanos, saturated};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlidingWindow {
    pub(super) limit: u64,
    pub(super) window: Nanos,
    pub(super) held: Option<Counts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    start: Nanos,
    current: u64,
    previous: u64,
}

impl SlidingWindow {
    pub(super) fn untouched(limit: u64, window: Nanos) -> SlidingWindow {
        SlidingWindow { limit, window, held: None }
    }

    fn start_of(&self, instant: Nanos) -> Nanos {
        instant - instant % self.window
    }

    fn seen(&self, now: Nanos) -> Counts {
        let start = self.start_of(now);
        match self.held {
            Some(held) if start <= held.start => held,
            Some(held) if start == held.start + self.window => {
                Counts { start, current: 0, previous: held.current }
            }
            _ => Counts { start, current: 0, previous: 0 },
        }
    }

    fn estimate(&self, now: Nanos) -> u64 {
        let counts = self.seen(now);
        let e = now.saturating_sub(counts.start);
        let weighted = u128::from(counts.previous) * (self.window - e) / self.window;
        saturated(u128::from(counts.current) + weighted)
    }

    /// How long until `holds`, which is false before some instant and true from then on.
    fn until(&self, now: Nanos, holds: impl Fn(Nanos) -> bool) -> Nanos {
        // Two windows after its start a meter says nothing, so whatever is waited for has come.
        let mut earliest = now;
        let mut latest = self.seen(now).start + 2 * self.window;
        while earliest < latest {
            let middle = earliest + (latest - earliest) / 2;
            if holds(middle) {
                latest = middle;
            } else {
                earliest = middle + 1;
            }
        }
        earliest - now
    }
}

// Without calls the estimate never rises: it falls within a window, and where one window ends with `current` the next
// begins with it. So the first instant at which it is low enough is also the instant from which it stays so.
impl Algorithm for SlidingWindow {
    fn capacity(&self) -> u64 {
        self.limit
    }

    fn used(&self, at: &At) -> u64 {
        self.estimate(at.now)
    }

    fn wait(&self, cost: u64, at: &At) -> Nanos {
        let fits = |t| u128::from(self.estimate(t)) + u128::from(cost) <= u128::from(self.limit);
        self.until(at.now, fits)
    }

    fn next(&self, at: &At) -> Nanos {
        match self.estimate(at.now) {
            0 => self.seen(at.now).start + self.window - at.now,
            present => self.until(at.now, |t| self.estimate(t) < present),
        }
    }

    fn reset(&self, at: &At) -> Nanos {
        self.until(at.now, |t| self.estimate(t) == 0)
    }

    fn charge(&mut self, cost: u64, at: &At) {
        let mut counts = self.seen(at.now);
        counts.current = counts.current.saturating_add(cost).min(MOST);
        self.held = Some(counts);
    }

    fn refund(&mut self, cost: u64, _reserved: u64, charged_at: Nanos, at: &At) {
        let mut counts = self.seen(at.now);
        let count = if charged_at >= counts.start {
            &mut counts.current
        } else if charged_at + self.window >= counts.start {
            &mut counts.previous
        } else {
            return;
        };
        // With nothing to give back the meter does not even move on to the window of `now`.
        if *count > 0 {
            *count = count.saturating_sub(cost);
            self.held = Some(counts);
        }
    }
}
