//! While Redis is away: who was seen before is known, who was not is not.

use std::time::Duration;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_store::directory::{
    Counts, Directory, Freshness, Looked, RedisError, StoreError, Verified, WriteError,
};
use sluicegate_store::key_text::{PresentedKey, SecretText};
use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};

use crate::room::{
    account_of, at, make_account, make_key, new_account, open_shared, open_within, tier, time, verified,
};

/// What is said of a key while the store is away: its tier, `invalid`, or `?`.
fn away(directory: &Directory, secret: &SecretText, now: Timestamp) -> String {
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    match directory.known_while_away(&presented, now) {
        Some(Verified::Key(key)) => key.account.standing.load().tier.to_string(),
        Some(Verified::Invalid) => "invalid".to_owned(),
        None => "?".to_owned(),
    }
}

async fn is_away(directory: &Directory, secret: &SecretText) -> bool {
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    let asked = directory.fetch(&presented, time(100)).await;
    matches!(asked, Err(StoreError::Redis(RedisError::Away(_))))
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), waited).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn keys_seen_before_are_known_and_others_are_not() {
    let mut server = RedisLaunch::new(Engine::Redis).append_only().start();
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    let (_, seen) = make_key(&directory, "acme").await;
    let (_, unseen) = make_key(&directory, "acme").await;
    let (rotated, old) = make_key(&directory, "acme").await;
    let (revoked, ended) = make_key(&directory, "acme").await;
    for secret in [&seen, &old, &ended] {
        assert!(account_of(&directory, secret.expose(), 0).await.is_some());
    }
    directory.revoke_key(revoked.id, &at(1)).await.unwrap();
    let (_, new) = directory.rotate_key(rotated.id, Nanos::from_secs(50), &at(1)).await.unwrap();
    assert!(account_of(&directory, old.expose(), 1).await.is_some());
    server.kill();
    until("a question fails", async || is_away(&directory, &seen).await).await;
    // Within half a minute and long after.
    for now in [time(2), time(40)] {
        assert_eq!(
            (away(&directory, &seen, now), away(&directory, &unseen, now)),
            ("free".into(), "?".into())
        );
        assert_eq!(
            (away(&directory, &new, now), away(&directory, &old, now)),
            ("free".into(), "free".into())
        );
        assert_eq!(away(&directory, &ended, now), "?", "what is known to have ended is not vouched for");
    }
    // The overlap has ended; but perhaps it was rotated once more.
    assert_eq!(away(&directory, &old, time(51)), "?");
    assert_eq!(away(&directory, &seen, time(24 * 60 * 60)), "?", "nobody is vouched for longer than a day");
    let written = directory.set_tier("acme", tier("pro"), &at(60)).await.unwrap_err();
    assert!(matches!(written, WriteError::Unavailable(StoreError::Redis(_))), "{written}");
    server.restart();
    until("it is back", async || !is_away(&directory, &seen).await).await;
    until("changes are heard", async || directory.freshness() == Freshness::AtOnce).await;
    assert_eq!(account_of(&directory, unseen.expose(), 101).await.as_deref(), Some("acme"));
    assert_eq!(account_of(&directory, ended.expose(), 101).await, None);
}

#[tokio::test]
async fn nobody_waits_longer_than_the_deadline_for_a_server_that_is_stuck() {
    let mut server = RedisServer::new(Engine::Redis);
    let directory = open_shared(&server.url()).await;
    make_account(&directory, "acme").await;
    let (_, seen) = make_key(&directory, "acme").await;
    drop(directory);
    let directory = open_within(&server.url(), Duration::from_millis(50)).await;
    assert!(matches!(verified(&directory, seen.expose(), 0).await, Verified::Key(_)));
    server.pause();
    let started = tokio::time::Instant::now();
    assert!(is_away(&directory, &seen).await);
    // Far less than it stands still for, which is until it is told to go on.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(away(&directory, &seen, time(1)), "free");
    // A connection over which nothing comes is no connection.
    until("silence is noticed", async || directory.freshness() == Freshness::Delayed).await;
    server.resume();
    until("changes are heard again", async || directory.freshness() == Freshness::AtOnce).await;
    assert!(matches!(verified(&directory, seen.expose(), 1).await, Verified::Key(_)));
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_says_that_it_may_have_been_done() {
    let server = RedisServer::new(Engine::Redis);
    let proxy = ChaosProxy::start(server.address());
    let directory = open_shared(&format!("redis://{}", proxy.address())).await;
    make_account(&directory, "warm").await;
    proxy.set(Mode::HalfCut);
    let lost = directory.create_account(new_account("acme"), &at(0)).await.unwrap_err();
    assert_eq!(lost, WriteError::Unavailable(StoreError::Redis(RedisError::Unanswered)));
    assert!(lost.to_string().contains("look before you try again"), "{lost}");
    proxy.set(Mode::Pass);
    // It was done, and so it is refused the second time.
    until("it is back", async || directory.find_account("acme").await.is_ok()).await;
    let again = directory.create_account(new_account("acme"), &at(0)).await;
    assert!(matches!(again, Err(WriteError::Exists(_))), "{again:?}");
}

/// A write that reads nothing first: with its answer, nothing else is lost.
enum Write {
    Account,
    Key,
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_for_a_while_is_done_once() {
    let server = RedisServer::new(Engine::Redis);
    let proxy = ChaosProxy::start(server.address());
    let directory = open_shared(&format!("redis://{}", proxy.address())).await;
    let account = make_account(&directory, "acme").await;
    let (key, _) = make_key(&directory, "acme").await;
    // Each is done at once, its answer is lost, and it is sent again.
    let lost = async |write: Write| {
        proxy.set(Mode::HalfCut);
        let entries = server.ask(&["XLEN", "sg1:{dir}:audit"]).text();
        let pass = async {
            while server.ask(&["XLEN", "sg1:{dir}:audit"]).text() == entries {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            proxy.set(Mode::Pass);
        };
        tokio::join!(pass, async {
            match write {
                Write::Account => {
                    assert_eq!(make_account(&directory, "other").await.serial, account.serial + 1);
                }
                Write::Key => assert_eq!(make_key(&directory, "acme").await.0.number, key.number + 1),
            }
        });
    };
    for write in [Write::Account, Write::Key] {
        lost(write).await;
    }
    let entries = directory.list_audit(Default::default()).await.unwrap().items;
    assert_eq!(entries.len(), 4);
    assert_eq!(directory.counts().await.unwrap(), Counts { accounts: 2, keys: 2 });
}

#[tokio::test]
async fn what_changed_while_a_node_was_cut_off_is_asked_for_when_it_is_back() {
    let server = RedisServer::new(Engine::Redis);
    let proxy = ChaosProxy::start(server.address());
    let (whole, cut) =
        (open_shared(&server.url()).await, open_shared(&format!("redis://{}", proxy.address())).await);
    make_account(&whole, "acme").await;
    let (_, secret) = make_key(&whole, "acme").await;
    assert!(account_of(&cut, secret.expose(), 0).await.is_some());
    proxy.set(Mode::Cut);
    until("the loss is noticed", async || cut.freshness() == Freshness::Delayed).await;
    whole.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    // At the very same second: what it remembers is dropped although it is not old.
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    assert!(matches!(cut.verify(&presented, time(0)), Looked::Ask));
    assert_eq!(away(&cut, &secret, time(0)), "free");
    proxy.set(Mode::Pass);
    until("it listens again", async || cut.freshness() == Freshness::AtOnce).await;
    assert!(matches!(cut.verify(&presented, time(0)), Looked::Ask));
    let Verified::Key(key) = verified(&cut, secret.expose(), 0).await else { panic!("it is a key") };
    assert_eq!(key.account.standing.load().tier, tier("pro"));
}
