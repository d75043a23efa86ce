//! How many requests may be in flight to a server that refuses without limit headers.
//!
//! Additive increase, multiplicative decrease, as TCP does: `Retry-After` alone does not tell how many requests fit.

/// The most requests in flight. Without a refusal there is no limit.
#[derive(Debug)]
pub(super) struct Parallel {
    pub(super) max: u64,
    /// Successes since the limit last changed.
    successes: u64,
}

/// Above this the limit is lifted.
const MAX: u64 = 256;

impl Parallel {
    pub(super) fn new() -> Self {
        Self { max: u64::MAX, successes: 0 }
    }

    /// Halves the limit after a refusal with so many requests in flight.
    pub(super) fn shrink(&mut self, in_flight: u64) {
        self.max = (self.max.min(in_flight) / 2).max(1);
        self.successes = 0;
    }

    /// Allows one more after as many successes as there may be requests in flight.
    pub(super) fn grow(&mut self) {
        if self.max == u64::MAX {
            return;
        }
        self.successes += 1;
        if self.successes >= self.max {
            self.max = if self.max < MAX { self.max + 1 } else { u64::MAX };
            self.successes = 0;
        }
    }
}
