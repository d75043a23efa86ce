//! Two nodes of one store: what one does, the other obeys at once.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate_core::time::Nanos;
use sluicegate_store::directory::{
    Counts, CustomBody, Directory, Looked, Page, PageLimit, Verified, WriteError,
};
use sluicegate_store::key_text::{PresentedKey, SecretText};
use sluicegate_testkit::redis::Engine;

use crate::room::{Room, account_of, at, make_account, make_key, new_account, new_key, tier, time, verified};

/// How long a node may take to hear of what another did.
const PROMISED: Duration = Duration::from_secs(1);

/// Waits until the key is seen so on this node, all at the same second of its clock: nothing grows old meanwhile.
async fn until(node: &Directory, secret: &SecretText, is_so: impl Fn(&Verified) -> bool) {
    let seen = async {
        while !is_so(&verified(node, secret.expose(), 10).await) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PROMISED, seen).await.expect("within a second");
}

fn is_of_tier(verified: &Verified, name: &str) -> bool {
    matches!(verified, Verified::Key(key) if key.account.standing.load().tier == tier(name))
}

fn is_invalid(verified: &Verified) -> bool {
    matches!(verified, Verified::Invalid)
}

/// Two nodes, a key of an account, and the second node knows it.
async fn two(room: &Room) -> (Directory, Directory, SecretText) {
    let (one, two) = (room.open().await, room.open().await);
    make_account(&one, "acme").await;
    let (_, secret) = make_key(&one, "acme").await;
    assert!(is_of_tier(&verified(&two, secret.expose(), 10).await, "free"));
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    assert!(matches!(two.verify(&presented, time(10)), Looked::Known(Verified::Key(_))));
    (one, two, secret)
}

#[tokio::test]
async fn a_plan_changed_by_one_is_obeyed_by_the_other() {
    let room = Room::redis(Engine::Redis);
    let (one, two, secret) = two(&room).await;
    one.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    until(&two, &secret, |seen| is_of_tier(seen, "pro")).await;
    one.set_custom("acme", CustomBody::new("rate: 5").unwrap(), &at(2)).await.unwrap();
    until(&two, &secret, |seen| is_of_tier(seen, "custom:acme")).await;
    // And back, over the other node.
    two.set_tier("acme", tier("free"), &at(3)).await.unwrap();
    until(&one, &secret, |seen| is_of_tier(seen, "free")).await;
}

#[tokio::test]
async fn a_key_revoked_or_rotated_by_one_ends_at_the_other() {
    let room = Room::redis(Engine::Redis);
    let (one, two, secret) = two(&room).await;
    let id = PresentedKey::parse(secret.expose()).unwrap().id;
    let (_, second) = one.rotate_key(id, Nanos::ZERO, &at(1)).await.unwrap();
    until(&two, &secret, is_invalid).await;
    assert_eq!(account_of(&two, second.expose(), 10).await.as_deref(), Some("acme"));
    one.revoke_key(id, &at(2)).await.unwrap();
    until(&two, &second, is_invalid).await;
}

#[tokio::test]
async fn an_account_deleted_by_one_is_gone_from_the_other() {
    let room = Room::redis(Engine::Redis);
    let (one, two, secret) = two(&room).await;
    let serial = one.find_account("acme").await.unwrap().unwrap().serial;
    assert!(two.account_by_serial(serial).is_some());
    one.delete_account("acme", &at(1)).await.unwrap();
    until(&two, &secret, is_invalid).await;
    assert!(two.account_by_serial(serial).is_none());
}

#[tokio::test]
async fn a_key_that_was_unknown_works_once_it_is_made() {
    let room = Room::redis(Engine::Redis);
    let (one, two, secret) = two(&room).await;
    let id = PresentedKey::parse(secret.expose()).unwrap().id;
    // As if it had been tried before it was made: the record is hidden and comes back with the news.
    let Room::Redis(server) = &room else { panic!("it is Redis") };
    let record = server.ask(&["HGET", "sg1:{dir}:keys", id.as_str()]).text();
    server.ask(&["HDEL", "sg1:{dir}:keys", id.as_str()]);
    server.ask(&["HSET", "sg1:{dir}:state", "change", "3"]);
    server.ask(&["PUBLISH", "sg1:{dir}:changes", &format!("1 key {id} 3")]);
    until(&two, &secret, is_invalid).await;
    until(&one, &secret, is_invalid).await;
    server.ask(&["HSET", "sg1:{dir}:keys", id.as_str(), &record]);
    assert!(is_invalid(&verified(&two, secret.expose(), 10).await), "it is remembered");
    server.ask(&["HSET", "sg1:{dir}:state", "change", "4"]);
    server.ask(&["PUBLISH", "sg1:{dir}:changes", &format!("1 key {id} 4")]);
    until(&two, &secret, |seen| is_of_tier(seen, "free")).await;
}

#[tokio::test]
async fn a_write_that_nobody_waits_for_is_done() {
    let room = Room::redis(Engine::Redis);
    let directory = room.open().await;
    {
        let who = at(0);
        let mut abandoned = pin!(directory.create_account(new_account("acme"), &who));
        let _ = abandoned.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    let done = async {
        while directory.find_account("acme").await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PROMISED, done).await.expect("it is done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_make_the_same_account_one_does() {
    let room = Room::redis(Engine::Redis);
    let nodes = [Arc::new(room.open().await), Arc::new(room.open().await)];
    for round in 0..5 {
        let tasks: Vec<_> = (0..40)
            .map(|task| {
                let node = Arc::clone(&nodes[task % 2]);
                tokio::spawn(async move {
                    node.create_account(new_account(&format!("acme-{round}")), &at(0)).await
                })
            })
            .collect();
        let (mut made, mut refused) = (0, 0);
        for task in tasks {
            match task.await.unwrap() {
                Ok(_) => made += 1,
                Err(WriteError::Exists(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!((made, refused), (1, 39));
    }
    assert_eq!(nodes[0].counts().await.unwrap().accounts, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_revoked_once_whoever_is_faster() {
    let room = Room::redis(Engine::Redis);
    let nodes = [Arc::new(room.open().await), Arc::new(room.open().await)];
    for round in 0..30 {
        let id = format!("acme-{round}");
        make_account(&nodes[0], &id).await;
        let (key, secret) = make_key(&nodes[0], &id).await;
        let (one, two) = (Arc::clone(&nodes[0]), Arc::clone(&nodes[1]));
        let deleting = tokio::spawn(async move { one.delete_account(&id, &at(1)).await.map(drop) });
        let revoking = tokio::spawn(async move { two.revoke_key(key.id, &at(1)).await.map(drop) });
        assert_eq!((deleting.await.unwrap(), revoking.await.unwrap()), (Ok(()), Ok(())));
        until(&nodes[0], &secret, is_invalid).await;
        // Its key is counted out once, by the one or by the other.
        assert_eq!(nodes[1].counts().await.unwrap(), Counts { accounts: 0, keys: 0 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_of_many_nodes_to_one_account_are_done_one_after_the_other() {
    let room = Room::redis(Engine::Redis);
    let nodes = [Arc::new(room.open().await), Arc::new(room.open().await)];
    make_account(&nodes[0], "acme").await;
    let tasks: Vec<_> = (0..24)
        .map(|task: usize| {
            let node = Arc::clone(&nodes[task % 2]);
            tokio::spawn(async move {
                match task % 3 {
                    0 => drop(node.set_tier("acme", tier(["free", "pro"][task % 2]), &at(1)).await.unwrap()),
                    1 => drop(node.create_key("acme", new_key(), &at(1)).await.unwrap()),
                    _ => {
                        let body = CustomBody::new(format!("rate: {task}")).unwrap();
                        node.set_custom("acme", body, &at(1)).await.unwrap();
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    // Every change starts from where the one before it ended.
    let page = Page { limit: PageLimit::new(1_000).unwrap(), cursor: None };
    let mut entries = nodes[1].list_audit(page).await.unwrap().items;
    entries.reverse();
    assert!(entries.iter().map(|entry| entry.seq).eq(1..=25));
    let of_account: Vec<_> = entries.iter().filter(|entry| entry.target == "acme").collect();
    assert!(of_account.windows(2).all(|pair| pair[1].before == pair[0].after));
    let mut numbers: Vec<u32> =
        nodes[0].list_keys("acme", page).await.unwrap().items.iter().map(|key| key.number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=8));
    let custom = nodes[0].custom_accounts().await.unwrap();
    let standing = nodes[1].account("acme").await.unwrap().unwrap().standing.load_full();
    assert_eq!(custom.len(), usize::from(standing.custom.is_some()));
}
