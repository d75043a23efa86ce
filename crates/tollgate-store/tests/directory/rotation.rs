//! Rotation: a new secret for the same key.

use tollgate_core::time::Nanos;
use tollgate_store::directory::Directory;

use crate::room::{Room, account_of, at, make_account, make_key, time};

fn is_valid(directory: &Directory, key: &str, secs: u32) -> bool {
    account_of(directory, key, secs).is_some()
}

#[tokio::test]
async fn the_old_secret_lives_exactly_for_the_overlap() {
    let room = Room::new();
    let directory = room.open();
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    let (record, new) = directory.rotate_key(made.id, Nanos::from_secs(60), &at(100)).await.unwrap();
    assert_eq!((record.id, record.number, record.serial), (made.id, made.number, made.serial));
    assert_eq!((record.rotated_at, record.previous_until), (Some(time(100)), Some(time(160))));
    let mut directory = directory;
    for _ in 0..2 {
        assert!(is_valid(&directory, old.expose(), 159) && !is_valid(&directory, old.expose(), 160));
        assert!(is_valid(&directory, new.expose(), 100) && is_valid(&directory, new.expose(), 1_000_000));
        assert_eq!(directory.find_key(made.id).await.unwrap().unwrap(), record);
        drop(directory);
        directory = room.open();
    }
    assert_eq!(directory.counts().keys, 1);
}

#[tokio::test]
async fn without_an_overlap_the_old_secret_ends_at_once() {
    let room = Room::new();
    let directory = room.open();
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    let (record, new) = directory.rotate_key(made.id, Nanos::ZERO, &at(0)).await.unwrap();
    assert_eq!(record.previous_until, None);
    assert!(!is_valid(&directory, old.expose(), 0) && is_valid(&directory, new.expose(), 0));
    drop(directory);
    let directory = room.open();
    assert!(!is_valid(&directory, old.expose(), 0) && is_valid(&directory, new.expose(), 0));
}

#[tokio::test]
async fn rotating_again_during_an_overlap_ends_the_oldest() {
    let room = Room::new();
    let directory = room.open();
    make_account(&directory, "acme").await;
    let (made, first) = make_key(&directory, "acme").await;
    let (_, second) = directory.rotate_key(made.id, Nanos::from_secs(1_000), &at(0)).await.unwrap();
    let (_, third) = directory.rotate_key(made.id, Nanos::from_secs(10), &at(1)).await.unwrap();
    assert!(!is_valid(&directory, first.expose(), 1));
    assert!(is_valid(&directory, second.expose(), 10) && !is_valid(&directory, second.expose(), 11));
    assert!(is_valid(&directory, third.expose(), 11));
    // And with no overlap at all, whatever was promised before.
    let (_, fourth) = directory.rotate_key(made.id, Nanos::ZERO, &at(2)).await.unwrap();
    let old = [&first, &second, &third];
    assert!(old.into_iter().all(|secret| !is_valid(&directory, secret.expose(), 2)));
    assert!(is_valid(&directory, fourth.expose(), 2));
}

#[tokio::test]
async fn a_revoked_key_has_no_overlap() {
    let room = Room::new();
    let directory = room.open();
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    let (_, new) = directory.rotate_key(made.id, Nanos::from_secs(60), &at(0)).await.unwrap();
    directory.revoke_key(made.id, &at(1)).await.unwrap();
    assert!(!is_valid(&directory, old.expose(), 1) && !is_valid(&directory, new.expose(), 1));
}

#[tokio::test]
async fn an_overlap_longer_than_time_itself_ends_with_it() {
    let room = Room::new();
    let directory = room.open();
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    directory.rotate_key(made.id, Nanos(u64::MAX), &at(0)).await.unwrap();
    assert!(is_valid(&directory, old.expose(), 1_000_000_000));
}
