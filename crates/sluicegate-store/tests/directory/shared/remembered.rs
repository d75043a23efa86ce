//! What a node remembers: how long, how much, and what that saves.

use std::sync::Arc;

use sluicegate_core::time::Nanos;
use sluicegate_store::directory::{Directory, Looked, Verified};
use sluicegate_store::key_text::{PresentedKey, SecretText};
use sluicegate_testkit::redis::{Engine, RedisServer};

use crate::room::{Room, account_of, at, make_account, make_key, time};

/// How many scripts the server has run.
fn scripts(server: &RedisServer) -> u64 {
    let of = |command: &str| -> u64 {
        let stat = server.info(&format!("cmdstat_{command}"));
        let calls = stat.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
        calls.map_or(0, |calls| calls.parse().unwrap())
    };
    of("evalsha") + of("eval")
}

fn server(room: &Room) -> &RedisServer {
    let Room::Redis(server) = room else { panic!("it is Redis") };
    server
}

fn knows(directory: &Directory, secret: &SecretText, secs: u32) -> bool {
    let presented = PresentedKey::parse(secret.expose()).unwrap();
    matches!(directory.verify(&presented, time(secs)), Looked::Known(Verified::Key(_)))
}

/// A node, a key that another node made, and a key that there is not.
async fn setting(room: &Room) -> (Directory, SecretText, SecretText) {
    let maker = room.open().await;
    make_account(&maker, "acme").await;
    let (_, secret) = make_key(&maker, "acme").await;
    let (gone, unknown) = make_key(&maker, "acme").await;
    maker.revoke_key(gone.id, &at(0)).await.unwrap();
    (room.open().await, secret, unknown)
}

#[tokio::test]
async fn a_key_is_asked_for_once_in_half_a_minute() {
    let room = Room::redis(Engine::Redis);
    let (directory, secret, _) = setting(&room).await;
    assert!(!knows(&directory, &secret, 0), "nothing is known of it yet");
    assert!(account_of(&directory, secret.expose(), 0).await.is_some());
    let before = scripts(server(&room));
    for secs in 0..30 {
        assert!(knows(&directory, &secret, secs));
        assert!(account_of(&directory, secret.expose(), secs).await.is_some());
    }
    assert_eq!(scripts(server(&room)), before);
    assert!(!knows(&directory, &secret, 30));
    assert!(account_of(&directory, secret.expose(), 30).await.is_some());
    assert_eq!(scripts(server(&room)), before + 1);
    assert!(knows(&directory, &secret, 59));
}

#[tokio::test]
async fn an_unknown_key_that_is_hammered_costs_one_round_trip() {
    let room = Room::redis(Engine::Redis);
    let (directory, _, unknown) = setting(&room).await;
    let before = scripts(server(&room));
    for _ in 0..1_000 {
        assert_eq!(account_of(&directory, unknown.expose(), 5).await, None);
    }
    assert_eq!(scripts(server(&room)), before + 1);
}

#[tokio::test]
async fn a_wrong_secret_of_a_known_key_costs_none() {
    let room = Room::redis(Engine::Redis);
    let (directory, secret, _) = setting(&room).await;
    let id = PresentedKey::parse(secret.expose()).unwrap().id;
    let (_, new) = directory.rotate_key(id, Nanos::ZERO, &at(1)).await.unwrap();
    assert!(account_of(&directory, new.expose(), 2).await.is_some());
    let before = scripts(server(&room));
    for _ in 0..100 {
        assert_eq!(account_of(&directory, secret.expose(), 2).await, None);
    }
    assert_eq!(scripts(server(&room)), before);
}

#[tokio::test]
async fn many_who_ask_at_once_ask_once() {
    let room = Room::redis(Engine::Redis);
    let (directory, secret, unknown) = setting(&room).await;
    let directory = Arc::new(directory);
    let before = scripts(server(&room));
    let texts = [secret.expose().to_owned(), unknown.expose().to_owned()];
    let tasks: Vec<_> = (0..200)
        .map(|task: usize| {
            let (directory, text) = (Arc::clone(&directory), texts[task % 2].clone());
            tokio::spawn(async move { account_of(&directory, &text, 0).await.is_some() })
        })
        .collect();
    for (task, done) in tasks.into_iter().enumerate() {
        assert_eq!(done.await.unwrap(), task % 2 == 0);
    }
    assert_eq!(scripts(server(&room)), before + 2);
}
