//! A data directory belongs to one store: another is refused, and one that was emptied is not written to.

use std::path::Path;

use sluicegate_store::database::Database;
use sluicegate_store::directory::{CacheLimits, Directory, StoreError, WriteError};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::identity::{StoreKind, StoreMemory, StoreMismatch, StoreState};
use sluicegate_store::key_text::{KeyHasher, PresentedKey};
use sluicegate_testkit::redis::{Engine, RedisServer};
use tempfile::TempDir;

use crate::room::{account_of, at, link, make_account, make_key, new_account, time};

fn hashers() -> (HomeHasher, KeyHasher) {
    (HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32]))
}

/// A node with this data directory on that server.
async fn open_shared(dir: &Path, server: &RedisServer) -> Result<Directory, StoreError> {
    let ((homes, keys), database) = (hashers(), Database::open(&dir.join("sluicegate.db")).unwrap());
    let memory = StoreMemory::of_directory(dir).unwrap();
    let link = link(&server.url()).await;
    Directory::shared_known(link, homes, keys, CacheLimits::default(), (memory, &database)).await
}

/// A node with this data directory and nothing else.
fn open_alone(dir: &Path) -> Result<Directory, StoreError> {
    let ((homes, keys), database) = (hashers(), Database::open(&dir.join("sluicegate.db")).unwrap());
    Directory::open_known(database, homes, keys, StoreMemory::of_directory(dir).unwrap())
}

fn adopt_next(dir: &Path) {
    StoreMemory::of_directory(dir).unwrap().adopt_next().unwrap();
}

fn is_not_adopted<T: std::fmt::Debug>(done: Result<T, WriteError>, state: StoreState) {
    let refused = done.unwrap_err();
    assert_eq!(refused, WriteError::Unavailable(StoreError::NotAdopted(state)));
    assert!(refused.to_string().contains("sluicegate directory adopt"), "{refused}");
}

const KIND: fn(StoreKind, StoreKind) -> StoreError =
    |remembered, found| StoreError::Mismatch(StoreMismatch::Kind { remembered, found });

#[tokio::test]
async fn a_store_that_was_emptied_under_a_node_is_not_written_to_until_it_is_adopted() {
    let (dir, server) = (TempDir::new().unwrap(), RedisServer::new(Engine::Redis));
    let directory = open_shared(dir.path(), &server).await.unwrap();
    let first = make_account(&directory, "acme").await;
    let (key, seen) = make_key(&directory, "acme").await;
    let (_, unseen) = make_key(&directory, "acme").await;
    assert!(account_of(&directory, seen.expose(), 0).await.is_some());
    server.ask(&["FLUSHALL"]);
    is_not_adopted(directory.create_account(new_account("newco"), &at(1)).await, StoreState::Emptied);
    is_not_adopted(directory.revoke_key(key.id, &at(1)).await, StoreState::Emptied);
    is_not_adopted(directory.delete_account("acme", &at(1)).await, StoreState::Emptied);
    assert_eq!(directory.store_state(), StoreState::Emptied);
    assert_eq!(server.ask(&["KEYS", "*"]).list().len(), 0, "nothing was written");
    // Who was seen is known for a day; who was not cannot be told from a stranger.
    for now in [time(2), time(3_600)] {
        let parsed = |text| PresentedKey::parse(text).unwrap();
        assert!(directory.known_while_away(&parsed(seen.expose()), now).is_some());
        assert!(directory.known_while_away(&parsed(unseen.expose()), now).is_none());
        assert!(directory.fetch(&parsed(unseen.expose()), now).await.is_err());
    }
    assert_eq!(directory.adopt_store(&at(4)).await.unwrap(), StoreState::Emptied);
    assert_eq!(directory.store_state(), StoreState::Known);
    let newcomer = make_account(&directory, "newco").await;
    assert!(newcomer.serial > first.serial, "{} {}", newcomer.serial, first.serial);
    let entries = directory.list_audit(Default::default()).await.unwrap().items;
    assert_eq!(
        entries.iter().rev().map(|entry| &*entry.action).collect::<Vec<_>>(),
        ["store.adopt", "account.create"]
    );
    assert_eq!(directory.adopt_store(&at(5)).await.unwrap(), StoreState::Known, "there is nothing to adopt");
}

#[tokio::test]
async fn a_node_that_starts_on_an_emptied_store_changes_nothing_and_another_may_adopt_it() {
    let (one, two, server) =
        (TempDir::new().unwrap(), TempDir::new().unwrap(), RedisServer::new(Engine::Redis));
    let (first, second) =
        (open_shared(one.path(), &server).await.unwrap(), open_shared(two.path(), &server).await.unwrap());
    make_account(&first, "acme").await;
    drop((first, second));
    server.ask(&["FLUSHALL"]);
    let first = open_shared(one.path(), &server).await.unwrap();
    let second = open_shared(two.path(), &server).await.unwrap();
    for node in [&first, &second] {
        assert_eq!(node.store_state(), StoreState::Emptied);
        is_not_adopted(node.create_account(new_account("newco"), &at(1)).await, StoreState::Emptied);
    }
    first.adopt_store(&at(2)).await.unwrap();
    // To the other it is the store that it knows, once more.
    make_account(&second, "newco").await;
    assert_eq!(second.store_state(), StoreState::Known);
    // A copy from before is not it.
    drop(second);
    server.ask(&["HSET", "sg1:{dir}:state", "generation", "1"]);
    assert_eq!(open_shared(one.path(), &server).await.unwrap().store_state(), StoreState::Emptied);
    assert_eq!(
        open_shared(two.path(), &server).await.unwrap().store_state(),
        StoreState::Known,
        "it heard of no later one"
    );
}

#[tokio::test]
async fn another_redis_is_refused_until_it_is_adopted() {
    let (dir, here, there) =
        (TempDir::new().unwrap(), RedisServer::new(Engine::Redis), RedisServer::new(Engine::Redis));
    make_account(&open_shared(dir.path(), &here).await.unwrap(), "acme").await;
    let fresh = TempDir::new().unwrap();
    make_account(&open_shared(fresh.path(), &there).await.unwrap(), "other").await;
    for _ in 0..2 {
        let refused = open_shared(dir.path(), &there).await.unwrap_err();
        assert_eq!(refused, StoreError::Mismatch(StoreMismatch::Other));
        assert!(refused.to_string().contains("sluicegate directory adopt --data-dir"), "{refused}");
    }
    assert!(open_shared(dir.path(), &here).await.is_ok());
    adopt_next(dir.path());
    assert!(open_shared(dir.path(), &there).await.unwrap().find_account("other").await.unwrap().is_some());
    // From then on the other one is foreign.
    assert!(open_shared(dir.path(), &there).await.is_ok());
    assert!(open_shared(dir.path(), &here).await.is_err());
}

#[tokio::test]
async fn a_store_of_another_kind_is_refused_until_it_is_adopted() {
    let (dir, server) = (TempDir::new().unwrap(), RedisServer::new(Engine::Redis));
    make_account(&open_alone(dir.path()).unwrap(), "acme").await;
    let refused = open_shared(dir.path(), &server).await.unwrap_err();
    assert_eq!(refused, KIND(StoreKind::Embedded, StoreKind::Redis));
    assert_eq!(server.ask(&["KEYS", "*"]).list().len(), 0, "nothing was written");
    adopt_next(dir.path());
    make_account(&open_shared(dir.path(), &server).await.unwrap(), "acme").await;
    assert_eq!(open_alone(dir.path()).unwrap_err(), KIND(StoreKind::Redis, StoreKind::Embedded));
    adopt_next(dir.path());
    assert!(open_alone(dir.path()).unwrap().find_account("acme").await.unwrap().is_some());
}

#[tokio::test]
async fn a_directory_whose_database_was_removed_is_not_written_to_until_it_is_adopted() {
    let dir = TempDir::new().unwrap();
    make_account(&open_alone(dir.path()).unwrap(), "acme").await;
    for name in ["sluicegate.db", "sluicegate.db-wal", "sluicegate.db-shm"] {
        let _ = std::fs::remove_file(dir.path().join(name));
    }
    for _ in 0..2 {
        let directory = open_alone(dir.path()).unwrap();
        assert_eq!(directory.store_state(), StoreState::Emptied);
        is_not_adopted(directory.create_account(new_account("newco"), &at(1)).await, StoreState::Emptied);
    }
    let directory = open_alone(dir.path()).unwrap();
    assert_eq!(directory.adopt_store(&at(2)).await.unwrap(), StoreState::Emptied);
    make_account(&directory, "newco").await;
    drop(directory);
    assert_eq!(open_alone(dir.path()).unwrap().store_state(), StoreState::Known);
}
