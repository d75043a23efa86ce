//! What the engine knows about its own decisions: how many there were, how long they took, whose they were, and why
//! requests were refused.
//!
//! Every decision is noticed once, in `seen`. Nothing here grows with the number of callers, and nothing waits: not for
//! people who look, and not for those who listen.

mod events;
mod explain;
mod kept;
mod outcome;
mod past;
mod rows;
mod sampling;
mod seen;
mod stripes;
mod top;

use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::histogram::{Histogram, Lengths};
use sluicegate_core::time::Timestamp;

pub use events::{
    Change, Changed, DECISIONS_MAX, Event, Heard, SUBSCRIBERS_MAX, Subscription, TooManySubscribers,
};
pub use explain::{Brief, Conduct, Explanation};
pub use kept::{KEPT_A_SECOND, KEPT_BYTES_MAX, KEPT_FOR, KEPT_MAX, Which};
pub use outcome::{Outcome, Outcomes};
pub use past::{STEP_S, Step};
pub use rows::Kind;
pub(crate) use rows::{NONE, Rows};
pub use sampling::{MANY, ONE_IN};
pub(crate) use seen::Late;
pub use top::{Caller, Top, TopBy, TopCaller};

use crate::decision::StoreMode;
use crate::ids::DecisionId;
use crate::request::Front;
use events::Subscribers;
use kept::Kept;
use past::Past;
use sampling::Sampling;
use stripes::Stripes;
use top::Minutes;

/// What the engine knows about its own decisions.
#[derive(Debug)]
pub struct Pulse {
    rows: Arc<Rows>,
    stripes: Stripes,
    past: Past,
    sampling: Sampling,
    took: [Histogram; Front::ALL.len()],
    requests: Mutex<Minutes>,
    refusals: Mutex<Minutes>,
    kept: Kept,
    subscribers: Arc<Subscribers>,
    /// What those who listen were last told about the store.
    mode: Mutex<StoreMode>,
}

/// How often something was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    /// What it is counted by.
    pub kind: Kind,
    /// The name of the tier, route or limit; `other`, `none` and `custom` stand for several.
    pub name: Arc<str>,
    /// What became of the requests.
    pub outcome: Outcome,
    /// How many.
    pub count: u64,
}

impl Pulse {
    pub(crate) fn new(rows: Arc<Rows>, now: Timestamp) -> Self {
        Self {
            rows,
            stripes: Stripes::new(rows::SERIES_MAX),
            past: Past::new(now),
            sampling: Sampling::default(),
            took: std::array::from_fn(|_| Histogram::default()),
            requests: Mutex::new(Minutes::new(now)),
            refusals: Mutex::new(Minutes::new(now)),
            kept: Kept::default(),
            subscribers: Arc::default(),
            mode: Mutex::new(StoreMode::Normal),
        }
    }

    /// How often what was seen, by tier, route and limit: those that were seen at all, in the order of their names.
    pub fn counts(&self) -> Vec<Count> {
        let all = self.rows.all().into_iter().map(|(number, series, name)| {
            let count = self.stripes.get(number);
            Count { kind: series.kind, name, outcome: series.outcome, count }
        });
        let mut counts: Vec<Count> = all.filter(|count| count.count > 0).collect();
        counts.sort_by(|a, b| (a.kind, &a.name, a.outcome).cmp(&(b.kind, &b.name, b.outcome)));
        counts
    }

    /// What has become of all requests.
    pub(crate) fn decided(&self) -> Outcomes {
        self.stripes.all()
    }

    /// What has become of the requests of a front end.
    pub fn outcomes(&self, front: Front) -> Outcomes {
        self.stripes.of(front)
    }

    /// How long decisions took, by front end.
    pub fn took(&self, front: Front) -> Lengths {
        self.took[front as usize].read()
    }

    /// The last so many steps of ten seconds, 360 at the most, the oldest first. The last one has just begun.
    pub fn steps(&self, count: usize, now: Timestamp) -> Vec<Step> {
        self.past.steps(now, count, || self.stripes.all())
    }

    /// The seconds from this one on that are over: a minute of them at the most. See [`crate::Engine::beat`].
    pub fn seconds(&self, from: Timestamp, now: Timestamp) -> Vec<Step> {
        self.past.seconds(from.as_secs(), now)
    }

    /// Who sends or is refused most, `max` of them.
    pub fn top(&self, by: TopBy, max: usize, now: Timestamp) -> Top {
        let minutes = match by {
            TopBy::Requests => &self.requests,
            TopBy::Refusals => &self.refusals,
        };
        minutes.lock().top(max, now)
    }

    /// Why a request was refused, if that was within the hour and is still known.
    pub fn explanation(&self, id: DecisionId, now: Timestamp) -> Option<Arc<Explanation>> {
        self.kept.find(id, now)
    }

    /// Why requests were refused, the newest first, `max` of them at the most.
    pub fn explanations(&self, which: Which<'_>, max: usize, now: Timestamp) -> Vec<Arc<Explanation>> {
        self.kept.list(which, max, now)
    }

    /// Of how many refusals the reason is known.
    pub fn explained(&self) -> usize {
        self.kept.len()
    }

    /// Listens to what happens from now on.
    pub fn subscribe(&self) -> Result<Subscription, TooManySubscribers> {
        self.subscribers.add()
    }

    /// Tells those who listen that something was changed. Nobody is waited for.
    pub fn tell(&self, change: Change) {
        if self.subscribers.is_any() {
            self.subscribers.tell(Event::Change(change));
        }
    }

    /// Forgets what is too old.
    pub(crate) fn sweep(&self, now: Timestamp) {
        self.kept.sweep(now);
    }
}
