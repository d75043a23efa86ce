//! A home in doubt: finds out what a call did whose answer was lost, and undoes what nobody was told of.
//!
//! Whoever waited for the call was told that it was not settled, and acts by that. So what it charged is given back,
//! and what it gave back is taken again. Until that is done the home takes no calls: the next one might hide what the
//! lost one did, and would be decided on meters that are wrong.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::time::Timestamp;
use tokio::time::sleep;

use super::owed::Owed;
use super::pause::up_to;
use super::{CallError, Resolved, Seq, Shared};
use crate::redis::meters::Applied;

/// The longest pause before the first attempt. It doubles with each that fails.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest pause of all: a home is back soon after the store is.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// What a call in doubt was asked for.
pub(super) enum Part {
    /// Somebody asked for it, and was told that it was not settled.
    Told(Owed),
    /// Nobody but us will ask for it again.
    Ours(Owed),
}

impl Part {
    pub(super) fn is_ours(&self) -> bool {
        matches!(self, Self::Ours(_))
    }

    pub(super) fn if_ours(self) -> Option<Owed> {
        match self {
            Self::Ours(owed) => Some(owed),
            Self::Told(_) => None,
        }
    }

    /// What is to be done about it, now that it is known whether it was done, and when.
    fn correction(self, done: Option<(Timestamp, Applied)>, shared: &Shared) -> Option<Owed> {
        match (self, done) {
            (Self::Told(owed), Some(_)) if owed.is_renewal() => None,
            (Self::Told(owed), Some((at, applied))) => match owed.request.mode {
                Mode::Charge | Mode::Force | Mode::Correct { .. } => Some(owed.refund(at, applied)),
                Mode::Refund { .. } => owed.take_again(),
                Mode::Peek => None,
            },
            (Self::Told(_), None) => None,
            (Self::Ours(owed), None) => Some(owed),
            (Self::Ours(owed), Some((_, applied))) => {
                shared.counters.undone.add(1);
                shared.undone.resolved(&owed, applied);
                None
            }
        }
    }
}

/// A call that was made, and whose answer was lost.
pub(super) struct Doubt {
    pub(super) seq: Seq,
    /// By their places.
    pub(super) parts: Vec<(usize, Part)>,
}

impl Doubt {
    fn corrections(self, resolved: &Resolved, shared: &Shared) -> Vec<Owed> {
        let done = |place: usize| match resolved {
            Resolved::Applied { at, plans } => {
                plans.get(place).filter(|plan| **plan != Applied::Refused).map(|plan| (*at, *plan))
            }
            Resolved::Never => None,
        };
        self.parts.into_iter().filter_map(|(place, part)| part.correction(done(place), shared)).collect()
    }
}

/// What is left to do for a home before it takes calls again.
pub(super) struct Mending {
    pub(super) doubt: Option<Doubt>,
    pub(super) corrections: Vec<Owed>,
}

/// Whether an attempt got anywhere.
enum Progress {
    Some,
    None,
}

/// Works on a home until it can take calls again.
pub(super) async fn mend(shared: &Arc<Shared>, home: HomeId, mut mending: Mending) {
    let mut pause = PAUSE_MIN;
    loop {
        if mending.is_done() {
            mending.corrections = shared.active.calm(home);
            if mending.is_done() {
                return;
            }
        }
        shared.breaker.closed().await;
        sleep(up_to(pause)).await;
        // Never closed.
        let _turn = shared.mending.acquire().await;
        pause = match mending.advance(shared, home).await {
            Progress::Some => PAUSE_MIN,
            Progress::None => PAUSE_MAX.min(pause * 2),
        };
    }
}

impl Mending {
    fn is_done(&self) -> bool {
        self.doubt.is_none() && self.corrections.is_empty()
    }

    async fn advance(&mut self, shared: &Arc<Shared>, home: HomeId) -> Progress {
        let Some(doubt) = &self.doubt else { return self.correct(shared, home).await };
        match shared.resolve(home, doubt.seq).await {
            Ok(resolved) => {
                shared.counters.resolved.add(1);
                if let Some(doubt) = self.doubt.take() {
                    self.corrections.extend(doubt.corrections(&resolved, shared));
                }
                Progress::Some
            }
            // Somebody else uses the name of this node, and has asked since: nobody can say any more what the call
            // did. It is left as it is, which is at worst too strict, rather than the home without decisions.
            Err(CallError::Late(_)) => {
                self.doubt = None;
                Progress::Some
            }
            Err(_) => Progress::None,
        }
    }

    /// Makes some of the corrections.
    async fn correct(&mut self, shared: &Arc<Shared>, home: HomeId) -> Progress {
        let mut count = self.corrections.len().min(shared.settings.batch_max.max(1));
        loop {
            let Some(seq) = shared.next_seq() else { return Progress::None };
            match shared.call(home, seq, self.corrections[..count].iter()).await {
                Ok(settled) => {
                    shared.refusals.forget(home);
                    shared.counters.undone.add(count);
                    for (owed, settled) in self.corrections.drain(..count).zip(&settled) {
                        shared.undone.settled(&owed, settled);
                    }
                    return Progress::Some;
                }
                Err(CallError::Mixed | CallError::TooLarge) if count > 1 => count /= 2,
                Err(CallError::Unknown | CallError::Garbled(_)) => {
                    shared.counters.unknown.add(1);
                    let parts = self.corrections.drain(..count).map(Part::Ours).enumerate().collect();
                    self.doubt = Some(Doubt { seq, parts });
                    return Progress::None;
                }
                Err(_) => return Progress::None,
            }
        }
    }
}
