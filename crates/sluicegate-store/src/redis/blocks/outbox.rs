//! Blocks that other nodes are yet to be told of: the callers' own, which nobody waits for.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use sluicegate_core::block::Caller;
use sluicegate_core::time::Nanos;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::record::SharedBlock;

/// How many wait at the most. Beyond, a block stays with the node that made it.
const WAITING_MAX: usize = 1 << 14;

/// What waits, and since when.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: Mutex<BTreeMap<Caller, (SharedBlock, Instant)>>,
    filled: Notify,
}

impl Outbox {
    /// Puts a block in, in place of an earlier one of the same caller.
    pub(super) fn put(&self, block: SharedBlock) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX || waiting.contains_key(&block.caller) {
            waiting.insert(block.caller, (block, Instant::now()));
            self.filled.notify_one();
        }
    }

    /// Takes a block out that is not to be told any more.
    pub(super) fn forget(&self, caller: Caller) {
        self.waiting.lock().remove(&caller);
    }

    /// Everybody whose block waits.
    pub(super) fn callers(&self) -> BTreeSet<Caller> {
        self.waiting.lock().keys().copied().collect()
    }

    /// Some that wait, as they are by now, as soon as there are any. They go on waiting until they are sent.
    pub(super) async fn some(&self, max: usize) -> Vec<(SharedBlock, Instant)> {
        loop {
            let filled = self.filled.notified();
            let some = self.first(max, Instant::now());
            if !some.is_empty() {
                return some;
            }
            filled.await;
        }
    }

    fn first(&self, max: usize, now: Instant) -> Vec<(SharedBlock, Instant)> {
        let mut waiting = self.waiting.lock();
        let left = |block: &SharedBlock, since: Instant| {
            let waited = u64::try_from(now.duration_since(since).as_nanos()).unwrap_or(u64::MAX);
            Nanos(block.remaining.0.saturating_sub(waited))
        };
        waiting.retain(|_, (block, since)| left(block, *since) > Nanos::ZERO);
        let some = waiting.values().take(max);
        some.map(|(block, since)| (SharedBlock { remaining: left(block, *since), ..block.clone() }, *since))
            .collect()
    }

    /// Takes out what was sent, unless it was replaced meanwhile.
    pub(super) fn sent(&self, blocks: &[(SharedBlock, Instant)]) {
        let mut waiting = self.waiting.lock();
        for (block, since) in blocks {
            if waiting.get(&block.caller).is_some_and(|(_, waits)| waits == since) {
                waiting.remove(&block.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluicegate_core::block::Origin;
    use sluicegate_core::plan::HomeId;

    use super::*;

    fn block(home: u128, secs: u32) -> SharedBlock {
        let length = Nanos::from_secs(secs);
        let caller = Caller::client(HomeId(home));
        SharedBlock { caller, length, remaining: length, origin: Origin::Automatic, reason: None }
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_grows_shorter_and_is_over_at_last() {
        let outbox = Outbox::default();
        outbox.put(block(1, 60));
        outbox.put(block(2, 10));
        tokio::time::advance(Duration::from_secs(10)).await;
        let some = outbox.some(10).await;
        assert_eq!(some.len(), 1);
        assert_eq!((some[0].0.remaining, some[0].0.length), (Nanos::from_secs(50), Nanos::from_secs(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_block_waits_until_it_is_sent_or_lifted() {
        let outbox = Outbox::default();
        for home in 0..5 {
            outbox.put(block(home, 60));
        }
        let some = outbox.some(3).await;
        tokio::time::advance(Duration::from_millis(1)).await;
        // One is replaced while it is under way.
        outbox.put(block(1, 120));
        outbox.sent(&some);
        outbox.forget(Caller::client(HomeId(4)));
        let left: Vec<u128> = outbox.callers().into_iter().map(|caller| caller.home.0).collect();
        assert_eq!(left, [1, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_wait_than_there_is_room_for() {
        let outbox = Outbox::default();
        for home in 0..20_000 {
            outbox.put(block(home, 60));
        }
        assert_eq!(outbox.callers().len(), WAITING_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_woken_for_nothing() {
        let outbox = Outbox::default();
        let waited = tokio::time::timeout(Duration::from_secs(60), outbox.some(1)).await;
        assert!(waited.is_err());
    }
}
