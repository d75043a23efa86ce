//! What stands in Redis: under which keys, in which version, and with whose secret.

use sluicegate_store::directory::{CacheLimits, Directory, RedisError, StoreError, WriteError};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyHasher, KeyId};
use sluicegate_testkit::redis::{Engine, RedisServer};

use crate::room::{account_of, at, link, make_account, make_key, new_key, open_shared, time};

#[tokio::test]
async fn a_node_with_another_secret_is_told_so_and_changes_nothing() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    let (_, secret) = make_key(&directory, "acme").await;
    let open = async |secret: u8| {
        let (homes, keys) = (HomeHasher::new([1; 16]), KeyHasher::new(&[secret; 32]));
        Directory::shared(link(&server.url()).await, homes, keys, CacheLimits::default()).await
    };
    for _ in 0..2 {
        let refused = open(3).await.unwrap_err();
        assert_eq!(refused, StoreError::Redis(RedisError::OtherSecret));
        assert!(refused.to_string().contains("SLUICEGATE_SECRET"), "{refused}");
    }
    let same = open(2).await.unwrap();
    assert_eq!(account_of(&same, secret.expose(), 0).await.as_deref(), Some("acme"));
    // What is kept says nothing of the secret itself.
    let kept = server.ask(&["HGET", "sg1:{dir}:state", "secret"]).text();
    assert_eq!((kept.len(), kept.contains("0202")), (32, false));
}

#[tokio::test]
async fn all_keys_have_the_version_and_the_slot_in_their_name() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    make_key(&directory, "acme").await;
    let keys = server.ask(&["KEYS", "*"]);
    assert!(keys.list().len() >= 7);
    let slot = server.ask(&["CLUSTER", "KEYSLOT", "{dir}"]).text();
    for key in keys.list() {
        assert!(key.text().starts_with("sg1:{dir}:"), "{}", key.text());
        assert_eq!(server.ask(&["CLUSTER", "KEYSLOT", &key.text()]).text(), slot);
        // Nothing of it expires but the answers to writes, which are kept in case they are lost.
        let expires = server.ask(&["PTTL", &key.text()]).text() != "-1";
        assert_eq!(expires, key.text().starts_with("sg1:{dir}:answered:"), "{}", key.text());
    }
}

#[tokio::test]
async fn records_of_a_version_that_is_not_known_are_left_alone() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    let account = make_account(&directory, "acme").await;
    let (key, secret) = make_key(&directory, "acme").await;
    let newer = |hash: &str, field: &str, version: &str| {
        let text = server.ask(&["HGET", hash, field]).text();
        assert!(text.starts_with(&format!("{{\"v\":{version},")), "{text}");
        server.ask(&["HSET", hash, field, &text.replacen(&format!("\"v\":{version}"), "\"v\":3", 1)]);
    };
    newer("sg1:{dir}:keys", key.id.as_str(), "1");
    let presented = sluicegate_store::key_text::PresentedKey::parse(secret.expose()).unwrap();
    let refused = directory.fetch(&presented, time(0)).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Redis(RedisError::Newer { found: 3, .. })), "{refused}");
    assert!(refused.to_string().contains("upgrade"), "{refused}");
    assert!(directory.find_key(key.id).await.is_err());
    assert!(directory.revoke_key(key.id, &at(1)).await.is_err());
    assert!(directory.list_keys("acme", Default::default()).await.is_err());
    // An account whose meters go by its serial: versions that would look under its id refuse it.
    newer("sg1:{dir}:accounts", &account.serial.to_string(), "2");
    assert!(directory.list_accounts(Default::default()).await.is_err());
    assert!(directory.delete_account("acme", &at(1)).await.is_err());
    // What is known is served beside it.
    make_account(&directory, "other").await;
    assert!(directory.find_account("other").await.unwrap().is_some());
    assert_eq!(directory.list_audit(Default::default()).await.unwrap().items.len(), 3);
}

#[tokio::test]
async fn a_server_that_forgot_the_scripts_is_told_them_again() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    server.ask(&["SCRIPT", "FLUSH"]);
    let (_, secret) = make_key(&directory, "acme").await;
    server.ask(&["SCRIPT", "FLUSH"]);
    assert!(account_of(&directory, secret.expose(), 0).await.is_some());
}

#[tokio::test]
async fn numbers_stay_exact_far_beyond_what_lua_prints() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    let large = (1_u64 << 53) - 3;
    server.ask(&["HSET", "sg1:{dir}:state", "account-last", &large.to_string()]);
    server.ask(&["HSET", "sg1:{dir}:state", "key-last", &large.to_string()]);
    let first = make_account(&directory, "a").await;
    let second = make_account(&directory, "b").await;
    assert_eq!((first.serial, second.serial), (large + 1, large + 2));
    assert_eq!(directory.find_account_by_serial(large + 1).await.unwrap(), Some(first));
    server.ask(&["HSET", "sg1:{dir}:state", &format!("made:{}", second.serial), "4294967293"]);
    let (key, _) = make_key(&directory, "b").await;
    assert_eq!((key.serial, key.number), (large + 1, u32::MAX - 1));
    let (last, secret) = make_key(&directory, "b").await;
    assert_eq!((last.serial, last.number), (large + 2, u32::MAX));
    assert_eq!(directory.find_key_by_serial(large + 2).await.unwrap(), Some(last.clone()));
    assert_eq!(account_of(&directory, secret.expose(), 0).await.as_deref(), Some("b"));
    let full = directory.create_key("b", new_key(), &at(0)).await;
    assert_eq!(full.unwrap_err(), WriteError::TooManyKeys);
    let ids = |keys: Vec<sluicegate_store::directory::KeyRecord>| -> Vec<KeyId> {
        keys.into_iter().map(|key| key.id).collect()
    };
    let listed = directory.list_keys("b", Default::default()).await.unwrap().items;
    assert_eq!(ids(listed), [key.id, last.id]);
}
