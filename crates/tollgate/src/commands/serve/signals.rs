//! Signals: SIGTERM and SIGINT end the server, SIGHUP has it read its policy again.

use std::sync::mpsc::Sender;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use super::watch::Nudge;

/// Returns when the server is told to end.
pub(super) async fn until_the_end(nudges: &Sender<Nudge>) -> anyhow::Result<()> {
    let listen = |kind| signal(kind).context("cannot listen for signals");
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            // The thread that reloads lives as long as the server.
            _ = hang_up.recv() => drop(nudges.send(Nudge::Asked)),
        }
    }
}
