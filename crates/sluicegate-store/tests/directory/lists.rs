//! Lists: pages that stay put while rows are added, and the audit trail.

use serde_json::json;
use sluicegate_core::time::Nanos;
use sluicegate_store::directory::{
    Cursor, CustomBody, Deed, Directory, Note, Page, PageLimit, ReadError, What, Writer,
};

use crate::room::{Room, at, make_account, make_key, tier, time};

on_each_store! {
    pages_hold_every_account_once_while_others_come_and_go,
    the_keys_of_one_account_are_listed,
    every_write_is_one_audit_entry_with_before_and_after,
    what_was_done_to_a_caller_is_noted,
    accounts_with_a_negotiated_tier_are_found,
}

fn page(limit: u64, cursor: Option<Cursor>) -> Page {
    Page { limit: PageLimit::new(limit).unwrap(), cursor }
}

/// The ids of a page of accounts, and the cursor as it comes back from its text.
async fn ids(directory: &Directory, limit: u64, cursor: Option<Cursor>) -> (Vec<String>, Option<Cursor>) {
    let paged = directory.list_accounts(page(limit, cursor)).await.unwrap();
    let next = paged.next.map(|next| Cursor::parse(&next.to_string()).unwrap());
    (paged.items.iter().map(|record| record.id.to_string()).collect(), next)
}

async fn pages_hold_every_account_once_while_others_come_and_go(room: &Room) {
    let directory = room.open().await;
    assert_eq!(ids(&directory, 10, None).await, (vec![], None));
    for id in ["a", "b", "c", "d", "e"] {
        make_account(&directory, id).await;
    }
    let (first, next) = ids(&directory, 2, None).await;
    assert_eq!(first, ["a", "b"]);
    // The row that the cursor names is deleted, and new ones come.
    directory.delete_account("b", &at(1)).await.unwrap();
    make_account(&directory, "f").await;
    let (second, next) = ids(&directory, 2, next).await;
    assert_eq!(second, ["c", "d"]);
    let (third, next) = ids(&directory, 2, next).await;
    assert_eq!((third, next), (vec!["e".to_owned(), "f".to_owned()], None));
    assert_eq!(ids(&directory, 5, None).await.1, None, "a page that just fits is the last");
    let beyond = Cursor::parse("cffffffffffffffff").unwrap();
    assert_eq!(ids(&directory, 5, Some(beyond)).await, (vec![], None));
}

async fn the_keys_of_one_account_are_listed(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    make_account(&directory, "other").await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(make_key(&directory, "acme").await.0.id);
        make_key(&directory, "other").await;
    }
    directory.revoke_key(made[0], &at(5)).await.unwrap();
    let first = directory.list_keys("acme", page(2, None)).await.unwrap();
    assert_eq!(first.items.iter().map(|key| key.id).collect::<Vec<_>>(), made[..2]);
    assert_eq!(first.items[0].revoked_at, Some(time(5)));
    let second = directory.list_keys("acme", page(2, first.next)).await.unwrap();
    assert_eq!(second.items.iter().map(|key| key.id).collect::<Vec<_>>(), made[2..]);
    assert_eq!(second.next, None);
    directory.delete_account("other", &at(6)).await.unwrap();
    for id in ["nobody", "other", "\0"] {
        let unknown = directory.list_keys(id, Page::default()).await;
        assert_eq!(unknown.unwrap_err(), ReadError::NotFound(What::Account), "{id}");
    }
}

async fn every_write_is_one_audit_entry_with_before_and_after(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    directory.set_custom("acme", CustomBody::new("rate: 5").unwrap(), &at(1)).await.unwrap();
    let by = Writer { who: "alice".to_owned(), now: time(2) };
    directory.set_tier("acme", tier("pro"), &by).await.unwrap();
    let (key, _) = make_key(&directory, "acme").await;
    directory.rotate_key(key.id, Nanos::from_secs(5), &at(3)).await.unwrap();
    directory.revoke_key(key.id, &at(4)).await.unwrap();
    directory.delete_account("acme", &at(5)).await.unwrap();
    // Refused writes are none.
    directory.set_tier("acme", tier("pro"), &by).await.unwrap_err();
    let entries = directory.list_audit(Page::default()).await.unwrap().items;
    let actions: Vec<&str> = entries.iter().rev().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "account.create",
            "account.set_custom",
            "account.set_tier",
            "key.create",
            "key.rotate",
            "key.revoke",
            "account.delete"
        ]
    );
    assert!(entries.windows(2).all(|pair| pair[0].seq > pair[1].seq));
    let [delete, revoke, rotate, _, set_tier, _, create] = &entries[..] else { panic!("seven entries") };
    assert_eq!((set_tier.who.as_str(), set_tier.at, set_tier.target.as_str()), ("alice", time(2), "acme"));
    let (before, after) = (set_tier.before.as_ref().unwrap(), set_tier.after.as_ref().unwrap());
    assert_eq!((&before["tier"], &before["custom"]), (&json!("custom:acme"), &json!("rate: 5")));
    assert_eq!((&after["tier"], &after["custom"]), (&json!("pro"), &json!(null)));
    assert_eq!(create.before, None);
    assert_eq!(create.after.as_ref().unwrap()["created_at"], "2026-09-21T14:13:20Z");
    assert_eq!(rotate.target, key.id.to_string());
    assert_eq!(rotate.after.as_ref().unwrap()["previous_until"], "2026-09-21T14:13:28Z");
    assert_eq!(revoke.before.as_ref().unwrap()["revoked_at"], json!(null));
    assert_eq!(delete.after.as_ref().unwrap()["deleted_at"], "2026-09-21T14:13:25Z");
    // The next page goes back in time.
    let newest = directory.list_audit(page(3, None)).await.unwrap();
    let older = directory.list_audit(page(100, newest.next)).await.unwrap();
    assert_eq!((newest.items, older.items), (entries[..3].to_vec(), entries[3..].to_vec()));
}

async fn what_was_done_to_a_caller_is_noted(room: &Room) {
    let directory = room.open().await;
    make_account(&directory, "acme").await;
    let by = Writer { who: "alice".to_owned(), now: time(2) };
    let target = || "cl_0123456789abcdef0123456789abcdef".to_owned();
    let block = Note {
        deed: Deed::Block,
        target: target(),
        before: None,
        after: Some(json!({"reason": "it \"scrapes\""})),
    };
    let unblock = Note { deed: Deed::Unblock, target: target(), before: block.after.clone(), after: None };
    let reset = Note { deed: Deed::ResetClient, before: None, ..unblock.clone() };
    for note in [&block, &unblock, &reset] {
        directory.note(note.clone(), &by).await.unwrap();
    }
    let entries = directory.list_audit(page(3, None)).await.unwrap().items;
    let actions: Vec<&str> = entries.iter().rev().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["block.create", "block.delete", "client.reset"]);
    for (entry, note) in entries.iter().rev().zip([block, unblock, reset]) {
        assert_eq!((entry.who.as_str(), entry.at), ("alice", time(2)));
        assert_eq!((&entry.target, &entry.before, &entry.after), (&note.target, &note.before, &note.after));
    }
    // Accounts and keys are as they were.
    assert_eq!(directory.find_account("acme").await.unwrap().unwrap().id.as_str(), "acme");
    assert_eq!(ids(&directory, 10, None).await, (vec!["acme".to_owned()], None));
}

async fn custom(directory: &Directory) -> Vec<String> {
    directory.custom_accounts().await.unwrap().iter().map(|account| account.id.to_string()).collect()
}

async fn accounts_with_a_negotiated_tier_are_found(room: &Room) {
    let directory = room.open().await;
    for id in ["a", "b", "c"] {
        make_account(&directory, id).await;
    }
    for id in ["c", "a"] {
        directory.set_custom(id, CustomBody::new("rate: 5").unwrap(), &at(1)).await.unwrap();
    }
    assert_eq!(custom(&directory).await, ["a", "c"]);
    directory.set_tier("a", tier("pro"), &at(2)).await.unwrap();
    assert_eq!(custom(&directory).await, ["c"]);
    drop(directory);
    assert_eq!(custom(&room.open().await).await, ["c"]);
}
