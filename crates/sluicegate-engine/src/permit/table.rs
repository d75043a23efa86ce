//! The permits that this process has finished, each with the answer that every later finish gets.
//!
//! They are remembered for as long as a permit can live and be finished late. Beyond the bound the oldest are
//! forgotten, and a watermark refuses every permit that is as old: it may have been finished, and is never settled
//! twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use sluicegate_core::time::Timestamp;
use sluicegate_store::database::FINISHED_REMEMBERED;

use crate::finish::Finished;
use crate::ids::DecisionId;

/// How many finished permits are remembered, over all shards.
const FINISHED_MAX: usize = 1 << 20;
const SHARDS: usize = 16;

/// The permits that are finished.
#[derive(Debug)]
pub(crate) struct FinishedPermits {
    shards: Box<[Mutex<Shard>]>,
    shard_max: usize,
    /// The millisecond of the latest decision that was forgotten early; 0: none was.
    watermark_ms: AtomicU64,
}

/// Those of one shard, by decision: the oldest first.
#[derive(Debug, Default)]
struct Shard {
    finished: BTreeMap<DecisionId, (Finished, Timestamp)>,
    /// What was forgotten early, for the table on disk.
    forgotten: Vec<DecisionId>,
}

impl Default for FinishedPermits {
    fn default() -> Self {
        Self::with_max(FINISHED_MAX)
    }
}

impl FinishedPermits {
    /// A table of so many.
    pub(crate) fn with_max(max: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, shard_max: max / SHARDS, watermark_ms: AtomicU64::new(0) }
    }

    /// Nobody else finishes or renews the permit of a decision until this is dropped.
    pub(crate) fn hold(&self, decision: DecisionId) -> HeldPermit<'_> {
        let shard = usize::try_from(decision.0 % SHARDS as u128).unwrap_or(0);
        HeldPermit { table: self, decision, shard: self.shards[shard].lock() }
    }

    /// From before a restart: the latest decision that was forgotten early.
    pub(crate) fn raise_watermark(&self, watermark_ms: u64) {
        self.watermark_ms.fetch_max(watermark_ms, Ordering::Relaxed);
    }

    pub(crate) fn watermark_ms(&self) -> u64 {
        self.watermark_ms.load(Ordering::Relaxed)
    }

    /// Forgets permits that nobody can finish any more.
    pub(crate) fn sweep(&self, now: Timestamp) {
        for shard in &self.shards {
            shard.lock().finished.retain(|_, (_, at)| now.since(*at) < FINISHED_REMEMBERED);
        }
    }

    /// Those that were forgotten early since this was last asked.
    pub(crate) fn take_forgotten(&self) -> Vec<u128> {
        let taken = self.shards.iter().flat_map(|shard| std::mem::take(&mut shard.lock().forgotten));
        taken.map(|decision| decision.0).collect()
    }
}

/// The permit of one decision, held.
pub(crate) struct HeldPermit<'t> {
    table: &'t FinishedPermits,
    decision: DecisionId,
    shard: MutexGuard<'t, Shard>,
}

impl HeldPermit<'_> {
    /// What it was finished with.
    pub(crate) fn finished(&self) -> Option<Finished> {
        self.shard.finished.get(&self.decision).map(|(finished, _)| *finished)
    }

    /// Whether it may have been finished and forgotten since.
    pub(crate) fn may_be_forgotten(&self) -> bool {
        self.decision.millis() <= self.table.watermark_ms()
    }

    /// It is finished now. What it was finished with first stays.
    pub(crate) fn finish(&mut self, finished: Finished, at: Timestamp) {
        let Shard { finished: known, forgotten } = &mut *self.shard;
        known.entry(self.decision).or_insert((finished, at));
        if known.len() > self.table.shard_max
            && let Some((oldest, _)) = known.pop_first()
        {
            self.table.raise_watermark(oldest.millis());
            forgotten.push(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(millis: u128, count: u128) -> DecisionId {
        DecisionId(millis << 80 | count)
    }

    const ANSWER: Finished = Finished { reserved: 5, settled: 3 };

    #[test]
    fn the_first_answer_stays_until_nobody_can_ask_for_it() {
        let (table, now) = (FinishedPermits::default(), Timestamp::from_secs(1_000));
        let id = decision(1_000_000, 7);
        assert_eq!(table.hold(id).finished(), None);
        table.hold(id).finish(ANSWER, now);
        table.hold(id).finish(Finished { reserved: 5, settled: 9 }, now);
        table.sweep(now.plus(sluicegate_core::time::Nanos(FINISHED_REMEMBERED.0 - 1)));
        let held = table.hold(id);
        assert_eq!((held.finished(), held.may_be_forgotten()), (Some(ANSWER), false));
        drop(held);
        table.sweep(now.plus(FINISHED_REMEMBERED));
        assert_eq!(table.hold(id).finished(), None);
    }

    #[test]
    fn beyond_the_bound_the_oldest_are_too_late_and_never_open_again() {
        let (table, now) = (FinishedPermits::with_max(4 * SHARDS), Timestamp::from_secs(1_000));
        let ids: Vec<DecisionId> = (1..=10 * SHARDS as u128).map(|n| decision(n, n)).collect();
        ids.iter().for_each(|id| table.hold(*id).finish(ANSWER, now));
        let (mut known, mut forgotten) = (0, 0);
        for id in ids {
            let held = table.hold(id);
            match held.finished() {
                Some(_) => known += 1,
                None => {
                    assert!(held.may_be_forgotten(), "{id}");
                    forgotten += 1;
                }
            }
        }
        assert_eq!((known, forgotten), (4 * SHARDS, 6 * SHARDS));
        assert_eq!(table.take_forgotten().len(), 6 * SHARDS);
        assert!(!table.hold(decision(10_000, 1)).may_be_forgotten());
    }
}
