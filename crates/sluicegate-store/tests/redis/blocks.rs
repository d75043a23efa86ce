//! Blocks that nodes share: one blocks, all of them know within a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sluicegate_core::block::{Caller, Origin, Reason};
use sluicegate_core::plan::{HomeId, Sharer};
use sluicegate_core::time::Nanos;
use sluicegate_store::redis::blocks::{
    BLOCKS_MAX, BlockNews, Lifted, ShareError, SharedBlock, SharedBlocks, Watching,
};
use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::redis::{Cluster, Engine, RedisLaunch, RedisServer};

use crate::bed::{PATIENT, link, runtime};
use crate::on_each_engine;

on_each_engine!(
    every_node_knows_of_a_block_within_a_second_and_of_its_end_by_itself,
    a_lifted_block_is_lifted_everywhere,
    a_node_that_starts_reads_what_there_is,
    an_earned_block_never_shortens_an_administrators,
    thousands_of_blocks_are_told_within_a_second,
    what_was_missed_is_read_when_the_store_is_back,
    what_could_not_be_told_is_told_when_the_store_is_back,
    what_is_over_is_gone_from_the_store,
    records_of_another_version_are_passed_over,
    nodes_of_a_cluster_share_blocks,
);

const PROMISED: Duration = Duration::from_secs(1);

/// What a node knows from what it has heard.
#[derive(Default)]
struct Known {
    blocks: BTreeMap<Caller, SharedBlock>,
    pending: BTreeSet<Caller>,
    all: usize,
}

struct Node {
    blocks: SharedBlocks,
    known: Arc<Mutex<Known>>,
    _watching: Watching,
}

impl Node {
    async fn start(url: &str) -> Self {
        let link = link(url, PATIENT);
        link.ready(PATIENT).await.unwrap();
        let blocks = SharedBlocks::new(link);
        let known = Arc::new(Mutex::new(Known::default()));
        let heard = Arc::clone(&known);
        let watching = blocks.watch(move |news| {
            let mut known = heard.lock();
            match news {
                BlockNews::Blocked(block) => drop(known.blocks.insert(block.caller, block)),
                BlockNews::Lifted(caller) => drop(known.blocks.remove(&caller)),
                BlockNews::All { blocks, pending } => {
                    known.all += 1;
                    known.pending = pending;
                    known.blocks = blocks.into_iter().map(|block| (block.caller, block)).collect();
                }
            }
        });
        let node = Self { blocks, known, _watching: watching };
        node.until(PATIENT, |_| node.blocks.is_listening()).await;
        node
    }

    fn has(&self, caller: Caller) -> Option<SharedBlock> {
        self.known.lock().blocks.get(&caller).cloned()
    }

    async fn until(&self, promised: Duration, is_so: impl Fn(&Known) -> bool) {
        let waited = async {
            while !is_so(&self.known.lock()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(promised, waited).await.expect("it is so in time");
    }

    /// What the store has, once it has so many: the end of a block is the server's own doing.
    async fn until_listed(&self, count: usize) -> Vec<SharedBlock> {
        let listed = async {
            loop {
                let listed = self.blocks.list().await.unwrap();
                if listed.len() == count {
                    return listed;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENT, listed).await.expect("there are so many in time")
    }

    async fn until_has(&self, caller: Caller) -> SharedBlock {
        self.until(PROMISED, |known| known.blocks.contains_key(&caller)).await;
        self.has(caller).unwrap()
    }
}

fn client(home: u128) -> Caller {
    Caller::client(HomeId(home << 64 | 0xabc))
}

fn block(caller: Caller, millis: u64, origin: Origin) -> SharedBlock {
    let length = Nanos(millis * 1_000_000);
    SharedBlock { caller, length, remaining: length, origin, reason: None }
}

fn manual(caller: Caller, millis: u64, reason: &str) -> SharedBlock {
    SharedBlock { reason: Reason::new(reason).ok(), ..block(caller, millis, Origin::Manual) }
}

fn every_node_knows_of_a_block_within_a_second_and_of_its_end_by_itself(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let (one, two) = (Node::start(&server.url()).await, Node::start(&server.url()).await);
        let key = Caller::key(HomeId(9), Sharer::key(3.try_into().unwrap()));
        let told = manual(client(1), 60_000, "scrapes the whole catalogue");
        one.blocks.put(&told).await.unwrap();
        one.blocks.share(block(key, 300, Origin::Automatic));
        assert_eq!(two.until_has(client(1)).await, told);
        assert_eq!(two.until_has(key).await.length, Nanos(300_000_000));
        // The node itself hears of it as well.
        assert_eq!(one.until_has(client(1)).await, told);
        assert_eq!(two.blocks.list().await.unwrap().len(), 2);
        let left = two.until_listed(1).await;
        assert_eq!((left[0].caller, left[0].length), (client(1), told.length));
        assert!(left[0].remaining < told.remaining);
    });
}

fn a_lifted_block_is_lifted_everywhere(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let (one, two) = (Node::start(&server.url()).await, Node::start(&server.url()).await);
        one.blocks.put(&manual(client(1), 60_000, "a mistake")).await.unwrap();
        two.until_has(client(1)).await;
        assert_eq!(two.blocks.lift(client(1)).await, Ok(Lifted::Block));
        for node in [&one, &two] {
            node.until(PROMISED, |known| known.blocks.is_empty()).await;
        }
        assert_eq!(one.blocks.lift(client(1)).await, Ok(Lifted::Nothing));
        assert_eq!(one.blocks.list().await, Ok(Vec::new()));
    });
}

fn a_node_that_starts_reads_what_there_is(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let one = Node::start(&server.url()).await;
        for home in 0..2_500 {
            one.blocks.share(block(client(home), 60_000, Origin::Automatic));
        }
        one.until(PATIENT, |known| known.blocks.len() == 2_500).await;
        let two = Node::start(&server.url()).await;
        assert_eq!(two.known.lock().blocks.len(), 2_500);
        assert_eq!(two.known.lock().all, 1);
    });
}

fn an_earned_block_never_shortens_an_administrators(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let node = Node::start(&server.url()).await;
        node.blocks.put(&manual(client(1), 60_000, "for good reasons")).await.unwrap();
        node.blocks.put(&block(client(1), 1_000, Origin::Automatic)).await.unwrap();
        let left = node.blocks.list().await.unwrap();
        assert_eq!(left[0].origin, Origin::Manual);
        // An administrator's replaces whatever there is.
        node.blocks.put(&manual(client(1), 5_000, "on second thought")).await.unwrap();
        let left = node.blocks.list().await.unwrap();
        assert_eq!(left[0].reason.as_ref().unwrap().as_str(), "on second thought");
        assert!(left[0].remaining <= Nanos(5_000_000_000));
        node.blocks.put(&block(client(1), 9_000, Origin::Automatic)).await.unwrap();
        assert!(node.blocks.list().await.unwrap()[0].remaining > Nanos(8_000_000_000));
    });
}

fn thousands_of_blocks_are_told_within_a_second(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let (one, two) = (Node::start(&server.url()).await, Node::start(&server.url()).await);
        for home in 0..5_000 {
            one.blocks.share(block(client(home), 60_000, Origin::Automatic));
        }
        two.until(PROMISED, |known| known.blocks.len() == 5_000).await;
    });
}

fn what_was_missed_is_read_when_the_store_is_back(engine: Engine) {
    let server = RedisServer::new(engine);
    let proxy = ChaosProxy::start(server.address());
    runtime().block_on(async {
        let whole = Node::start(&server.url()).await;
        let cut = Node::start(&format!("redis://{}", proxy.address())).await;
        whole.blocks.put(&manual(client(1), 60_000, "one")).await.unwrap();
        cut.until_has(client(1)).await;
        proxy.set(Mode::Cut);
        cut.until(PATIENT, |_| !cut.blocks.is_listening()).await;
        whole.blocks.put(&manual(client(2), 60_000, "two")).await.unwrap();
        whole.blocks.lift(client(1)).await.unwrap();
        assert!(cut.has(client(2)).is_none());
        proxy.set(Mode::Pass);
        cut.until(PATIENT, |_| cut.blocks.is_listening()).await;
        assert_eq!((cut.has(client(1)), cut.has(client(2)).is_some()), (None, true));
    });
}

fn what_could_not_be_told_is_told_when_the_store_is_back(engine: Engine) {
    let mut server = RedisLaunch::new(engine).append_only().start();
    runtime().block_on(async {
        let (one, two) = (Node::start(&server.url()).await, Node::start(&server.url()).await);
        server.kill();
        one.until(PATIENT, |_| !one.blocks.is_listening() && !two.blocks.is_listening()).await;
        one.blocks.share(block(client(1), 600_000, Origin::Automatic));
        one.blocks.share(block(client(2), 1, Origin::Automatic));
        let lifted = one.blocks.lift(client(3)).await;
        assert!(matches!(lifted, Err(ShareError::Undone(_) | ShareError::Unanswered)), "{lifted:?}");
        server.restart();
        two.until(PATIENT, |known| known.blocks.contains_key(&client(1))).await;
        // Whoever reads all of them while one is yet to be told is told so.
        one.until(PATIENT, |known| {
            known.all == 2 && (known.blocks.contains_key(&client(1)) || known.pending.contains(&client(1)))
        })
        .await;
        let told = two.has(client(1)).unwrap();
        assert!(told.remaining <= told.length && told.length <= Nanos(600_000_000_000));
        assert!(two.has(client(2)).is_none(), "it was over before it could be told");
    });
}

fn what_is_over_is_gone_from_the_store(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let node = Node::start(&server.url()).await;
        for home in 0..50 {
            node.blocks.put(&block(client(home), 100, Origin::Automatic)).await.unwrap();
        }
        // The server throws it all away by itself.
        let is_empty =
            |_: &Known| server.ask(&["EXISTS", "sg1:{blocks}:ends", "sg1:{blocks}:records"]).text() == "0";
        node.until(PATIENT, is_empty).await;
        node.blocks.put(&block(client(1), 100, Origin::Automatic)).await.unwrap();
        node.until(PATIENT, is_empty).await;
        node.blocks.put(&block(client(2), 60_000, Origin::Automatic)).await.unwrap();
        assert_eq!(server.ask(&["HLEN", "sg1:{blocks}:records"]).text(), "1");
        assert_eq!(server.ask(&["ZCARD", "sg1:{blocks}:ends"]).text(), "1");
        let left: u64 = server.ask(&["PTTL", "sg1:{blocks}:records"]).text().parse().unwrap();
        assert!((50_000..=60_000).contains(&left), "{left}");
    });
}

fn records_of_another_version_are_passed_over(engine: Engine) {
    let server = RedisServer::new(engine);
    runtime().block_on(async {
        let node = Node::start(&server.url()).await;
        node.blocks.put(&block(client(1), 60_000, Origin::Automatic)).await.unwrap();
        server.ask(&["HSET", "sg1:{blocks}:records", "somebody", "2 of the future"]);
        server.ask(&["PUBLISH", "sg1:{blocks}:news", "2 of the future\n1 lift nobody\n"]);
        node.until_has(client(1)).await;
        assert_eq!(node.blocks.list().await.unwrap().len(), 1);
        assert!(node.blocks.is_listening());
    });
}

fn nodes_of_a_cluster_share_blocks(engine: Engine) {
    let cluster = Cluster::start(engine);
    runtime().block_on(async {
        let (one, two) = (Node::start(&cluster.url()).await, Node::start(&cluster.url()).await);
        one.blocks.put(&manual(client(1), 60_000, "everywhere")).await.unwrap();
        one.blocks.share(block(client(2), 60_000, Origin::Automatic));
        two.until_has(client(1)).await;
        two.until_has(client(2)).await;
        two.blocks.lift(client(1)).await.unwrap();
        one.until(PROMISED, |known| known.blocks.len() == 1).await;
    });
}

#[test]
fn the_list_is_bounded_and_what_ends_first_leaves_it() {
    let server = RedisServer::new(Engine::Redis);
    let most = u64::try_from(BLOCKS_MAX).unwrap();
    // As many as there may be, as a node would have written them, ending one after the other.
    let fill = "local time = redis.call('TIME')
        local now = tonumber(time[1]) * 1000
        for at = 1, tonumber(ARGV[1]) do
          local caller, till = string.format('%032x', at), string.format('%.0f', now + 600000 + at)
          redis.call('ZADD', KEYS[1], till, caller)
          redis.call('HSET', KEYS[2], caller, '1 ' .. till .. ' 600000 a ')
        end";
    let keys = ["sg1:{blocks}:ends", "sg1:{blocks}:records"];
    server.ask(&["EVAL", fill, "2", keys[0], keys[1], &most.to_string()]);
    runtime().block_on(async {
        let node = Node::start(&server.url()).await;
        assert_eq!(node.known.lock().blocks.len(), BLOCKS_MAX);
        node.blocks.put(&manual(client(1), 6_000_000, "one too many")).await.unwrap();
        assert_eq!(server.ask(&["ZCARD", keys[0]]).text(), most.to_string());
        assert_eq!(server.ask(&["HLEN", keys[1]]).text(), most.to_string());
        let first = Caller::client(HomeId(1));
        let left = node.blocks.list().await.unwrap();
        assert!(left.iter().all(|block| block.caller != first));
        assert!(left.iter().any(|block| block.caller == client(1)));
    });
}
