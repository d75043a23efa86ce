//! The hourly check where the meters are in a Redis: its cost follows new records.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_engine::books::LastCheck;
use sluicegate_engine::{Books, Engine};
use sluicegate_testkit::redis::{Engine as Server, RedisServer};

use crate::place::{costing, request};
use crate::shared_place::{customer, node};

const PLANS: &str = "tiers: {metered: {quota: 1000, on_quota_exceeded: bill_overage}}";

async fn spend(engine: &Engine, key: &str, requests: usize) {
    for _ in 0..requests {
        // The spool of these tests is small: it may be full for a moment.
        while !engine.decided(&costing(request(key), 2), engine.now()).await.is_admitted() {
            engine.spool().flush().unwrap();
        }
    }
}

/// Checks until the journal has come to the end: what the store may not know yet is read again.
async fn check_until_all_is_told(books: &Arc<Books>) -> LastCheck {
    for _ in 0..500 {
        let check = books.check().await.unwrap();
        assert_eq!(check.drifting, 0, "{check:?}");
        if check.records == 0 {
            return check;
        }
        // Between two looks at what a real server and the journal do.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("old records are read again and again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_reads_new_records_only_and_finds_what_the_store_has_lost() {
    let (redis, dir) = (RedisServer::new(Server::Redis), tempfile::tempdir().unwrap());
    let engine = node(PLANS, &redis.url(), Duration::from_secs(10), &dir).await;
    let key = customer(&engine).await;
    let books = Arc::new(Books::open(Arc::clone(&engine), dir.path()).unwrap());
    let keeping = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.keep_journal().await }
    });
    spend(&engine, &key, 300).await;
    let first = books.check().await.unwrap();
    assert_eq!((first.records, first.quotas, first.drifting), (300, 1, 0));
    assert_eq!(check_until_all_is_told(&books).await.quotas, 0, "nothing is compared that nobody used");
    spend(&engine, &key, 3).await;
    let next = books.check().await.unwrap();
    assert_eq!((next.records, next.quotas, next.drifting), (3, 1, 0));
    check_until_all_is_told(&books).await;
    // A record that the store does not know of.
    let mut last = None;
    engine.spool().read(engine.spool().first(), |_, record| last = Some(*record)).unwrap();
    engine.spool().reserve().unwrap().append(&last.unwrap());
    let found = books.check().await.unwrap();
    assert_eq!((found.records, found.drifting, found.units), (1, 1, 2));
    keeping.abort();
    let _ = keeping.await;
}
