//! A node that may ask and may not listen: what it remembers is a second old at most.

use std::time::Duration;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::directory::{Directory, Freshness, Looked, Verified};
use sluicegate_store::key_text::PresentedKey;
use sluicegate_testkit::redis::{Engine, RedisServer};

use crate::room::{at, make_account, make_key, open_as, open_shared, tier, time, verified};

async fn until(directory: &Directory, freshness: Freshness) {
    let waited = async {
        while directory.freshness() != freshness {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), waited).await.expect("it is noticed");
}

#[tokio::test]
async fn without_news_a_second_is_all_that_anything_is_believed() {
    let server = RedisServer::new(Engine::Redis);
    server.ask(&["ACL", "SETUSER", "deaf", "on", ">deaf", "~*", "&*", "+@all"]);
    let (writer, deaf) = (open_shared(&server.url()).await, open_as(&server.url(), "deaf").await);
    make_account(&writer, "acme").await;
    let (_, secret) = make_key(&writer, "acme").await;
    assert!(matches!(verified(&deaf, secret.expose(), 0).await, Verified::Key(_)));
    assert_eq!(deaf.freshness(), Freshness::AtOnce);
    // From here on it may listen to nothing: the server ends its subscription, and refuses another.
    server.ask(&["ACL", "SETUSER", "deaf", "resetchannels"]);
    until(&deaf, Freshness::Delayed).await;
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    assert!(matches!(deaf.verify(&presented, time(0)), Looked::Ask), "what it remembered is dropped");
    assert!(matches!(verified(&deaf, secret.expose(), 0).await, Verified::Key(_)));
    writer.set_tier("acme", tier("pro"), &at(0)).await.unwrap();
    let tier_at = |now: Timestamp| match deaf.verify(&presented, now) {
        Looked::Known(Verified::Key(key)) => Some(key.account.standing.load().tier.to_string()),
        Looked::Known(Verified::Invalid) | Looked::Ask => None,
    };
    let just_before = time(0).plus(Nanos(999_999_999));
    assert_eq!((tier_at(just_before).as_deref(), tier_at(time(1))), (Some("free"), None));
    let Verified::Key(key) = verified(&deaf, secret.expose(), 1).await else { panic!("it is a key") };
    assert_eq!(key.account.standing.load().tier, tier("pro"));
    // And once it may listen again, it does.
    server.ask(&["ACL", "SETUSER", "deaf", "&*"]);
    until(&deaf, Freshness::AtOnce).await;
    assert_eq!(tier_at(time(1)), None, "what it remembered is dropped once more");
    assert!(matches!(verified(&deaf, secret.expose(), 1).await, Verified::Key(_)));
    assert_eq!(tier_at(time(30)).as_deref(), Some("pro"));
}

#[tokio::test]
async fn silence_alone_is_no_loss() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    let (_, secret) = make_key(&directory, "acme").await;
    assert!(matches!(verified(&directory, secret.expose(), 0).await, Verified::Key(_)));
    // Long enough for the server to be asked twice whether it is still there.
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    assert!(matches!(directory.verify(&presented, time(0)), Looked::Known(Verified::Key(_))));
}

#[tokio::test]
async fn news_that_nobody_understands_drop_everything() {
    let server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    let (_, secret) = make_key(&directory, "acme").await;
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    assert!(matches!(verified(&directory, secret.expose(), 0).await, Verified::Key(_)));
    for message in ["2 account 1 9", "hello", "1 key 9"] {
        server.ask(&["PUBLISH", "sg1:{dir}:changes", message]);
        let waited = async {
            while !matches!(directory.verify(&presented, time(0)), Looked::Ask) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waited).await.expect("it is dropped");
        assert!(matches!(verified(&directory, secret.expose(), 0).await, Verified::Key(_)));
        assert!(matches!(directory.verify(&presented, time(0)), Looked::Known(_)));
    }
}
