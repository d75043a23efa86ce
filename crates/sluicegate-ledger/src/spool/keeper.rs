//! The background thread: makes the next segment in time, and flushes every few milliseconds or when somebody waits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::warmth::Warmth;
use super::works::Works;

/// How long to wait after a failure before the same is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The background thread. Dropping it stops it.
pub(crate) struct Keeper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start(works: Arc<Works>, flush_every: Duration) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("sluicegate-spool".to_owned()).spawn(move || {
            let (mut making, mut flushing) = (Pace::default(), Pace::default());
            let mut warmth = Warmth::default();
            while !stopped.load(Ordering::Acquire) {
                thread::park_timeout(flush_every);
                making.attempt(|| works.prepare());
                flushing.attempt(|| works.flush_complete().map(drop));
                warmth.spread(&works);
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Has it look at once. Waking it while it works has it look again, so all who ask meanwhile are served together.
    pub(crate) fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
        // It cannot have panicked in a way that matters now.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// When to try something again that has failed.
#[derive(Default)]
struct Pace {
    not_before: Option<Instant>,
}

impl Pace {
    #[expect(
        clippy::disallowed_methods,
        reason = "no decision depends on when a failed write is tried again"
    )]
    fn attempt(&mut self, attempt: impl FnOnce() -> io::Result<()>) {
        if self.not_before.is_some_and(|instant| Instant::now() < instant) {
            return;
        }
        self.not_before = attempt().err().map(|_| Instant::now() + RETRY_AFTER);
    }
}
