//! Signals: SIGTERM and SIGINT end the server, SIGHUP has it read its policy again.

use std::sync::mpsc::Sender;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use sluicegate_node::watch::Nudge;

/// The signals that a server listens for, from when this was made.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Listens from now on.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Returns when the server is told to end.
    pub(super) async fn until_the_end(mut self, nudges: &Sender<Nudge>) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                // The thread that reloads lives as long as the server.
                _ = self.hang_up.recv() => drop(nudges.send(Nudge::Asked)),
            }
        }
    }
}
