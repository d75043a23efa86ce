//! Blocks of this node, which outlive its process; and of all nodes where several share a store: what one blocks, all
//! of them do.

mod disk;

use std::fmt;
use std::sync::Arc;

use sluicegate_core::block::{Block, Caller};
use sluicegate_core::policy::Blocks;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::database::{Database, DatabaseError, KeptBlock};
use sluicegate_store::redis::blocks::{BlockNews, ShareError, SharedBlock, SharedBlocks, Watching};

use self::disk::Disk;
use super::blocks::BlockTable;

/// Who is blocked.
#[derive(Debug)]
pub struct Blocking {
    table: Arc<BlockTable>,
    kept: Kept,
}

/// Who else has to know.
#[derive(Debug)]
enum Kept {
    /// The disk: there are no other nodes.
    Here(Disk),
    /// The other nodes, and the store that they share.
    There { others: SharedBlocks, _watching: Watching },
}

/// Why nobody was blocked, and no block lifted.
#[derive(Debug)]
pub enum BlockError {
    /// Other nodes could not be told.
    Share(ShareError),
    /// It could not be written down.
    Database(DatabaseError),
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BlockError {}

impl Blocking {
    /// The blocks of a node that is alone: those that its database has kept, of which each is remembered for `memory`
    /// after its end.
    pub fn alone(database: Database, kept: Vec<KeptBlock>, memory: Nanos, now: Timestamp) -> Self {
        let (table, found) = (Arc::new(BlockTable::default()), kept.len());
        for block in kept {
            table.restore(block, memory, now);
        }
        Self { kept: Kept::Here(Disk::new(database, Arc::clone(&table), found)), table }
    }

    /// The blocks of a node among others. `now` is its clock: other nodes' blocks end by it. Must be called within a
    /// tokio runtime.
    pub fn shared(others: SharedBlocks, now: impl Fn() -> Timestamp + Send + 'static) -> Self {
        let table = Arc::new(BlockTable::default());
        let heard = Arc::clone(&table);
        let watching = others.watch(move |news| hear(&heard, news, now()));
        Self { table, kept: Kept::There { others, _watching: watching } }
    }

    /// Until when a caller is blocked, if it is. Asks nobody.
    #[inline]
    pub fn is_blocked(&self, caller: Caller, now: Timestamp) -> Option<Timestamp> {
        self.table.is_blocked(caller, now)
    }

    /// Blocks a caller that was refused too often, here and then everywhere.
    pub fn block(&self, caller: Caller, now: Timestamp, blocks: &Blocks) -> Block {
        let block = self.table.block(caller, now, blocks);
        if block.since == now {
            match &self.kept {
                Kept::Here(disk) => disk.note(caller),
                Kept::There { others, .. } => others.share(SharedBlock::of(block.clone(), now)),
            }
        }
        block
    }

    /// Does what an administrator says, for good and everywhere or, where that fails, nowhere.
    pub async fn put(&self, block: Block, now: Timestamp) -> Result<Block, BlockError> {
        match &self.kept {
            Kept::Here(disk) => disk.put(block).await.map_err(BlockError::Database),
            Kept::There { others, .. } => {
                let shared = SharedBlock::of(block.clone(), now);
                others.put(&shared).await.map_err(BlockError::Share)?;
                Ok(self.table.put(block))
            }
        }
    }

    /// Lifts a block everywhere or, where that fails, nowhere. What was lifted, if there was one.
    pub async fn lift(&self, caller: Caller, now: Timestamp) -> Result<Option<Block>, BlockError> {
        match &self.kept {
            Kept::Here(disk) => disk.lift(caller, now).await.map_err(BlockError::Database),
            Kept::There { others, .. } => {
                others.lift(caller).await.map_err(BlockError::Share)?;
                Ok(self.table.lift(caller, now))
            }
        }
    }

    /// Saves what is not on disk yet, and forgets there what ended `memory` ago. Blocking.
    pub fn save(&self, memory: Nanos, now: Timestamp) -> Result<(), DatabaseError> {
        match &self.kept {
            Kept::Here(disk) => disk.save(memory, now),
            Kept::There { .. } => Ok(()),
        }
    }

    /// The block of a caller, if it is blocked.
    pub fn find(&self, caller: Caller, now: Timestamp) -> Option<Block> {
        self.table.find(caller, now)
    }

    /// The blocks behind `after`, in the order of callers, `max` of them at the most.
    pub fn list(&self, after: Option<Caller>, now: Timestamp, max: usize) -> Vec<Block> {
        self.table.list(after, now, max)
    }

    /// How many callers are blocked.
    pub fn count(&self, now: Timestamp) -> usize {
        self.table.count(now)
    }
}

/// Does what other nodes did.
fn hear(table: &BlockTable, news: BlockNews, now: Timestamp) {
    match news {
        BlockNews::Blocked(block) => drop(table.put(block.at(now))),
        BlockNews::Lifted(caller) => drop(table.lift(caller, now)),
        BlockNews::All { blocks, pending } => {
            let mut stay = pending;
            for block in blocks {
                stay.insert(block.caller);
                table.put(block.at(now));
            }
            table.keep_only(&stay, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::block::Origin;
    use sluicegate_core::plan::HomeId;
    use sluicegate_core::policy::AppliesTo;
    use sluicegate_core::time::Window;

    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn told(home: u128, secs: u32) -> SharedBlock {
        let length = Nanos::from_secs(secs);
        let caller = Caller::client(HomeId(home));
        SharedBlock { caller, length, remaining: length, origin: Origin::Automatic, reason: None }
    }

    fn blocked(table: &BlockTable) -> Vec<u128> {
        table.list(None, START, 100).iter().map(|block| block.caller.home.0).collect()
    }

    #[test]
    fn what_others_say_is_done() {
        let table = BlockTable::default();
        hear(&table, BlockNews::Blocked(told(1, 60)), START);
        hear(&table, BlockNews::Blocked(told(2, 60)), START);
        hear(&table, BlockNews::Lifted(Caller::client(HomeId(1))), START);
        assert_eq!(blocked(&table), [2]);
        let until = table.is_blocked(Caller::client(HomeId(2)), START);
        assert_eq!(until, Some(START.plus(Nanos::from_secs(60))));
    }

    #[test]
    fn what_was_lifted_while_nobody_said_so_is_lifted_but_for_what_others_do_not_know_yet() {
        let table = BlockTable::default();
        for home in 1..=4 {
            hear(&table, BlockNews::Blocked(told(home, 60)), START);
        }
        let pending = [Caller::client(HomeId(3))].into();
        hear(&table, BlockNews::All { blocks: vec![told(2, 60), told(5, 60)], pending }, START);
        assert_eq!(blocked(&table), [2, 3, 5]);
    }

    const HOUR: Nanos = Nanos::from_secs(3_600);
    const SETTINGS: Blocks = Blocks {
        applies_to: AppliesTo::Clients,
        after: 10,
        within: Window::MINUTE,
        first: Nanos::from_secs(60),
        max: HOUR,
    };

    /// The blocks in a folder, as a process finds them that starts now.
    fn open(folder: &tempfile::TempDir, now: Timestamp) -> (Blocking, Database) {
        let database = Database::open(&folder.path().join("t.db")).unwrap();
        let kept = database.load_blocks(Timestamp::from_nanos(now.as_nanos() - HOUR.0)).unwrap();
        (Blocking::alone(database.clone(), kept, HOUR, now), database)
    }

    #[tokio::test]
    async fn a_node_that_is_alone_blocks_and_lifts_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (blocking, _database) = open(&folder, START);
        let caller = Caller::client(HomeId(1));
        let block = blocking.block(caller, START, &SETTINGS);
        assert_eq!(blocking.is_blocked(caller, START), Some(block.until));
        assert_eq!(blocking.lift(caller, START).await.unwrap(), Some(block.clone()));
        assert_eq!(blocking.put(block.clone(), START).await.unwrap(), block);
        assert_eq!(blocking.count(START), 1);
    }

    #[tokio::test]
    async fn blocks_and_how_long_they_were_outlive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let callers: Vec<Caller> = (1..=4).map(|home| Caller::client(HomeId(home << 100))).collect();
        let (blocking, database) = open(&folder, START);
        for caller in &callers[..2] {
            blocking.block(*caller, START, &SETTINGS);
        }
        let by_hand = |caller| Block {
            caller,
            since: START,
            until: START.plus(HOUR),
            origin: Origin::Manual,
            reason: sluicegate_core::block::Reason::new("scrapes").ok(),
        };
        for caller in &callers[1..] {
            blocking.put(by_hand(*caller), START).await.unwrap();
        }
        blocking.lift(callers[3], START).await.unwrap();
        let before = blocking.list(None, START, 10);
        drop((blocking, database));

        let (blocking, database) = open(&folder, START);
        assert_eq!(blocking.list(None, START, 10), before);
        assert_eq!(before.len(), 3);
        drop((blocking, database));

        // The first is over, and not forgotten: the next is twice as long. After an hour all of it is.
        let later = START.plus(Nanos::from_secs(100));
        let (blocking, database) = open(&folder, later);
        assert_eq!(blocking.count(later), 2);
        let next = blocking.block(callers[0], later, &SETTINGS);
        assert_eq!(next.until.since(later), Nanos::from_secs(120));
        let much_later = START.plus(Nanos(3 * HOUR.0));
        blocking.save(HOUR, much_later).unwrap();
        assert_eq!(database.load_blocks(Timestamp::EPOCH).unwrap(), []);
    }

    #[tokio::test]
    async fn what_cannot_be_written_down_is_not_done() {
        let folder = tempfile::tempdir().unwrap();
        let (blocking, database) = open(&folder, START);
        // As on a disk that is full.
        database.limit_pages(1).wait().unwrap();
        let by_hand = |home| Block {
            caller: Caller::client(HomeId(home)),
            since: START,
            until: START.plus(HOUR),
            origin: Origin::Manual,
            reason: sluicegate_core::block::Reason::new(&"a".repeat(200)).ok(),
        };
        for home in 1..1_000 {
            match blocking.put(by_hand(home), START).await {
                Ok(block) => assert_eq!(blocking.find(block.caller, START), Some(block)),
                Err(error) => {
                    assert!(matches!(error, BlockError::Database(_)), "{error}");
                    assert_eq!(blocking.find(by_hand(home).caller, START), None);
                    return;
                }
            }
        }
        unreachable!("the disk was never full");
    }
}
