//! The background work of a node, the same in `sluicegate serve` and in a library: clock and slots, alerts and their
//! delivery, checkpoints of meters, roll-ups, signatures, exports, the check for drift, and pruning. None of it runs on
//! the path of a request.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use sluicegate_engine::{Books, Engine, StoreMode};
use sluicegate_store::identity::StoreState;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::Instant;

use crate::webhook::Delivery;

/// How often the clock is set by the wall's, and long requests keep their slots.
const BEAT: Duration = Duration::from_secs(1);
/// How long the end waits for a file that is being read or written.
const END_MAX: Duration = Duration::from_secs(5);
/// How often it is looked for what people should hear of.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked for alerts to be delivered.
const DELIVER_EVERY: Duration = Duration::from_millis(500);
/// How often the meters are saved. A start counts again what was recorded since, at a million records a second or so:
/// ten seconds of a busy server are read in less than one.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// How often idle meters are forgotten, in saves.
const SWEEP_EVERY: u64 = 6;

/// How often it is written when keys were last used.
const WRITE_USED_EVERY: Duration = Duration::from_secs(10);

/// How often records are counted, and hours closed.
const TEND_EVERY: Duration = Duration::from_secs(2);
/// How often the records so far are signed, in rounds of the above.
const SIGN_EVERY: u64 = 30;
/// How often old records are removed, in the same rounds.
const PRUNE_EVERY: u64 = 150;
/// How often it is looked for hours to be sealed.
const SEAL_EVERY: Duration = Duration::from_secs(60);
/// How long after the start that is done for the first time: behind the first roll-up, which closes hours that are
/// over.
const SEAL_FIRST: Duration = Duration::from_secs(5);
/// How often meters are compared with the ledger, in rounds of the above.
const CHECK_EVERY: u64 = 60;
/// So many hours to be sealed are worth a line for each so many.
const SEAL_SHOWN_EVERY: u64 = 24;

/// The running threads and tasks. Several threads, because a slow disk must not delay the renewal of slots.
pub(crate) struct Upkeep {
    threads: Vec<(Sender<()>, JoinHandle<()>)>,
    runtime: BackgroundRuntime,
    engine: Arc<Engine>,
}

/// A runtime of its own for the background work: it does not end with the runtime of the application, and when it is
/// dropped everything that its tasks hold is released.
pub(crate) struct BackgroundRuntime(Option<Runtime>);

impl BackgroundRuntime {
    pub(crate) fn new() -> io::Result<Self> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("sluicegate-tasks").enable_all();
        Ok(Self(Some(builder.build()?)))
    }

    pub(crate) fn handle(&self) -> Handle {
        self.0.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        let Some(runtime) = self.0.take() else { return };
        // A runtime may not be dropped on a thread that runs tasks of another one, as this may be.
        let ending = std::thread::spawn(move || runtime.shutdown_timeout(END_MAX));
        let _ = ending.join();
    }
}

impl Upkeep {
    pub(crate) fn start(
        runtime: BackgroundRuntime,
        books: &Arc<Books>,
        delivery: Delivery,
    ) -> io::Result<Self> {
        let engine = books.engine();
        let (mut mode, mut state) = (StoreMode::Normal, StoreState::Known);
        let beat = thread("sluicegate-beat", BEAT, Arc::clone(engine), move |engine: &Engine, _| {
            engine.follow_clock();
            engine.renew(engine.now());
            engine.beat(engine.now());
            log_mode(&mut mode, engine.store_mode());
            log_store(&mut state, engine.directory().store_state());
        })?;
        let handle = runtime.handle();
        let alerts =
            thread("sluicegate-alerts", LOOK_EVERY, Arc::clone(engine), move |engine: &Engine, _| {
                handle.block_on(engine.tend_alerts(engine.now()));
                if let Err(error) = handle.block_on(engine.note_access(engine.now(), false)) {
                    tracing::warn!(
                        "refused sign-ins and give-backs could not be entered into the audit: {error}"
                    );
                }
            })?;
        let mut saving = Trouble::new("meters could not be saved, and will be counted from the spool");
        let saves =
            thread("sluicegate-upkeep", SAVE_EVERY, Arc::clone(engine), move |engine: &Engine, round| {
                saving.note(engine.save(engine.now()));
                if round % SWEEP_EVERY == 0 {
                    let swept = engine.sweep(engine.now());
                    engine.remember_time(engine.now());
                    tracing::debug!(forgotten = swept.forgotten, kept = swept.kept, "swept idle meters");
                }
            })?;
        let mut troubles = BookTroubles::new();
        let tends =
            thread("sluicegate-books", TEND_EVERY, Arc::clone(books), move |books: &Books, round| {
                troubles.keep(books, round);
            })?;
        let (journal, claims, thresholds) = (Arc::clone(engine), Arc::clone(engine), Arc::clone(engine));
        let handle = runtime.handle();
        handle.spawn(seal_and_check(Arc::clone(books)));
        handle.spawn(deliver(delivery));
        handle.spawn(async move { journal.keep_journal().await });
        handle.spawn(async move { claims.keep_claims().await });
        handle.spawn(async move { thresholds.keep_thresholds().await });
        handle.spawn(ask_store_time(Arc::clone(engine)));
        handle.spawn(crate::jwks::keep(Arc::clone(engine)));
        handle.spawn(write_used(Arc::clone(engine)));
        handle.spawn(set_right_after_steps(Arc::clone(books)));
        Ok(Self { threads: vec![beat, saves, tends, alerts], runtime, engine: Arc::clone(engine) })
    }

    /// Stops, after what is being done is done.
    pub(crate) fn stop(self) {
        for (stop, thread) in self.threads {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("an upkeep thread has panicked");
            }
        }
        let (handle, engine) = (self.runtime.handle(), self.engine);
        // On a thread of its own: this one may run tasks of another runtime.
        let written = std::thread::spawn(move || {
            handle.block_on(async { tokio::time::timeout(END_MAX, engine.directory().flush_used()).await })
        });
        if !matches!(written.join(), Ok(Ok(Ok(())))) {
            tracing::warn!("when keys were last used could not be written");
        }
        // An export or a delivery that is cut off here is tried again by the next start.
        drop(self.runtime);
    }
}

/// A thread that does something every so often, counting from 1, until the sender is dropped.
fn thread<T: Send + Sync + 'static>(
    name: &str,
    every: Duration,
    of: Arc<T>,
    mut work: impl FnMut(&T, u64) + Send + 'static,
) -> io::Result<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = channel();
    let run = move || {
        for round in 1.. {
            if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            work(&of, round);
        }
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok((stop, thread))
}

/// What is done with the books, each with its own trouble.
struct BookTroubles {
    tending: Trouble,
    signing: Trouble,
    pruning: Trouble,
}

impl BookTroubles {
    fn new() -> Self {
        Self {
            tending: Trouble::new("usage could not be counted, and is tried again"),
            signing: Trouble::new("the chain of records could not be signed, and is tried again"),
            pruning: Trouble::new("old records could not be removed, and are tried again"),
        }
    }

    fn keep(&mut self, books: &Books, round: u64) {
        let now = books.engine().now();
        self.tending.note(books.tend(now));
        if round % SIGN_EVERY == 1 {
            self.signing.note(books.sign(now));
        }
        if round.is_multiple_of(PRUNE_EVERY)
            && let Some(pruned) = self.pruning.note(books.prune(now))
            && pruned.segments > 0
        {
            tracing::info!(segments = pruned.segments, hours = pruned.shed.hours, "removed old records");
        }
    }
}

/// Says when the store goes away, and when it is back.
fn log_mode(known: &mut StoreMode, now: StoreMode) {
    if std::mem::replace(known, now) == now {
        return;
    }
    match now {
        StoreMode::Degraded => {
            tracing::warn!(mode = now.as_str(), "the store is away: this node decides alone");
        }
        StoreMode::Normal => tracing::info!(mode = now.as_str(), "the store is back, and decides again"),
    }
}

/// Asks the shared store for its time, for as long as it is polled.
async fn ask_store_time(engine: Arc<Engine>) {
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while engine.is_shared() {
        ticks.tick().await;
        engine.ask_store_time().await;
    }
}

/// Writes when keys were last used, for as long as it is polled.
async fn write_used(engine: Arc<Engine>) {
    let mut writing = Trouble::new("when keys were last used could not be written, and is tried again");
    let mut ticks = tokio::time::interval(WRITE_USED_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        writing.note(engine.directory().flush_used().await);
    }
}

/// Counts again what steps of clocks have put in doubt, for as long as it is polled.
async fn set_right_after_steps(books: Arc<Books>) {
    let mut counting = Trouble::new("meters could not be counted again after a step of a clock");
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        counting.note(books.set_right_after_steps().await);
    }
}

fn log_store(known: &mut StoreState, now: StoreState) {
    if std::mem::replace(known, now) == now {
        return;
    }
    match now {
        StoreState::Known => {
            tracing::info!(store = now.as_str(), "the store is the one that this node knows");
        }
        StoreState::Emptied | StoreState::Other => tracing::error!(store = now.as_str(), "{now}"),
    }
}

/// Delivers alerts, for as long as it is polled.
async fn deliver(delivery: Delivery) {
    let mut ticks = tokio::time::interval(DELIVER_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        delivery.tend().await;
    }
}

/// Seals closed hours, and compares meters with the ledger, for as long as it is polled.
async fn seal_and_check(books: Arc<Books>) {
    let mut sealing = Trouble::new("closed hours could not be exported, and are tried again");
    let mut checking = Trouble::new("meters could not be compared with the ledger");
    let mut ticks = tokio::time::interval_at(Instant::now() + SEAL_FIRST, SEAL_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0_u64.. {
        ticks.tick().await;
        let sealed = books.seal(books.engine().now(), |progress| {
            if progress.sealed.hours.is_multiple_of(SEAL_SHOWN_EVERY) {
                tracing::info!(hour = %progress.hour, until = %progress.until, "exporting closed hours");
            }
        });
        if let Some(sealed) = sealing.note(sealed.await)
            && sealed.hours > 0
        {
            tracing::info!(hours = sealed.hours, rows = sealed.rows, "exported closed hours");
        }
        if round % CHECK_EVERY == 1
            && let Some(check) = checking.note(books.check().await)
            && check.drifting > 0
        {
            tracing::warn!(
                quotas = check.drifting,
                units = check.units,
                "meters differ from the ledger: see `sluicegate usage reconcile`"
            );
        }
    }
}

/// Something that may fail: logged when that begins and when it ends, and not each time.
struct Trouble {
    what: &'static str,
    failing: bool,
}

impl Trouble {
    const fn new(what: &'static str) -> Self {
        Self { what, failing: false }
    }

    fn note<T, E: std::fmt::Display>(&mut self, done: Result<T, E>) -> Option<T> {
        let was_failing = std::mem::replace(&mut self.failing, done.is_err());
        match done {
            Ok(done) => {
                if was_failing {
                    tracing::info!("over: {}", self.what);
                }
                Some(done)
            }
            Err(error) => {
                if !was_failing {
                    tracing::warn!("{}: {error}", self.what);
                }
                None
            }
        }
    }
}
