//! Keys: who is let in, and how little is said of who is not.

use sluicegate_core::time::Nanos;
use sluicegate_store::database::Database;
use sluicegate_store::directory::{Directory, NewKey, Scopes, Verified, What, WriteError};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher, KeyId};

use crate::room::{Folder, Room, account_of, at, counts, make_account, make_key, new_key, time, verified};

on_each_store! {
    a_key_is_its_accounts_at_once_and_after_reopening,
    every_invalid_key_gets_the_same_answer,
    a_key_ends_exactly_when_it_expires,
    writes_to_an_unknown_account_or_key_are_refused,
    a_revoked_key_stays_revoked,
    the_numbers_of_an_accounts_keys_are_not_given_again,
    no_secret_and_no_hash_is_anywhere_it_could_be_read,
}

async fn a_key_is_its_accounts_at_once_and_after_reopening(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let new = NewKey { env: KeyEnv::Test, scopes: Scopes::new(["b", "a"]).unwrap(), ..new_key() };
    let (record, secret) = directory.create_key("acme", new, &at(3)).await.unwrap();
    assert!(secret.expose().starts_with("sg_test_"));
    assert_eq!((record.account.as_str(), record.name.as_str(), record.env), ("acme", "a key", KeyEnv::Test));
    assert_eq!((record.created_at, record.rotated_at, record.revoked_at), (time(3), None, None));
    let mut directory = directory;
    for _ in 0..2 {
        let Verified::Key(key) = verified(&directory, secret.expose(), 3).await else {
            panic!("it is a key")
        };
        assert_eq!((key.serial, key.number.get(), key.id), (record.serial, 1, record.id));
        assert_eq!(key.account.id.as_str(), "acme");
        assert_eq!(key.scopes.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(directory.find_key(record.id).await.unwrap().as_ref(), Some(&record));
        assert_eq!(directory.find_key_by_serial(record.serial).await.unwrap().as_ref(), Some(&record));
        assert_eq!(directory.key(record.id, time(3)).await.unwrap().unwrap().serial, record.serial);
        drop((directory, key));
        directory = room.open().await;
    }
}

async fn every_invalid_key_gets_the_same_answer(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    // Of another directory: nobody here has this id.
    let elsewhere = room.another();
    let other = elsewhere.open().await;
    make_account(&other, "acme").await;
    let (_, unknown) = make_key(&other, "acme").await;
    // The id is known, the form is right, the secret is one that it once had.
    let (rotated, wrong_secret) = make_key(&directory, "acme").await;
    directory.rotate_key(rotated.id, Nanos::ZERO, &at(1)).await.unwrap();
    let (revoked, revoked_secret) = make_key(&directory, "acme").await;
    directory.revoke_key(revoked.id, &at(1)).await.unwrap();
    let expiring = NewKey { expires_at: Some(time(2)), ..new_key() };
    let (_, expired) = directory.create_key("acme", expiring, &at(0)).await.unwrap();
    for secret in [&unknown, &wrong_secret, &revoked_secret, &expired] {
        assert!(matches!(verified(&directory, secret.expose(), 2).await, Verified::Invalid));
    }
    assert!(account_of(&other, unknown.expose(), 2).await.is_some());
}

async fn a_key_ends_exactly_when_it_expires(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let new = NewKey { expires_at: Some(time(10)), ..new_key() };
    let (record, secret) = directory.create_key("acme", new, &at(0)).await.unwrap();
    assert_eq!(account_of(&directory, secret.expose(), 9).await.as_deref(), Some("acme"));
    assert_eq!(account_of(&directory, secret.expose(), 10).await, None);
    let late = directory.rotate_key(record.id, Nanos::ZERO, &at(10)).await;
    assert_eq!(late.unwrap_err(), WriteError::Expired);
    for past in [0, 5] {
        let new = NewKey { expires_at: Some(time(past)), ..new_key() };
        let refused = directory.create_key("acme", new, &at(5)).await.unwrap_err();
        assert!(matches!(&refused, WriteError::Field(error) if error.field == "expires_at"), "{refused}");
    }
}

#[tokio::test]
async fn another_server_secret_knows_no_key() {
    let folder = Folder::new();
    let directory = folder.open();
    make_account(&directory, "acme").await;
    let (_, secret) = make_key(&directory, "acme").await;
    drop(directory);
    let database = Database::open(&folder.path()).unwrap();
    let other = Directory::open(database, HomeHasher::new([1; 16]), KeyHasher::new(&[3; 32])).unwrap();
    assert_eq!(account_of(&other, secret.expose(), 1).await, None);
    assert_eq!(counts(&other).await.keys, 1);
}

async fn writes_to_an_unknown_account_or_key_are_refused(room: &Room) {
    let directory = room.open().await;
    let refused = directory.create_key("nobody", new_key(), &at(0)).await;
    assert_eq!(refused.unwrap_err(), WriteError::NotFound(What::Account));
    let id = KeyId::random().unwrap();
    let unknown = Some(WriteError::NotFound(What::Key));
    assert_eq!(directory.rotate_key(id, Nanos::ZERO, &at(0)).await.err(), unknown);
    assert_eq!(directory.revoke_key(id, &at(0)).await.err(), unknown);
    assert!(directory.find_key(id).await.unwrap().is_none());
    assert!(directory.key(id, time(0)).await.unwrap().is_none());
}

async fn a_revoked_key_stays_revoked(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (record, secret) = make_key(&directory, "acme").await;
    let revoked = directory.revoke_key(record.id, &at(1)).await.unwrap();
    assert_eq!(revoked.revoked_at, Some(time(1)));
    assert_eq!(account_of(&directory, secret.expose(), 1).await, None);
    // Once more changes nothing and is no entry.
    assert_eq!(directory.revoke_key(record.id, &at(2)).await.unwrap(), revoked);
    let actions = directory.list_audit(Default::default()).await.unwrap().items;
    assert_eq!(actions.iter().filter(|entry| entry.action == "key.revoke").count(), 1);
    assert_eq!(directory.rotate_key(record.id, Nanos::ZERO, &at(3)).await.unwrap_err(), WriteError::Revoked);
    assert_eq!(counts(&directory).await.keys, 0);
}

async fn the_numbers_of_an_accounts_keys_are_not_given_again(room: &Room) {
    let mut directory = room.open().await;
    make_account(&directory, "acme").await;
    make_account(&directory, "other").await;
    for number in 1..=4 {
        let (record, _) = make_key(&directory, "acme").await;
        assert_eq!(record.number, number);
        assert_eq!(make_key(&directory, "other").await.0.number, number);
        directory.revoke_key(record.id, &at(1)).await.unwrap();
        drop(directory);
        directory = room.open().await;
    }
}

async fn no_secret_and_no_hash_is_anywhere_it_could_be_read(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let (record, first) = make_key(&directory, "acme").await;
    let (_, second) = directory.rotate_key(record.id, Nanos::from_secs(60), &at(1)).await.unwrap();
    directory.revoke_key(record.id, &at(2)).await.unwrap();
    let audit = format!("{:?}", directory.list_audit(Default::default()).await.unwrap());
    let shown = format!("{directory:?} {record:?} {first:?} {audit}");
    let files = room.bytes_on_disk();
    for secret in [&first, &second] {
        // The secret alone: the id before it is meant to be seen.
        let hidden = &secret.expose()["sg_live_".len() + KeyId::LENGTH + 1..];
        assert!(!shown.contains(hidden), "{shown}");
        assert!(!files.windows(hidden.len()).any(|part| part == hidden.as_bytes()));
    }
    assert!(!audit.contains("hash"), "{audit}");
    assert!(files.windows(KeyId::LENGTH).any(|part| part == record.id.as_bytes()), "the id is in a file");
}
