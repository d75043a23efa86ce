//! Blocks on disk, of a node that is alone.
//!
//! What an administrator does is on disk before it is done here. What callers bring upon themselves is done at once,
//! and is on disk a moment later: one write takes all that waits, however many are blocked meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sluicegate_core::block::{Block, Caller, Origin};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::database::{Database, DatabaseError, KeptBlock, Pending};

use crate::abuse::BlockTable;

/// Where blocks are kept.
#[derive(Debug)]
pub(super) struct Disk {
    database: Database,
    table: Arc<BlockTable>,
    unsaved: Arc<Mutex<Unsaved>>,
    /// Whether anything was ever written: until then there is nothing to forget.
    is_used: AtomicBool,
}

/// Whose blocks are not on disk as they are.
#[derive(Debug, Default)]
struct Unsaved {
    waiting: BTreeSet<Caller>,
    /// Those of the write that is being made. If it fails they wait again.
    on_the_way: BTreeSet<Caller>,
    line: Line,
}

/// Whether a write is in line that will take all who wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Line {
    #[default]
    Empty,
    Asked,
}

impl Disk {
    pub(super) fn new(database: Database, table: Arc<BlockTable>, found: usize) -> Self {
        Self { database, table, unsaved: Arc::default(), is_used: AtomicBool::new(found > 0) }
    }

    /// Has a block saved as it is by then.
    pub(super) fn note(&self, caller: Caller) {
        self.is_used.store(true, Ordering::Relaxed);
        let mut unsaved = self.unsaved.lock();
        unsaved.waiting.insert(caller);
        if unsaved.line == Line::Empty {
            unsaved.line = Line::Asked;
            drop(unsaved);
            // Whoever waits in vain is saved with the next checkpoint.
            drop(self.ask());
        }
    }

    /// Saves what could not be saved yet, and forgets what ended before `memory`. Blocking.
    pub(super) fn save(&self, memory: Nanos, now: Timestamp) -> Result<(), DatabaseError> {
        if !self.is_used.load(Ordering::Relaxed) {
            return Ok(());
        }
        let is_saved = {
            let unsaved = self.unsaved.lock();
            unsaved.waiting.is_empty() && unsaved.on_the_way.is_empty()
        };
        if !is_saved {
            self.ask().wait()?;
        }
        let ended_by = Timestamp::from_nanos(now.as_nanos().saturating_sub(memory.0));
        let most = u32::try_from(BlockTable::PLACES_DEFAULT).unwrap_or(u32::MAX);
        self.database.forget_blocks(ended_by, most).wait()
    }

    pub(super) async fn put(&self, block: Block) -> Result<Block, DatabaseError> {
        let (table, put) = (Arc::clone(&self.table), block.clone());
        self.is_used.store(true, Ordering::Relaxed);
        // Here only once it is there, and in the same order: nobody saves over it what was before.
        let earned = (block.origin == Origin::Automatic).then(|| block.until.since(block.since));
        let kept = KeptBlock { block: block.clone(), earned };
        self.database.put_block(kept, move || drop(table.put(put))).await?;
        match self.table.kept(block.caller) {
            Some(kept) if kept.block != block => {
                self.note(block.caller);
                Ok(kept.block)
            }
            _ => Ok(block),
        }
    }

    pub(super) async fn lift(&self, caller: Caller, now: Timestamp) -> Result<Option<Block>, DatabaseError> {
        let (table, lifted) = (Arc::clone(&self.table), Arc::new(Mutex::new(None)));
        let what = Arc::clone(&lifted);
        self.database.lift_block(caller, move || *what.lock() = table.lift(caller, now)).await?;
        let lifted = lifted.lock().take();
        Ok(lifted)
    }

    fn ask(&self) -> Pending<()> {
        let (table, unsaved) = (Arc::clone(&self.table), Arc::clone(&self.unsaved));
        let done = Arc::clone(&self.unsaved);
        let take = move || {
            let mut unsaved = unsaved.lock();
            unsaved.line = Line::Empty;
            let waiting = std::mem::take(&mut unsaved.waiting);
            unsaved.on_the_way.extend(waiting);
            let all: Vec<Caller> = unsaved.on_the_way.iter().copied().collect();
            drop(unsaved);
            all.into_iter().map(|caller| (caller, table.kept(caller))).collect()
        };
        self.database.save_blocks(take, move || done.lock().on_the_way.clear())
    }
}
