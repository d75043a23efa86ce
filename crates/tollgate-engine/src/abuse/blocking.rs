//! Blocks of this node, and of all nodes where several share a store: what one blocks, all of them do.

use std::sync::Arc;

use tollgate_core::block::{Block, Caller};
use tollgate_core::policy::Blocks;
use tollgate_core::time::Timestamp;
use tollgate_store::redis::blocks::{BlockNews, ShareError, SharedBlock, SharedBlocks, Watching};

use super::blocks::BlockTable;

/// Who is blocked.
#[derive(Debug)]
pub struct Blocking {
    table: Arc<BlockTable>,
    /// Nothing: there are no other nodes.
    others: Option<(SharedBlocks, Watching)>,
}

impl Blocking {
    /// The blocks of a node that is alone.
    pub fn alone() -> Self {
        Self { table: Arc::default(), others: None }
    }

    /// The blocks of a node among others. `now` is its clock: other nodes' blocks end by it. Must be called within a
    /// tokio runtime.
    pub fn shared(others: SharedBlocks, now: impl Fn() -> Timestamp + Send + 'static) -> Self {
        let table = Arc::new(BlockTable::default());
        let heard = Arc::clone(&table);
        let watching = others.watch(move |news| hear(&heard, news, now()));
        Self { table, others: Some((others, watching)) }
    }

    /// Until when a caller is blocked, if it is. Asks nobody.
    #[inline]
    pub fn is_blocked(&self, caller: Caller, now: Timestamp) -> Option<Timestamp> {
        self.table.is_blocked(caller, now)
    }

    /// Blocks a caller that was refused too often, here and then everywhere.
    pub fn block(&self, caller: Caller, now: Timestamp, blocks: &Blocks) -> Block {
        let block = self.table.block(caller, now, blocks);
        if let Some((others, _)) = &self.others
            && block.since == now
        {
            others.share(SharedBlock::of(block.clone(), now));
        }
        block
    }

    /// Does what an administrator says, everywhere or, where that fails, nowhere.
    pub async fn put(&self, block: Block, now: Timestamp) -> Result<Block, ShareError> {
        if let Some((others, _)) = &self.others {
            others.put(&SharedBlock::of(block.clone(), now)).await?;
        }
        Ok(self.table.put(block))
    }

    /// Lifts a block everywhere or, where that fails, nowhere. What was lifted, if there was one.
    pub async fn lift(&self, caller: Caller, now: Timestamp) -> Result<Option<Block>, ShareError> {
        if let Some((others, _)) = &self.others {
            others.lift(caller).await?;
        }
        Ok(self.table.lift(caller, now))
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
    use tollgate_core::block::Origin;
    use tollgate_core::plan::HomeId;
    use tollgate_core::policy::AppliesTo;
    use tollgate_core::time::{Nanos, Window};

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

    #[tokio::test]
    async fn a_node_that_is_alone_blocks_and_lifts_by_itself() {
        let blocking = Blocking::alone();
        let caller = Caller::client(HomeId(1));
        let settings = Blocks {
            applies_to: AppliesTo::Clients,
            after: 10,
            within: Window::MINUTE,
            first: Nanos::from_secs(60),
            max: Nanos::from_secs(3_600),
        };
        let block = blocking.block(caller, START, &settings);
        assert_eq!(blocking.is_blocked(caller, START), Some(block.until));
        assert_eq!(blocking.lift(caller, START).await, Ok(Some(block.clone())));
        assert_eq!(blocking.put(block.clone(), START).await, Ok(block));
        assert_eq!(blocking.count(START), 1);
    }
}
