//! The idle connections to one upstream: the one used last is used next, so that the others can grow old and go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::link::Link;

/// The most idle connections that are kept for one upstream. More than that were needed only for a moment.
const IDLE_MAX: usize = 1_024;

/// How long an idle connection is kept: shorter than most servers keep their end of it.
const IDLE_AGE_MAX: Duration = Duration::from_secs(55);

/// How often idle connections are looked through when nobody uses them.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Idle connections.
#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// The oldest first.
    links: VecDeque<Box<Link>>,
    sweeper: Sweeper,
}

/// Whether someone looks through the idle connections now and then.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Sweeper {
    #[default]
    Missing,
    Running,
}

impl Pool {
    /// A connection that is open as far as this end knows, if there is one.
    pub(super) fn take(&self) -> Option<Box<Link>> {
        loop {
            let mut link = self.lock().links.pop_back()?;
            if link.still_open() {
                return Some(link);
            }
        }
    }

    /// Keeps a connection for the next request.
    pub(super) fn put(self: &Arc<Self>, mut link: Box<Link>) {
        link.idle_since = Instant::now();
        let mut idle = self.lock();
        if idle.links.len() >= IDLE_MAX {
            return;
        }
        idle.links.push_back(link);
        if idle.sweeper == Sweeper::Missing {
            idle.sweeper = Sweeper::Running;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        // Nothing panics while it is held.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets go of connections that nobody has used for long, until there are none left.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(pool) = pool.upgrade() else { return };
        let now = Instant::now();
        let mut idle = pool.lock();
        let fresh = idle.links.partition_point(|link| now.duration_since(link.idle_since) > IDLE_AGE_MAX);
        let old: Vec<Box<Link>> = idle.links.drain(..fresh).collect();
        let empty = idle.links.is_empty();
        if empty {
            idle.sweeper = Sweeper::Missing;
        }
        drop(idle);
        drop(old);
        if empty {
            return;
        }
    }
}
