//! What has to be done now and then, on threads of its own: nothing of it is on the way of a request.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use tollgate_engine::Engine;

/// How often the clock is set by the wall's, and long requests keep their slots.
const BEAT: Duration = Duration::from_secs(1);
/// How often the meters are saved. A start counts again what was recorded since, at a million records a second or so:
/// ten seconds of a busy server are read in less than one.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// How often idle meters are forgotten, in saves.
const SWEEP_EVERY: u64 = 6;

/// The threads that keep an engine in order until they are stopped. Two of them: a slow disk must not cost slots.
pub(super) struct Upkeep {
    threads: Vec<(Sender<()>, JoinHandle<()>)>,
}

impl Upkeep {
    pub(super) fn start(engine: &Arc<Engine>) -> anyhow::Result<Self> {
        let beat = thread("tollgate-beat", BEAT, Arc::clone(engine), |engine, _| {
            engine.clock().follow();
            engine.renew(engine.now());
        })?;
        let mut failing = false;
        let saves = thread("tollgate-upkeep", SAVE_EVERY, Arc::clone(engine), move |engine, round| {
            failing = save(engine, failing);
            if round % SWEEP_EVERY == 0 {
                let swept = engine.sweep(engine.now());
                tracing::debug!(forgotten = swept.forgotten, kept = swept.kept, "swept idle meters");
            }
        })?;
        Ok(Self { threads: vec![beat, saves] })
    }

    /// Stops, after what is being done is done.
    pub(super) fn stop(self) {
        for (stop, thread) in self.threads {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("an upkeep thread has panicked");
            }
        }
    }
}

/// A thread that does something every so often, counting from 1, until the sender is dropped.
fn thread(
    name: &str,
    every: Duration,
    engine: Arc<Engine>,
    mut work: impl FnMut(&Engine, u64) + Send + 'static,
) -> anyhow::Result<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let run = move || {
        for round in 1.. {
            if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            work(&engine, round);
        }
    };
    let thread =
        std::thread::Builder::new().name(name.to_owned()).spawn(run).context("cannot start a thread")?;
    Ok((stop, thread))
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
