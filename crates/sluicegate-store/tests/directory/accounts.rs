//! Accounts: making, changing and deleting them.

use std::sync::Arc;

use sluicegate_core::calendar::BillingDay;
use sluicegate_store::directory::{
    AccountId, Counts, CustomBody, Directory, NewAccount, Standing, What, WriteError, ZoneName, billing_day,
};

use crate::room::{Room, account_of, at, counts, make_account, make_key, new_account, new_key, tier, time};

on_each_store! {
    an_account_is_seen_at_once_and_after_reopening,
    an_id_that_exists_is_refused,
    an_account_without_an_id_gets_one,
    writes_to_an_unknown_account_are_refused,
    a_tier_is_changed_for_the_next_request,
    a_negotiated_tier_is_the_accounts_own_and_ends_with_the_next,
    a_negotiated_tier_is_not_given_by_its_name,
    a_deleted_account_takes_its_keys_along_and_leaves_its_serial,
    serials_are_not_given_again_even_when_the_last_is_gone,
    deleted_accounts_are_found_by_the_id_they_had_the_newest_first,
    two_stores_never_give_the_same_serial,
    accounts_with_the_same_tier_and_calendar_share_their_standing,
}

async fn an_account_is_seen_at_once_and_after_reopening(room: &Room) {
    let directory = room.open().await;
    let new = NewAccount {
        billing_day: Some(billing_day(31).unwrap()),
        timezone: Some(ZoneName::new("Europe/Berlin").unwrap()),
        ..new_account("acme")
    };
    let record = directory.create_account(new, &at(7)).await.unwrap();
    assert_eq!((record.id.as_str(), record.name.as_str()), ("acme", "The account acme"));
    assert_eq!((record.billing_day, record.timezone.as_deref()), (Some(31), Some("Europe/Berlin")));
    assert_eq!((record.created_at, record.deleted_at), (time(7), None));
    let mut directory = directory;
    for _ in 0..2 {
        let account = directory.account("acme").await.unwrap().unwrap();
        let standing = account.standing.load();
        assert_eq!(account.serial, record.serial);
        assert_eq!((standing.tier.as_str(), standing.custom.as_deref()), ("free", None));
        assert_eq!(standing.calendar.billing_day, BillingDay::new(31).unwrap());
        assert_eq!(standing.calendar.zone.iana_name(), Some("Europe/Berlin"));
        assert!(Arc::ptr_eq(&account, &directory.account_by_serial(record.serial).unwrap()));
        assert_eq!(directory.find_account("acme").await.unwrap().as_ref(), Some(&record));
        drop(directory);
        directory = room.open().await;
    }
}

async fn an_id_that_exists_is_refused(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let again = directory.create_account(new_account("acme"), &at(1)).await;
    assert_eq!(again.unwrap_err(), WriteError::Exists(AccountId::new("acme").unwrap()));
    assert_eq!(counts(&directory).await.accounts, 1);
    // Ids are told apart by every bit of every letter.
    make_account(&directory, "Acme").await;
    assert_eq!(counts(&directory).await.accounts, 2);
}

async fn an_account_without_an_id_gets_one(room: &Room) {
    let directory = room.open().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let record =
            directory.create_account(NewAccount { id: None, ..new_account("x") }, &at(0)).await.unwrap();
        assert_eq!((record.id.as_str().len(), &record.id.as_str()[..5]), (21, "acct_"));
        ids.push(record.id);
    }
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
}

async fn writes_to_an_unknown_account_are_refused(room: &Room) {
    let directory = room.open().await;
    let body = CustomBody::new("rate: 1").unwrap();
    let unknown = Some(WriteError::NotFound(What::Account));
    for id in ["nobody", "", "no such\nid", &"x".repeat(500)] {
        assert_eq!(directory.set_tier(id, tier("pro"), &at(0)).await.err(), unknown, "{id}");
        assert_eq!(directory.set_custom(id, body.clone(), &at(0)).await.err(), unknown, "{id}");
        assert_eq!(directory.delete_account(id, &at(0)).await.err(), unknown, "{id}");
        assert!(directory.account(id).await.unwrap().is_none(), "{id}");
        assert!(directory.find_account(id).await.unwrap().is_none(), "{id}");
    }
    assert!(directory.list_audit(Default::default()).await.unwrap().items.is_empty());
}

async fn a_tier_is_changed_for_the_next_request(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let account = directory.account("acme").await.unwrap().unwrap();
    let record = directory.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    assert_eq!(record.tier, tier("pro"));
    // Whoever held the account before sees it too.
    assert_eq!(account.standing.load().tier, tier("pro"));
}

async fn a_negotiated_tier_is_the_accounts_own_and_ends_with_the_next(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let body = CustomBody::new("{\"rate\": 77}").unwrap();
    let record = directory.set_custom("acme", body.clone(), &at(1)).await.unwrap();
    assert_eq!((record.tier.as_str(), record.custom), ("custom:acme", Some(body)));
    drop(directory);
    let directory = room.open().await;
    let account = directory.account("acme").await.unwrap().unwrap();
    assert_eq!(account.standing.load().custom.as_deref(), Some("{\"rate\": 77}"));
    assert_eq!(account.standing.load().tier.as_str(), "custom:acme");
    let record = directory.set_tier("acme", tier("free"), &at(2)).await.unwrap();
    assert_eq!((record.tier.as_str(), record.custom), ("free", None));
    assert_eq!(account.standing.load().custom, None);
    drop((directory, account));
    let account = room.open().await.account("acme").await.unwrap().unwrap();
    assert_eq!(account.standing.load().custom, None);
}

async fn a_negotiated_tier_is_not_given_by_its_name(room: &Room) {
    let directory = room.open().await;
    let new = NewAccount { tier: tier("custom:other"), ..new_account("acme") };
    let refused = directory.create_account(new, &at(0)).await.unwrap_err();
    assert!(matches!(&refused, WriteError::Field(error) if error.field == "tier"), "{refused}");
    make_account(&directory, "acme").await;
    let refused = directory.set_tier("acme", tier("custom:other"), &at(0)).await.unwrap_err();
    assert!(matches!(&refused, WriteError::Field(error) if error.field == "tier"), "{refused}");
}

async fn a_deleted_account_takes_its_keys_along_and_leaves_its_serial(room: &Room) {
    let directory = room.open().await;
    let first = make_account(&directory, "acme").await;
    let (key, secret) = make_key(&directory, "acme").await;
    make_account(&directory, "other").await;
    let (_, kept) = make_key(&directory, "other").await;
    let home = directory.account("acme").await.unwrap().unwrap().home;
    let deleted = directory.delete_account("acme", &at(5)).await.unwrap();
    assert_eq!(deleted.deleted_at, Some(time(5)));
    assert!(directory.account("acme").await.unwrap().is_none());
    assert!(directory.account_by_serial(first.serial).is_none());
    assert_eq!(account_of(&directory, secret.expose(), 5).await, None);
    assert_eq!(account_of(&directory, kept.expose(), 5).await.as_deref(), Some("other"));
    assert_eq!(counts(&directory).await, Counts { accounts: 1, keys: 1 });
    assert_eq!(directory.find_key(key.id).await.unwrap().unwrap().revoked_at, Some(time(5)));
    assert_eq!(directory.find_account_by_serial(first.serial).await.unwrap(), Some(deleted));
    assert_eq!(
        directory.delete_account("acme", &at(6)).await.err(),
        Some(WriteError::NotFound(What::Account))
    );
    // The id is free. Whoever has it next is another customer: neither the serial nor the meters are those of before.
    let second = make_account(&directory, "acme").await;
    assert!(second.serial > first.serial);
    assert_ne!(directory.account("acme").await.unwrap().unwrap().home, home);
    assert_eq!(directory.find_account("acme").await.unwrap(), Some(second));
    assert_eq!(account_of(&directory, secret.expose(), 7).await, None);
    drop(directory);
    assert_eq!(account_of(&room.open().await, secret.expose(), 7).await, None);
}

async fn serials_are_not_given_again_even_when_the_last_is_gone(room: &Room) {
    let directory = room.open().await;
    let first = make_account(&directory, "a").await;
    directory.delete_account("a", &at(1)).await.unwrap();
    drop(directory);
    let second = make_account(&room.open().await, "b").await;
    assert!(second.serial > first.serial);
}

async fn deleted_accounts_are_found_by_the_id_they_had_the_newest_first(room: &Room) {
    let directory = room.open().await;
    let mut serials = Vec::new();
    for secs in 1..4 {
        serials.push(make_account(&directory, "acme").await.serial);
        directory.delete_account("acme", &at(secs)).await.unwrap();
    }
    make_account(&directory, "acme").await;
    make_account(&directory, "other").await;
    let deleted = directory.find_deleted_accounts("acme").await.unwrap();
    serials.reverse();
    assert_eq!(deleted.iter().map(|record| record.serial).collect::<Vec<_>>(), serials);
    assert_eq!((deleted[0].deleted_at, deleted[2].deleted_at), (Some(time(3)), Some(time(1))));
    for id in ["other", "nobody", "", "~acme"] {
        assert!(directory.find_deleted_accounts(id).await.unwrap().is_empty(), "{id}");
    }
}

async fn two_stores_never_give_the_same_serial(room: &Room) {
    let (here, there) = (room.open().await, room.another());
    let there = there.open().await;
    let (mut accounts, mut keys) = (Vec::new(), Vec::new());
    // Stores that are in use at the very same time give the same serial once in thousands of pairs, if ever.
    for (directory, by) in [(&here, at(0)), (&there, at(1))] {
        for id in ["a", "b"] {
            accounts.push(directory.create_account(new_account(id), &by).await.unwrap().serial);
            keys.push(directory.create_key(id, new_key(), &by).await.unwrap().0.serial);
        }
    }
    for serials in [accounts, keys] {
        // In each store in the order of creation, and exact in every number of 53 bits.
        assert!(serials[0] < serials[1] && serials[2] < serials[3], "{serials:?}");
        assert!(serials.iter().all(|serial| (1 << 32..1 << 53).contains(serial)), "{serials:?}");
        assert!(!serials[..2].contains(&serials[2]) && !serials[..2].contains(&serials[3]), "{serials:?}");
    }
}

async fn standings(directory: &Directory) -> [Arc<Standing>; 3] {
    let mut standings = Vec::new();
    for id in ["a", "b", "c"] {
        standings.push(directory.account(id).await.unwrap().unwrap().standing.load_full());
    }
    standings.try_into().unwrap()
}

async fn accounts_with_the_same_tier_and_calendar_share_their_standing(room: &Room) {
    let directory = room.open().await;
    for id in ["a", "b", "c"] {
        make_account(&directory, id).await;
    }
    directory.set_tier("c", tier("pro"), &at(1)).await.unwrap();
    let [a, b, c] = standings(&directory).await;
    assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &c));
    drop(directory);
    let directory = room.open().await;
    let [a, b, c] = standings(&directory).await;
    assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&a, &c));
}
