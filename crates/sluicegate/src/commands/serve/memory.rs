//! Giving memory back to the system after a flood.
//!
//! The allocator keeps what was freed until the thread that has it allocates again. After a flood of connections its
//! threads are idle, and the process would stay as large as it was at the worst moment. So now and then every worker
//! gives back what it keeps, if much was given up since the last time.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use sluicegate_server::listen::open_connections;

/// How often it is looked at how many connections there are.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// When so many connections have ended since the most there were, what they had is given back.
const ENDED_MIN: u32 = 256;

/// How often it is given back after that: what one worker frees may lie in pages of another that has looked already.
const ROUNDS: u32 = 3;

/// More tasks than workers, so that each worker gets one.
const TASKS_PER_WORKER: usize = 4;

/// Counts up whenever workers are to give back what they keep.
static ROUND: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The round in which this thread last gave back what it kept.
    static DONE: Cell<u32> = const { Cell::new(0) };
}

/// For every worker, before it sleeps.
pub(super) fn before_park() {
    let round = ROUND.load(Relaxed);
    DONE.with(|done| {
        if done.replace(round) != round {
            collect();
        }
    });
}

/// Gives back what this thread keeps.
fn collect() {
    // SAFETY: it takes no pointers, and may be called by any thread at any time.
    unsafe { libmimalloc_sys::mi_collect(true) };
}

/// Watches the number of connections for as long as the process runs.
pub(super) async fn watch() {
    let mut watch = Watch::default();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let (open, peak) = open_connections();
        if watch.look(open, peak) == Look::MuchHasEnded {
            wake_all();
        }
    }
}

/// Has every worker run, so that it gives back what it keeps before it sleeps again.
fn wake_all() {
    ROUND.fetch_add(1, Relaxed);
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    for _ in 0..workers * TASKS_PER_WORKER {
        tokio::spawn(async { before_park() });
    }
}

/// How the number of connections has changed.
#[derive(Debug, Default)]
struct Watch {
    most: u32,
    /// How many there were at the last look.
    last: u32,
    rounds_left: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    Nothing,
    MuchHasEnded,
}

impl Watch {
    /// Much has ended, and no more ends: what is given back while it goes on would be given back in pieces.
    fn look(&mut self, open: u32, peak: u32) -> Look {
        self.most = self.most.max(peak);
        let settled = open >= self.last;
        self.last = open;
        if settled && self.most.saturating_sub(open) >= ENDED_MIN && open <= self.most / 2 {
            self.most = open;
            self.rounds_left = ROUNDS;
        }
        if self.rounds_left == 0 {
            return Look::Nothing;
        }
        self.rounds_left -= 1;
        Look::MuchHasEnded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_noticed_that_much_has_ended() {
        let mut watch = Watch::default();
        let looks =
            [10, 5_000, 9_000, 3_000, 100, 100, 90, 100, 300, 10, 10].map(|open| watch.look(open, open));
        let noticed: Vec<usize> =
            (0..looks.len()).filter(|place| looks[*place] == Look::MuchHasEnded).collect();
        assert_eq!(noticed, [5, 6, 7, 10]);
        // A flood between two looks is seen by its peak.
        let mut watch = Watch::default();
        assert_eq!(watch.look(3, 5_000), Look::MuchHasEnded);
    }
}
