//! Rotation: a new secret for the same key.

use sluicegate_core::time::Nanos;
use sluicegate_store::directory::Directory;

use crate::room::{Room, account_of, at, counts, make_account, make_key, time};

on_each_store! {
    the_old_secret_lives_exactly_for_the_overlap,
    without_an_overlap_the_old_secret_ends_at_once,
    rotating_again_during_an_overlap_ends_the_oldest,
    a_revoked_key_has_no_overlap,
    an_overlap_longer_than_time_itself_ends_with_it,
}

async fn is_valid(directory: &Directory, key: &str, secs: u32) -> bool {
    account_of(directory, key, secs).await.is_some()
}

async fn the_old_secret_lives_exactly_for_the_overlap(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    let (record, new) = directory.rotate_key(made.id, Nanos::from_secs(60), &at(100)).await.unwrap();
    assert_eq!((record.id, record.number, record.serial), (made.id, made.number, made.serial));
    assert_eq!((record.rotated_at, record.previous_until), (Some(time(100)), Some(time(160))));
    let mut directory = directory;
    for _ in 0..2 {
        assert!(
            is_valid(&directory, old.expose(), 159).await && !is_valid(&directory, old.expose(), 160).await
        );
        assert!(
            is_valid(&directory, new.expose(), 100).await
                && is_valid(&directory, new.expose(), 1_000_000).await
        );
        assert_eq!(directory.find_key(made.id).await.unwrap().unwrap(), record);
        drop(directory);
        directory = room.open().await;
    }
    assert_eq!(counts(&directory).await.keys, 1);
}

async fn without_an_overlap_the_old_secret_ends_at_once(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    let (record, new) = directory.rotate_key(made.id, Nanos::ZERO, &at(0)).await.unwrap();
    assert_eq!(record.previous_until, None);
    assert!(!is_valid(&directory, old.expose(), 0).await && is_valid(&directory, new.expose(), 0).await);
    drop(directory);
    let directory = room.open().await;
    assert!(!is_valid(&directory, old.expose(), 0).await && is_valid(&directory, new.expose(), 0).await);
}

async fn rotating_again_during_an_overlap_ends_the_oldest(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (made, first) = make_key(&directory, "acme").await;
    let (_, second) = directory.rotate_key(made.id, Nanos::from_secs(1_000), &at(0)).await.unwrap();
    let (_, third) = directory.rotate_key(made.id, Nanos::from_secs(10), &at(1)).await.unwrap();
    assert!(!is_valid(&directory, first.expose(), 1).await);
    assert!(
        is_valid(&directory, second.expose(), 10).await && !is_valid(&directory, second.expose(), 11).await
    );
    assert!(is_valid(&directory, third.expose(), 11).await);
    // And with no overlap at all, whatever was promised before.
    let (_, fourth) = directory.rotate_key(made.id, Nanos::ZERO, &at(2)).await.unwrap();
    for old in [&first, &second, &third] {
        assert!(!is_valid(&directory, old.expose(), 2).await);
    }
    assert!(is_valid(&directory, fourth.expose(), 2).await);
}

async fn a_revoked_key_has_no_overlap(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    let (_, new) = directory.rotate_key(made.id, Nanos::from_secs(60), &at(0)).await.unwrap();
    directory.revoke_key(made.id, &at(1)).await.unwrap();
    assert!(!is_valid(&directory, old.expose(), 1).await && !is_valid(&directory, new.expose(), 1).await);
}

async fn an_overlap_longer_than_time_itself_ends_with_it(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (made, old) = make_key(&directory, "acme").await;
    directory.rotate_key(made.id, Nanos(u64::MAX), &at(0)).await.unwrap();
    assert!(is_valid(&directory, old.expose(), 1_000_000_000).await);
}
