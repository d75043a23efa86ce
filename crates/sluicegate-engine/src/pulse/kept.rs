//! Explanations of the last hour, in bounded memory: the oldest leave first.
//!
//! Those of accounts and those of everybody else have a half each, so that a flood of strangers does not push out what
//! a customer asks about.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;
use sluicegate_core::time::{Nanos, Timestamp};

use super::explain::Explanation;
use crate::ids::DecisionId;

/// How long an explanation is kept.
pub const KEPT_FOR: Nanos = Nanos::from_secs(3_600);

/// How many explanations are kept at the most.
pub const KEPT_MAX: usize = 65_536;

/// How much memory they take at the most, about.
pub const KEPT_BYTES_MAX: usize = 32 << 20;

/// How many parts there are: threads that refuse seldom meet in one.
const SHARDS: usize = 16;

/// Accounts, and everybody else.
const CLASSES: usize = 2;

/// How many are kept of each class within a second: accounts, and everybody else. Of more, the parts would hold no more
/// than a few seconds, and whoever is refused in a flood should cost next to nothing.
pub const KEPT_A_SECOND: [u32; CLASSES] = [8_192, 1_024];

/// How many that are too old leave with each newcomer: more than one, so that none pile up.
const DROPPED_AT_ONCE: usize = 4;

/// What one part of a class holds.
#[derive(Clone, Copy, Debug)]
struct Room {
    entries: usize,
    bytes: usize,
}

const ROOM: Room = Room { entries: KEPT_MAX / SHARDS / CLASSES, bytes: KEPT_BYTES_MAX / SHARDS / CLASSES };

/// Explanations of the last hour.
#[derive(Debug)]
pub(crate) struct Kept {
    shards: Box<[[Mutex<Shard>; CLASSES]]>,
    /// How many came within this second, of each class.
    came: [AtomicU32; CLASSES],
}

#[derive(Debug, Default)]
struct Shard {
    /// The oldest first.
    entries: VecDeque<Arc<Explanation>>,
    bytes: usize,
}

/// Which explanations are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which<'w> {
    /// Only those of this account.
    pub account: Option<&'w str>,
    /// Only those before this one.
    pub before: Option<DecisionId>,
}

impl Default for Kept {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| std::array::from_fn(|_| Mutex::default())).collect();
        Self { shards, came: Default::default() }
    }
}

impl Kept {
    /// Whether one more is kept within this second.
    #[inline]
    pub(crate) fn has_room(&self, of_account: bool) -> bool {
        let class = usize::from(!of_account);
        // Looked at first: in a flood nobody writes to what all would have to write to.
        self.came[class].load(Ordering::Relaxed) < KEPT_A_SECOND[class]
            && self.came[class].fetch_add(1, Ordering::Relaxed) < KEPT_A_SECOND[class]
    }

    /// Another second begins.
    pub(crate) fn turn(&self) {
        self.came.iter().for_each(|came| came.store(0, Ordering::Relaxed));
    }

    /// Keeps one. Decisions have numbers; this one's is `count`.
    pub(crate) fn keep(&self, explanation: Explanation, count: u64) {
        let class = usize::from(explanation.brief.account.is_none());
        let shard = &self.shards[usize::try_from(count % SHARDS as u64).unwrap_or(0)][class];
        let explanation = Arc::new(explanation);
        let now = explanation.brief.at;
        // Dropped without the lock.
        let mut dropped = arrayvec::ArrayVec::<Arc<Explanation>, DROPPED_AT_ONCE>::new();
        let mut shard = shard.lock();
        shard.bytes += explanation.bytes();
        shard.entries.push_back(explanation);
        while !dropped.is_full()
            && let Some(oldest) = shard.leave(now, ROOM)
        {
            dropped.push(oldest);
        }
    }

    /// The explanation of a decision.
    pub(crate) fn find(&self, id: DecisionId, now: Timestamp) -> Option<Arc<Explanation>> {
        let is_it = |kept: &&Arc<Explanation>| kept.brief.id == id && !is_old(kept, now);
        self.shards.iter().flatten().find_map(|shard| shard.lock().entries.iter().rev().find(is_it).cloned())
    }

    /// Those that are asked for, the newest first.
    pub(crate) fn list(&self, which: Which<'_>, max: usize, now: Timestamp) -> Vec<Arc<Explanation>> {
        let is_wanted = |kept: &&Arc<Explanation>| {
            let of = kept.brief.account.as_ref().map(|account| account.as_str());
            (which.account.is_none() || of == which.account)
                && which.before.is_none_or(|before| kept.brief.id < before)
                && !is_old(kept, now)
        };
        let classes = if which.account.is_some() { 1 } else { CLASSES };
        let mut wanted: Vec<Arc<Explanation>> = Vec::new();
        for shard in self.shards.iter().flat_map(|classes_of| &classes_of[..classes]) {
            let shard = shard.lock();
            // In the order of their instants but for those at the same time, of which a few more are taken.
            wanted.extend(
                shard.entries.iter().rev().filter(is_wanted).take(max.saturating_add(SHARDS)).cloned(),
            );
        }
        wanted.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.brief.id));
        wanted.truncate(max);
        wanted
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().flatten().map(|shard| shard.lock().entries.len()).sum()
    }

    /// Forgets those that are too old.
    pub(crate) fn sweep(&self, now: Timestamp) {
        for shard in self.shards.iter().flatten() {
            let mut shard = shard.lock();
            while shard.entries.front().is_some_and(|oldest| is_old(oldest, now)) {
                drop(shard.leave(now, ROOM));
            }
        }
    }
}

impl Shard {
    /// The oldest, if it has to go.
    fn leave(&mut self, now: Timestamp, room: Room) -> Option<Arc<Explanation>> {
        let oldest = self.entries.front()?;
        if self.entries.len() <= room.entries && self.bytes <= room.bytes && !is_old(oldest, now) {
            return None;
        }
        self.bytes = self.bytes.saturating_sub(oldest.bytes());
        self.entries.pop_front()
    }
}

fn is_old(kept: &Explanation, now: Timestamp) -> bool {
    now.since(kept.brief.at) >= KEPT_FOR
}
