//! Log lines about failures that callers can cause: one a second of each kind, with the number of those left out.
//!
//! A line for each failed request would let a caller fill the disk, and slow the process down while it does.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::time::Instant;

/// How long it takes until the next line of a kind is written.
const INTERVAL_MS: u64 = 1_000;

/// Lets one line a second pass. One for each kind of line, as a `static`.
#[derive(Debug)]
pub struct LogGate {
    /// When the next line may be written, in milliseconds since the first of all.
    next_ms: AtomicU64,
    left_out: AtomicU64,
}

impl LogGate {
    /// A kind of which no line was written yet.
    #[expect(clippy::new_without_default, reason = "it is made in a `static`")]
    pub const fn new() -> Self {
        Self { next_ms: AtomicU64::new(0), left_out: AtomicU64::new(0) }
    }

    /// Writes a line unless one was written within the last second. It is told how many were left out since then.
    pub fn log(&self, write: impl FnOnce(u64)) {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let now = u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.log_at(now, write);
    }

    fn log_at(&self, now_ms: u64, write: impl FnOnce(u64)) {
        let next = self.next_ms.load(Relaxed);
        let after = now_ms.saturating_add(INTERVAL_MS);
        if now_ms < next || self.next_ms.compare_exchange(next, after, Relaxed, Relaxed).is_err() {
            self.left_out.fetch_add(1, Relaxed);
        } else {
            write(self.left_out.swap(0, Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_says_how_many_were_left_out() {
        let gate = LogGate::new();
        let mut lines = Vec::new();
        for now in [0, 1, 999, 1_000, 1_500, 5_000] {
            gate.log_at(now, |left_out| lines.push((now, left_out)));
        }
        assert_eq!(lines, [(0, 0), (1_000, 2), (5_000, 1)]);
    }
}
