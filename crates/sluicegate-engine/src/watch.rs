//! Watching callers: what each may use of its limits, and what its refusals bring upon it.
//!
//! The tables are this node's own and of fixed size. What must be exact, the reputation and the count of refusals, lies
//! with the meters of the caller and is charged in the same step that refuses.

mod origins;
mod plans;
mod seat;
mod standings;
mod steps;
mod stored;
mod touched;
mod waits;

use sluicegate_store::hash::HomeHasher;

use crate::abuse::{Blocking, EdgeTable, PressureTable};

pub(crate) use plans::{PlanCache, Size};
pub use standings::Standing;
pub(crate) use steps::Watched;

use origins::Origins;
use seat::Seats;
use standings::Standings;
use stored::StoredSubjects;
use touched::Touched;

/// What an engine knows of how callers behave.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) edge: EdgeTable,
    pub(crate) pressure: PressureTable,
    pub(crate) blocks: Blocking,
    pub(crate) origins: Origins,
    /// Homes whose meters changed without a record in the spool.
    pub(crate) touched: Touched,
    /// The same of subjects that come with the question: however many there are, they take nobody's place.
    pub(crate) touched_asked: Touched,
    pub(crate) seats: Seats,
    stored: StoredSubjects,
    standings: Standings,
    pub(crate) plans: PlanCache<Size>,
}

impl Watch {
    /// For this many clients with meters of their own, and as many subjects that come with the question. `random` is
    /// something that no other process has.
    pub(crate) fn new(homes: &HomeHasher, random: u64, clients_max: usize, blocks: Blocking) -> Self {
        Self {
            edge: EdgeTable::default(),
            pressure: PressureTable::default(),
            blocks,
            origins: Origins::default(),
            touched: Touched::default(),
            touched_asked: Touched::default(),
            seats: Seats::new(homes, random, clients_max),
            stored: StoredSubjects::default(),
            standings: Standings::default(),
            plans: PlanCache::default(),
        }
    }

    /// How many clients may have homes before newcomers share.
    pub(crate) fn clients_max(&self) -> usize {
        self.seats.clients_max()
    }

    /// Forgets what nobody uses any more.
    pub(crate) fn sweep(&self) {
        self.plans.sweep();
    }
}
