//! Load shedding: while the upstream cannot keep up, the lowest priorities are refused first.
//!
//! Everything here is a function of what was entered and left, and when: `now` is an argument. How many requests may be
//! in flight is learnt from how long they take (`limit.rs`); who gets the places is decided by priority (`share.rs`),
//! and between the accounts of one priority by what they had of late (`fair.rs`). `docs/decisions/012-shedding.md` says
//! why it is built this way.

mod cohort;
mod fair;
mod limit;
mod loads;
mod share;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::policy::Shedding;
use sluicegate_core::time::{Nanos, Timestamp};

use cohort::Enrolled;
use limit::Limit;
use share::{Share, Shares};

pub use loads::Loads;

/// What one upstream bears at the moment, and who may add to it.
pub struct Load(Mutex<State>);

struct State {
    limit: Limit,
    shares: Shares,
    /// The settings of the last request: what those before it left behind is judged by them.
    shedding: Shedding,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Entered {
    /// It has a place.
    In(Ticket),
    /// There is no place for it.
    Shed {
        /// After how long it is worth another try.
        retry_after: Nanos,
    },
}

/// A place at the upstream. It is given back when this is dropped.
pub struct Ticket {
    load: Arc<Load>,
    share: Share,
    enrolled: Option<Enrolled>,
}

/// How a request ended that had a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// The upstream answered.
    Answered {
        /// From the moment it was called until the head of its answer.
        took: Nanos,
    },
    /// It failed, or nobody waited any longer. Only one that took long says something about the upstream.
    Cut {
        /// From the moment it was called until the end.
        took: Nanos,
    },
    /// The upstream was never called.
    Unused,
}

/// What one upstream bears, in numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadNow {
    /// How many requests may be in flight.
    pub limit: u64,
    /// How many are.
    pub in_flight: u64,
    /// What a request takes without a queue; nothing before that is known.
    pub unloaded: Nanos,
    /// Requests that had no place, for each priority.
    pub shed: BTreeMap<u32, u64>,
}

impl Load {
    /// The load of an upstream of which nothing is known.
    pub fn new(now: Timestamp) -> Self {
        let (limit, shares) = (Limit::new(now), Shares::new(now));
        Self(Mutex::new(State { limit, shares, shedding: Shedding::default() }))
    }

    /// Gives a request of this priority and account a place, or none.
    pub fn enter(
        self: &Arc<Self>,
        shedding: &Shedding,
        priority: u32,
        account: u64,
        now: Timestamp,
    ) -> Entered {
        let mut state = self.0.lock();
        let State { limit, shares, .. } = &mut *state;
        let room = limit.room(shedding);
        match shares.enter(&room, shedding, priority, account, now) {
            Ok(share) => {
                let enrolled = limit.entered(shares.in_flight(), now, shedding);
                state.shedding = *shedding;
                drop(state);
                Entered::In(Ticket { load: Arc::clone(self), share, enrolled })
            }
            Err(retry_after) => {
                limit.refused(now, shedding);
                state.shedding = *shedding;
                Entered::Shed { retry_after }
            }
        }
    }

    /// What it bears, in numbers.
    pub fn look(&self) -> LoadNow {
        let state = self.0.lock();
        LoadNow {
            limit: state.limit.room(&state.shedding).places,
            in_flight: state.shares.in_flight(),
            unloaded: state.limit.unloaded(),
            shed: state.shares.shed(),
        }
    }

    fn leave(&self, share: Share, enrolled: Option<Enrolled>, left: Option<(Done, Timestamp)>) {
        let mut state = self.0.lock();
        let State { limit, shares, shedding } = &mut *state;
        shares.leave(share);
        match left {
            Some((done, now)) => limit.left(enrolled, done, now, shedding),
            None => limit.forget(enrolled),
        }
    }
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Load").field(&self.look()).finish()
    }
}

impl Ticket {
    /// Gives the place back.
    pub fn leave(mut self, done: Done, now: Timestamp) {
        self.load.leave(self.share, self.enrolled.take(), Some((done, now)));
        self.share = Share::LEFT;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.share != Share::LEFT {
            self.load.leave(self.share, self.enrolled.take(), None);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").field(&self.share).finish()
    }
}
