//! Blocks: callers that are refused from this node's memory, without asking a store.
//!
//! While nobody is blocked, asking costs one load of an atomic number; for a caller that is not blocked it nearly
//! always costs two, and no lock. The table has a fixed number of places; beyond it the block that ends first gives
//! way, and its caller is metered like everybody else.

#[cfg(test)]
mod properties;
mod shard;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use sluicegate_core::block::{Block, Caller};
use sluicegate_core::policy::Blocks;
use sluicegate_core::time::{Nanos, Timestamp};

use sluicegate_store::database::KeptBlock;

use self::shard::Shard;

const SHARDS: usize = 64;
/// Callers fall into this many groups; a group in which nobody is blocked needs no look-up.
const GROUPS: usize = 1 << 14;

/// Who is blocked, and who was lately.
pub struct BlockTable {
    /// When the last block of all ends.
    last_end: AtomicU64,
    /// When the last block of each group ends. Like the one above it only moves forward: after a block is lifted it
    /// costs a look-up that finds nothing.
    group_ends: Box<[AtomicU64]>,
    shards: Box<[RwLock<Shard>]>,
}

impl std::fmt::Debug for BlockTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockTable").finish_non_exhaustive()
    }
}

impl Default for BlockTable {
    fn default() -> Self {
        Self::new(Self::PLACES_DEFAULT)
    }
}

impl BlockTable {
    /// Room for a quarter of a million callers: some 50 MiB if all are ever blocked at once.
    pub const PLACES_DEFAULT: usize = 1 << 18;

    /// A table for this many callers, at least one in each of 64 shards.
    pub fn new(places: usize) -> Self {
        let per_shard = places.div_ceil(SHARDS).max(1);
        Self {
            last_end: AtomicU64::new(0),
            group_ends: (0..GROUPS).map(|_| AtomicU64::new(0)).collect(),
            shards: (0..SHARDS).map(|_| RwLock::new(Shard::new(per_shard))).collect(),
        }
    }

    /// Until when a caller is blocked, if it is.
    #[inline]
    pub fn is_blocked(&self, caller: Caller, now: Timestamp) -> Option<Timestamp> {
        if now.as_nanos() >= self.last_end.load(Ordering::Acquire) {
            return None;
        }
        self.look_up(caller, now)
    }

    fn look_up(&self, caller: Caller, now: Timestamp) -> Option<Timestamp> {
        if now.as_nanos() >= self.group_ends[group_of(caller)].load(Ordering::Acquire) {
            return None;
        }
        self.shards[shard_of(caller)].read().until(caller, now)
    }

    /// The block of a caller, if it is blocked.
    pub fn find(&self, caller: Caller, now: Timestamp) -> Option<Block> {
        self.shards[shard_of(caller)].read().find(caller, now)
    }

    /// What is to be kept of a caller: its block, or how long the last one was.
    pub(super) fn kept(&self, caller: Caller) -> Option<KeptBlock> {
        self.shards[shard_of(caller)].read().kept(caller)
    }

    /// Takes back what was kept, unless it ended more than `memory` ago.
    pub(super) fn restore(&self, kept: KeptBlock, memory: Nanos, now: Timestamp) {
        self.write(kept.block.caller, |shard| shard.restore(kept, memory, now));
    }

    /// Blocks a caller that was refused too often. A caller whose last block ended less than `max` ago is blocked for
    /// twice as long as then; one that is blocked already stays so and no longer: of two refusals at once one counts.
    pub fn block(&self, caller: Caller, now: Timestamp, blocks: &Blocks) -> Block {
        self.write(caller, |shard| shard.block(caller, now, blocks))
    }

    /// Takes over what an administrator or another node says. Of two blocks of one caller the one that began later
    /// stays; of two that began at once, the one that ends later. Which one that is.
    pub fn put(&self, block: Block) -> Block {
        self.write(block.caller, |shard| shard.put(block))
    }

    /// Lifts a block, and forgets that there was one. What it was, if there was one.
    pub fn lift(&self, caller: Caller, now: Timestamp) -> Option<Block> {
        self.shards[shard_of(caller)].write().lift(caller, now)
    }

    /// Lifts every block but those of these callers: what was lifted elsewhere while nobody could say so.
    pub fn keep_only(&self, callers: &BTreeSet<Caller>, now: Timestamp) {
        for shard in &self.shards {
            shard.write().keep_only(callers, now);
        }
    }

    /// The blocks behind `after`, in the order of callers, `max` of them at the most.
    pub fn list(&self, after: Option<Caller>, now: Timestamp, max: usize) -> Vec<Block> {
        let mut found = Vec::new();
        // Shards are in the order of callers.
        for shard in &self.shards[after.map_or(0, shard_of)..] {
            shard.read().list(after, now, max - found.len(), &mut found);
            if found.len() >= max {
                break;
            }
        }
        found
    }

    /// How many callers are blocked.
    pub fn count(&self, now: Timestamp) -> usize {
        if now.as_nanos() >= self.last_end.load(Ordering::Acquire) {
            return 0;
        }
        self.shards.iter().map(|shard| shard.read().count(now)).sum()
    }

    /// Does something to a caller's shard that leaves it blocked, and then lets everybody know where to look.
    fn write(&self, caller: Caller, act: impl FnOnce(&mut Shard) -> Block) -> Block {
        let mut shard = self.shards[shard_of(caller)].write();
        let block = act(&mut shard);
        let end = block.until.as_nanos();
        self.group_ends[group_of(caller)].fetch_max(end, Ordering::AcqRel);
        // Last: whoever sees this sees the group's as well.
        self.last_end.fetch_max(end, Ordering::AcqRel);
        block
    }
}

/// The highest bits, so that shards are in the order of callers.
const fn shard_of(caller: Caller) -> usize {
    (caller.home.0 >> (128 - SHARDS.trailing_zeros())) as usize
}

/// The lowest bits. The keys of an account are in the group of the account.
const fn group_of(caller: Caller) -> usize {
    caller.home.0 as usize & (GROUPS - 1)
}

/// How long a block lasts after one that lasted `last`.
fn next_length(last: Option<Nanos>, blocks: &Blocks) -> Nanos {
    let length = last.map_or(blocks.first, |last| Nanos(last.0.saturating_mul(2)));
    length.max(blocks.first).min(blocks.max)
}
