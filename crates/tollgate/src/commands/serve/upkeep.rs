//! What has to be done now and then, on a thread of its own: nothing of it is on the way of a request.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use tollgate_engine::Engine;

/// How often the clock is set by the wall's, and long requests keep their slots.
const BEAT: Duration = Duration::from_secs(1);
/// How often slots of long requests are renewed, in beats.
const RENEW_EVERY: u64 = 5;
/// How often the meters are saved, in beats. A start counts again what was recorded since, at a million records a
/// second or so: ten seconds of a busy server are read in less than one.
const SAVE_EVERY: u64 = 10;
/// How often idle meters are forgotten, in beats.
const SWEEP_EVERY: u64 = 60;

/// The thread that keeps an engine in order until it is stopped.
pub(super) struct Upkeep {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Upkeep {
    pub(super) fn start(engine: Arc<Engine>) -> anyhow::Result<Self> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("tollgate-upkeep".to_owned())
            .spawn(move || run(&engine, &stopped))
            .context("cannot start a thread")?;
        Ok(Self { stop, thread })
    }

    /// Stops, after what is being done is done.
    pub(super) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the upkeep thread has panicked");
        }
    }
}

fn run(engine: &Engine, stopped: &Receiver<()>) {
    let mut failing = false;
    for beat in 1.. {
        if stopped.recv_timeout(BEAT) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        engine.clock().follow();
        let now = engine.now();
        if beat % RENEW_EVERY == 0 {
            engine.renew(now);
        }
        if beat % SAVE_EVERY == 0 {
            failing = save(engine, failing);
        }
        if beat % SWEEP_EVERY == 0 {
            let swept = engine.sweep(now);
            tracing::debug!(forgotten = swept.forgotten, kept = swept.kept, "swept idle meters");
        }
    }
}

/// Saves the meters. A failure is logged when it begins and when it ends; says whether it goes on.
fn save(engine: &Engine, was_failing: bool) -> bool {
    match engine.save(engine.now()) {
        Ok(_) => {
            if was_failing {
                tracing::info!("meters are saved again");
            }
            false
        }
        Err(error) => {
            if !was_failing {
                tracing::warn!("meters could not be saved, and will be counted from the spool: {error}");
            }
            true
        }
    }
}
