//! Refusals that are known to last: whoever asks the same again is refused without a call.
//!
//! A refusal is kept for exactly the same question: home, key, route, cost, and the plan itself and not one like it,
//! so that a limit that was raised is asked. One that is held against the caller is not kept: the store counts it. It
//! is forgotten when anything of the home is charged or given back on this node, when any of its readings would change
//! by itself, and in any case soon: other nodes give back as well.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sluicegate_core::plan::{Due, HomeId, Mode};
use sluicegate_core::policy::RouteIndex;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::settle::{Outcome, Reading};
use sluicegate_core::tariff::{Charges, Plan};
use sluicegate_core::time::{Nanos, Timestamp};
use tokio::time::Instant;

use super::Settled;
use super::owed::Owed;

/// What lasts no longer than this is not worth keeping.
const LIFE_MIN: Duration = Duration::from_millis(5);
/// For so long at most a refusal may be wrong because another node gave something back.
const LIFE_MAX: Duration = Duration::from_secs(1);
/// The most refusals of one home.
const OF_ONE_HOME_MAX: usize = 8;
const SHARDS: usize = 64;

struct Refusal {
    plan: Arc<Plan>,
    key: Option<NonZeroU32>,
    route: Option<RouteIndex>,
    which: Charges,
    cost: Amount,
    by: usize,
    retry_after: Nanos,
    readings: Box<[Reading]>,
    /// The clock of the server then.
    now: Timestamp,
    answered: Instant,
    until: Instant,
}

/// Aligned so that two locks are never in one line of the cache, nor in two that are fetched together.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<HashMap<HomeId, Vec<Refusal>, RandomState>>);

pub(super) struct Refusals {
    state: RandomState,
    shards: Box<[Shard]>,
    homes_of_a_shard_max: usize,
}

impl Refusals {
    pub(super) fn new(refusals_max: usize) -> Self {
        let homes_of_a_shard_max = refusals_max.div_ceil(SHARDS * OF_ONE_HOME_MAX);
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Self { state: RandomState::new(), shards, homes_of_a_shard_max }
    }

    fn shard(&self, home: HomeId) -> &Mutex<HashMap<HomeId, Vec<Refusal>, RandomState>> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let shard = self.state.hash_one(home) as usize % SHARDS;
        &self.shards[shard].0
    }

    /// What the store would answer, if that is known.
    pub(super) fn find(&self, owed: &Owed, now: Instant) -> Option<Settled> {
        let shard = self.shard(owed.request.home).lock();
        let refusals = shard.get(&owed.request.home)?;
        refusals
            .iter()
            .find(|refusal| refusal.answers(owed) && now < refusal.until)
            .map(|refusal| refusal.at(now))
    }

    /// Takes note of what the store answered to a call that was made then.
    pub(super) fn learn(&self, owed: &Owed, settled: &Settled, asked: Instant, answered: Instant) {
        match settled.outcome {
            Outcome::Refused { by, retry_after }
                if owed.request.mode == Mode::Charge && owed.name.is_none() =>
            {
                if let Some(refusal) = Refusal::new(owed, settled, by, retry_after, asked, answered) {
                    self.keep(owed, refusal, answered);
                }
            }
            Outcome::Admitted { .. } if owed.request.mode != Mode::Peek => self.forget(owed.request.home),
            Outcome::Admitted { .. }
            | Outcome::Refused { .. }
            | Outcome::NeverFits { .. }
            | Outcome::Elsewhere { .. }
            | Outcome::Conflicts => {}
        }
    }

    /// Something of the home has changed, or may have.
    pub(super) fn forget(&self, home: HomeId) {
        let forgotten = self.shard(home).lock().remove(&home);
        // Dropped once the lock is gone.
        drop(forgotten);
    }

    fn keep(&self, owed: &Owed, refusal: Refusal, now: Instant) {
        let home = owed.request.home;
        let mut shard = self.shard(home).lock();
        if !shard.contains_key(&home) && shard.len() >= self.homes_of_a_shard_max {
            shard.retain(|_, refusals| refusals.iter().any(|refusal| now < refusal.until));
            if shard.len() >= self.homes_of_a_shard_max {
                return;
            }
        }
        let refusals = shard.entry(home).or_default();
        refusals.retain(|known| now < known.until && !known.answers(owed));
        if refusals.len() < OF_ONE_HOME_MAX {
            refusals.push(refusal);
        }
    }
}

impl Refusal {
    fn new(
        owed: &Owed,
        settled: &Settled,
        by: usize,
        retry_after: Nanos,
        asked: Instant,
        answered: Instant,
    ) -> Option<Self> {
        let request = owed.request;
        let plan = owed.plan.tariff.plan(&request);
        // A refusal that is charged for is made by the store.
        if plan.charges().iter().any(|charge| charge.due == Due::Refusal) {
            return None;
        }
        // Slots come back at any time.
        if matches!(plan.charges().get(by)?.limit.rule, Rule::Concurrency { .. }) {
            return None;
        }
        // What is used goes down by itself: from then on the readings would be wrong.
        let changes = settled.readings.iter().filter(|reading| reading.used > 0).map(|reading| reading.next);
        let life = Duration::from_nanos(changes.fold(retry_after, Nanos::min).0).min(LIFE_MAX);
        (life > LIFE_MIN).then(|| Self {
            plan: Arc::clone(&owed.plan),
            key: request.key,
            route: request.route,
            which: request.which,
            cost: request.cost,
            by,
            retry_after,
            readings: settled.readings.as_slice().into(),
            now: settled.now,
            answered,
            // The store looked at its clock after it was asked: this is not too late.
            until: asked + life,
        })
    }

    fn answers(&self, owed: &Owed) -> bool {
        let request = &owed.request;
        Arc::ptr_eq(&self.plan, &owed.plan)
            && (self.key, self.route, self.which, self.cost)
                == (request.key, request.route, request.which, request.cost)
    }

    /// The same refusal, later.
    fn at(&self, now: Instant) -> Settled {
        // The store looked at its clock before it answered: what is left is not too little.
        let micros = now.saturating_duration_since(self.answered).as_micros();
        let later = Nanos(u64::try_from(micros).unwrap_or(u64::MAX).saturating_mul(1_000));
        let left = |span: Nanos| Nanos(span.0.saturating_sub(later.0));
        let readings = self.readings.iter().map(|reading| match reading.used {
            0 => *reading,
            _ => Reading { next: left(reading.next), reset: left(reading.reset), ..*reading },
        });
        Settled {
            outcome: Outcome::Refused { by: self.by, retry_after: left(self.retry_after) },
            readings: readings.collect(),
            now: self.now.plus(later),
            repeats: None,
        }
    }
}

#[cfg(test)]
mod tests;
