//! Counters that many threads add to: several of each, so that threads seldom meet.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::outcome::{Outcome, Outcomes};
use crate::request::Front;

/// How many of each counter there are. Threads beyond that share.
const STRIPES: usize = 8;

/// Outcomes of one front end take up this much room.
const ROW: usize = Outcome::COUNT.next_power_of_two();

const FRONTS: usize = Front::ALL.len() * ROW;

/// Counters by number, and those of front ends.
#[derive(Debug)]
pub(crate) struct Stripes(Box<[Stripe]>);

/// The counters that some of the threads add to. The front ends' come first, then the numbered ones.
#[derive(Debug)]
pub(crate) struct Stripe(Box<[AtomicU64]>);

thread_local! {
    /// Which stripe is this thread's: none yet.
    static OURS: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Threads are given stripes in turn.
static THREADS: AtomicUsize = AtomicUsize::new(0);

#[cold]
fn assign() -> usize {
    let stripe = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
    OURS.set(stripe);
    stripe
}

impl Stripes {
    /// With so many numbered counters.
    pub(crate) fn new(series: usize) -> Self {
        let stripe = || Stripe((0..FRONTS + series).map(|_| AtomicU64::new(0)).collect());
        Self((0..STRIPES).map(|_| stripe()).collect())
    }

    /// The counters of this thread.
    #[inline]
    pub(crate) fn ours(&self) -> &Stripe {
        let mut stripe = OURS.get();
        if stripe >= STRIPES {
            stripe = assign();
        }
        &self.0[stripe]
    }

    /// What the counter of this number says.
    pub(crate) fn get(&self, series: u16) -> u64 {
        self.0.iter().map(|stripe| stripe.0[FRONTS + usize::from(series)].load(Ordering::Relaxed)).sum()
    }

    /// What has become of the requests of a front end.
    pub(crate) fn of(&self, front: Front) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for stripe in &self.0 {
            for index in 0..Outcome::COUNT {
                outcomes.add(index, stripe.0[front as usize * ROW + index].load(Ordering::Relaxed));
            }
        }
        outcomes
    }

    /// What has become of all requests.
    pub(crate) fn all(&self) -> Outcomes {
        Front::ALL.iter().fold(Outcomes::default(), |all, front| all.plus(&self.of(*front)))
    }
}

impl Stripe {
    /// Counts a request of a front end.
    #[inline]
    pub(crate) fn count_front(&self, front: Front, outcome: usize) {
        self.0[front as usize * ROW + outcome].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one with this number.
    #[inline]
    pub(crate) fn count(&self, series: u16) {
        self.0[FRONTS + usize::from(series)].fetch_add(1, Ordering::Relaxed);
    }
}
