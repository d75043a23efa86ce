//! One part of the table: who is in it, and in which order they leave it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use sluicegate_core::block::{Block, Caller, Origin, Reason};
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::Blocks;
use sluicegate_core::time::{Nanos, Timestamp};

use sluicegate_store::database::KeptBlock;

use super::next_length;

const FIRST: Caller = Caller::client(HomeId(0));

/// A block that is in force, or was.
#[derive(Clone, Debug)]
struct Entry {
    since: Timestamp,
    until: Timestamp,
    origin: Origin,
    reason: Option<Reason>,
    /// How long the last block lasted that nobody but the caller itself brought about.
    earned: Option<Nanos>,
}

impl Entry {
    fn block(&self, caller: Caller) -> Block {
        let Self { since, until, origin, .. } = *self;
        Block { caller, since, until, origin, reason: self.reason.clone() }
    }
}

#[derive(Debug)]
pub(super) struct Shard {
    entries: BTreeMap<Caller, Entry>,
    /// Who is in it, by the end of the block: what ends first leaves first.
    ends: BTreeSet<(Timestamp, Caller)>,
    places: usize,
    /// For how long a block is remembered after its end.
    memory: Nanos,
}

impl Shard {
    pub(super) fn new(places: usize) -> Self {
        Self { entries: BTreeMap::new(), ends: BTreeSet::new(), places, memory: Blocks::MAX_DEFAULT }
    }

    pub(super) fn until(&self, caller: Caller, now: Timestamp) -> Option<Timestamp> {
        self.entries.get(&caller).map(|entry| entry.until).filter(|until| *until > now)
    }

    pub(super) fn find(&self, caller: Caller, now: Timestamp) -> Option<Block> {
        self.entries.get(&caller).filter(|entry| entry.until > now).map(|entry| entry.block(caller))
    }

    pub(super) fn block(&mut self, caller: Caller, now: Timestamp, blocks: &Blocks) -> Block {
        let known = self.entries.get(&caller);
        if let Some(entry) = known.filter(|entry| entry.until > now) {
            return entry.block(caller);
        }
        let last = known.filter(|entry| entry.until.plus(blocks.max) > now).and_then(|entry| entry.earned);
        let length = next_length(last, blocks);
        let until = now.plus(length);
        let entry =
            Entry { since: now, until, origin: Origin::Automatic, reason: None, earned: Some(length) };
        self.memory = blocks.max;
        self.set(caller, entry, now)
    }

    pub(super) fn put(&mut self, block: Block) -> Block {
        let known = self.entries.get(&block.caller);
        if let Some(entry) = known.filter(|entry| (entry.since, entry.until) > (block.since, block.until)) {
            return entry.block(block.caller);
        }
        // Another node's block doubles here as it does there. After an administrator's all begins anew.
        let earned = match block.origin {
            Origin::Automatic => Some(block.until.since(block.since)),
            Origin::Manual => None,
        };
        let Block { caller, since, until, origin, reason } = block;
        self.set(caller, Entry { since, until, origin, reason, earned }, since)
    }

    pub(super) fn kept(&self, caller: Caller) -> Option<KeptBlock> {
        let entry = self.entries.get(&caller)?;
        Some(KeptBlock { block: entry.block(caller), earned: entry.earned })
    }

    pub(super) fn restore(&mut self, kept: KeptBlock, memory: Nanos, now: Timestamp) -> Block {
        self.memory = memory;
        let Block { caller, since, until, origin, reason } = kept.block;
        self.set(caller, Entry { since, until, origin, reason, earned: kept.earned }, now)
    }

    pub(super) fn lift(&mut self, caller: Caller, now: Timestamp) -> Option<Block> {
        let entry = self.entries.remove(&caller)?;
        self.ends.remove(&(entry.until, caller));
        (entry.until > now).then(|| entry.block(caller))
    }

    pub(super) fn keep_only(&mut self, callers: &BTreeSet<Caller>, now: Timestamp) {
        let goes = |entry: (&Caller, &Entry)| entry.1.until > now && !callers.contains(entry.0);
        let gone: Vec<Caller> =
            self.entries.iter().filter(|it| goes(*it)).map(|(caller, _)| *caller).collect();
        for caller in gone {
            self.lift(caller, now);
        }
    }

    pub(super) fn list(&self, after: Option<Caller>, now: Timestamp, max: usize, into: &mut Vec<Block>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let blocked = self.entries.range((from, Bound::Unbounded)).filter(|(_, entry)| entry.until > now);
        into.extend(blocked.take(max).map(|(caller, entry)| entry.block(*caller)));
    }

    pub(super) fn count(&self, now: Timestamp) -> usize {
        // Those that end after this nanosecond.
        self.ends.range((now.plus(Nanos(1)), FIRST)..).count()
    }

    fn set(&mut self, caller: Caller, entry: Entry, now: Timestamp) -> Block {
        let block = entry.block(caller);
        if let Some(old) = self.entries.insert(caller, entry) {
            self.ends.remove(&(old.until, caller));
        }
        self.ends.insert((block.until, caller));
        self.make_room(now);
        block
    }

    /// Drops who is remembered no longer, and whoever leaves first where there are too many.
    fn make_room(&mut self, now: Timestamp) {
        while let Some((until, caller)) = self.ends.first().copied() {
            if until.plus(self.memory) > now && self.entries.len() <= self.places {
                break;
            }
            self.ends.pop_first();
            self.entries.remove(&caller);
        }
    }
}
