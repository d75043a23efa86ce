//! The end of a listener: first no new requests, then, if that takes too long, no connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::watch;

/// Tells every listener it was given to when to end.
#[derive(Clone, Debug)]
pub struct Shutdown(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    changes: watch::Sender<Phase>,
    /// The same once more, for connections that look with every step they make.
    glance: AtomicU8,
}

/// How far the end has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum Phase {
    /// Everyone is served.
    Serving,
    /// Requests in flight are finished; there are no new ones.
    Draining,
    /// Everything ends now.
    Cut,
}

impl Default for Shutdown {
    fn default() -> Self {
        let (changes, _) = watch::channel(Phase::Serving);
        Self(Arc::new(Inner { changes, glance: AtomicU8::new(Phase::Serving as u8) }))
    }
}

impl Shutdown {
    /// Serves until told otherwise.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts no more connections and finishes the requests in flight.
    pub fn begin(&self) {
        self.enter(Phase::Draining);
    }

    /// Ends what is still open.
    pub fn cut(&self) {
        self.enter(Phase::Cut);
    }

    /// Over once the end has begun.
    pub async fn begun(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Over once connections are cut.
    pub async fn cut_off(&self) {
        self.reached(Phase::Cut).await;
    }

    fn enter(&self, phase: Phase) {
        self.0.changes.send_if_modified(|current| {
            let further = phase > *current;
            if further {
                *current = phase;
                self.0.glance.store(phase as u8, Ordering::Release);
            }
            further
        });
    }

    /// Over once this phase is reached.
    pub async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`: this ends when the phase is reached, and not before.
        let _ = self.0.changes.subscribe().wait_for(|current| *current >= phase).await;
    }

    /// How far it has come.
    pub fn phase(&self) -> Phase {
        match self.0.glance.load(Ordering::Acquire) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Cut,
        }
    }
}
