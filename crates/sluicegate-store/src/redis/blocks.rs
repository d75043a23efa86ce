//! Blocks that all nodes share: kept in Redis until they end by its clock, and told to every node at once.
//!
//! A node answers blocked callers from its own memory; what is here only fills that memory. All blocks are read at the
//! start and whenever news may have been missed. There is room for a fixed number of them: beyond it, the block that
//! ends first is no longer kept for nodes to come.

mod ask;
mod layout;
mod outbox;
mod record;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate_core::block::Caller;
use tokio::task::JoinHandle;

use self::ask::{LIFT, LIST, PUT, run};
use self::layout::CHANNEL;
use self::outbox::Outbox;
use super::link::Link;

pub use self::ask::ShareError;
pub use self::record::SharedBlock;

/// How many blocks are kept for all nodes.
pub const BLOCKS_MAX: usize = 1 << 17;

/// How many are asked for at once.
const PAGE: usize = 1_000;

/// What a node hears of other nodes, and of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockNews {
    /// A caller is blocked.
    Blocked(SharedBlock),
    /// A caller is not blocked any more.
    Lifted(Caller),
    /// Everybody who is blocked: the start, or news may have been missed.
    All {
        /// Who is blocked. Nobody else is,
        blocks: Vec<SharedBlock>,
        /// but for those that this node has yet to tell the others.
        pending: BTreeSet<Caller>,
    },
}

/// Whether there was a block to lift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifted {
    /// There was.
    Block,
    /// There was none.
    Nothing,
}

/// The blocks of all nodes.
#[derive(Debug)]
pub struct SharedBlocks {
    shared: Arc<Shared>,
    tell: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    link: Link,
    outbox: Outbox,
    listening: AtomicBool,
}

impl SharedBlocks {
    /// The blocks behind a link. Must be called within a tokio runtime.
    pub fn new(link: Link) -> Self {
        let shared = Arc::new(Shared { link, outbox: Outbox::default(), listening: AtomicBool::new(false) });
        let tell = tokio::spawn(watch::tell(Arc::clone(&shared)));
        Self { shared, tell }
    }

    /// Has every node block a caller. An administrator's block replaces the one that there is; one that a caller has
    /// earned never shortens it.
    pub async fn put(&self, block: &SharedBlock) -> Result<(), ShareError> {
        self.shared.outbox.forget(block.caller);
        put(&self.shared.link, &[block]).await
    }

    /// Has every node block a caller, as soon as can be. Nobody waits for it, and a store that is away hears of it when
    /// it is back.
    pub fn share(&self, block: SharedBlock) {
        self.shared.outbox.put(block);
    }

    /// Has every node lift the block of a caller.
    pub async fn lift(&self, caller: Caller) -> Result<Lifted, ShareError> {
        self.shared.outbox.forget(caller);
        let arguments = [CHANNEL.to_owned(), record::caller_text(caller)];
        let lifted: u64 = run(&self.shared.link, &LIFT, &arguments).await?;
        Ok(if lifted == 1 { Lifted::Block } else { Lifted::Nothing })
    }

    /// Every block there is.
    pub async fn list(&self) -> Result<Vec<SharedBlock>, ShareError> {
        list(&self.shared.link).await
    }

    /// Hears of all blocks at once, and of every change from then on, for as long as what is returned exists.
    pub fn watch(&self, hear: impl FnMut(BlockNews) + Send + 'static) -> Watching {
        Watching(tokio::spawn(watch::watch(Arc::clone(&self.shared), hear)))
    }

    /// Whether changes by other nodes are heard of at once.
    pub fn is_listening(&self) -> bool {
        self.shared.listening.load(Ordering::Acquire)
    }
}

impl Drop for SharedBlocks {
    fn drop(&mut self) {
        self.tell.abort();
    }
}

/// While this exists, blocks are heard of.
#[derive(Debug)]
#[must_use = "nothing is heard once it is dropped"]
pub struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn put(link: &Link, blocks: &[&SharedBlock]) -> Result<(), ShareError> {
    let settings = [CHANNEL.to_owned(), BLOCKS_MAX.to_string()];
    let blocks = blocks.iter().flat_map(|block| block.arguments());
    let arguments: Vec<String> = settings.into_iter().chain(blocks).collect();
    let _remaining: Vec<u64> = run(link, &PUT, &arguments).await?;
    Ok(())
}

async fn list(link: &Link) -> Result<Vec<SharedBlock>, ShareError> {
    let (mut blocks, mut cursor) = (Vec::new(), "0".to_owned());
    // A table that is being written to may give an entry twice, so that there is no end to wait for but this one.
    for _ in 0..=4 * BLOCKS_MAX / PAGE {
        let arguments = [cursor, PAGE.to_string()];
        let (now_ms, next, page): (u64, String, Vec<String>) = run(link, &LIST, &arguments).await?;
        let (records, _) = page.as_chunks::<2>();
        blocks.extend(
            records.iter().filter_map(|[caller, record]| SharedBlock::of_record(caller, record, now_ms)),
        );
        if next == "0" {
            break;
        }
        cursor = next;
    }
    Ok(blocks)
}
