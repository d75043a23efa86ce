//! The breaker: a store that keeps failing is not asked any more, except by one prober, until it answers again.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::owed::StoreMode;
use super::pause::about;
use super::settings::BreakerSettings;

/// What came back from the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard {
    /// Something that makes sense.
    Answer,
    /// Nothing in time, or a complaint of the server.
    Failure,
    /// It was not asked.
    Nothing,
}

/// What that did to the breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Tripped {
    /// It is as it was.
    No,
    /// It has just opened: a prober must be started.
    Opened,
}

/// What was heard lately.
#[derive(Default)]
struct Tally {
    failures_in_a_row: u32,
    /// When the calls below began to be counted.
    since: Option<Instant>,
    calls: u32,
    failures: u32,
}

pub(super) struct Breaker {
    settings: BreakerSettings,
    tally: Mutex<Tally>,
    mode: watch::Sender<StoreMode>,
}

impl Breaker {
    pub(super) fn new(settings: BreakerSettings) -> Self {
        Self { settings, tally: Mutex::default(), mode: watch::Sender::new(StoreMode::Normal) }
    }

    pub(super) fn mode(&self) -> StoreMode {
        *self.mode.borrow()
    }

    /// Waits until calls are made.
    pub(super) async fn closed(&self) {
        // The sender is ours.
        let _ = self.mode.subscribe().wait_for(|mode| *mode == StoreMode::Normal).await;
    }

    pub(super) fn note(&self, heard: Heard, now: Instant) -> Tripped {
        let mut tally = self.tally.lock();
        // While it is open, only the prober closes it: answers to what was asked before say nothing new.
        if heard == Heard::Nothing || self.mode() == StoreMode::Degraded {
            return Tripped::No;
        }
        if tally.since.is_none_or(|since| now.duration_since(since) >= self.settings.window) {
            *tally =
                Tally { failures_in_a_row: tally.failures_in_a_row, since: Some(now), ..Tally::default() };
        }
        tally.calls += 1;
        if heard == Heard::Answer {
            tally.failures_in_a_row = 0;
            return Tripped::No;
        }
        tally.failures_in_a_row += 1;
        tally.failures += 1;
        let half = tally.calls >= self.settings.calls_min && tally.failures >= tally.calls.div_ceil(2);
        if tally.failures_in_a_row < self.settings.failures_in_a_row && !half {
            return Tripped::No;
        }
        *tally = Tally::default();
        self.mode.send_replace(StoreMode::Degraded);
        Tripped::Opened
    }

    fn close(&self) {
        self.mode.send_replace(StoreMode::Normal);
    }
}

/// Asks every now and then whether the store answers, closes the breaker when it does, and ends. It ends as well when
/// nobody wants to know any more.
pub(super) async fn probe(breaker: Arc<Breaker>, mut ask: impl AsyncFnMut() -> Option<Heard>) {
    let mut answers_in_a_row = 0;
    while answers_in_a_row < breaker.settings.probes_to_close {
        sleep(about(breaker.settings.probe_every)).await;
        answers_in_a_row = match ask().await {
            Some(Heard::Answer) => answers_in_a_row + 1,
            Some(Heard::Failure | Heard::Nothing) => 0,
            None => return,
        };
    }
    breaker.close();
}

#[cfg(test)]
mod tests;
