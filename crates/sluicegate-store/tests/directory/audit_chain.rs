//! Links of the audit log: each follows from its entry and the one before, whichever the store.

use std::sync::Arc;

use rusqlite::Connection;
use sluicegate_core::audit::{Checker, Head};
use sluicegate_core::time::Nanos;
use sluicegate_store::audit::AuditEntry;
use sluicegate_store::database::{AuditFile, Database, DatabaseError, LogPlace, NODE_KEY};
use sluicegate_store::directory::{CustomBody, Deed, Directory, Note, Page, PageLimit};
use sluicegate_testkit::redis::{Engine, RedisServer};

use crate::room::{Folder, Room, at, make_account, make_key, new_account, open, open_shared, tier};

on_each_store! {
    every_entry_has_the_link_that_follows_from_it,
    entries_are_read_on_from_any_number,
}

/// Every kind of write.
async fn write_everything(directory: &Directory) {
    make_account(directory, "acme").await;
    directory.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    directory.set_custom("acme", CustomBody::new("rate: 5").unwrap(), &at(2)).await.unwrap();
    let (key, _) = make_key(directory, "acme").await;
    directory.rotate_key(key.id, Nanos::from_secs(5), &at(3)).await.unwrap();
    directory.revoke_key(key.id, &at(4)).await.unwrap();
    for deed in [Deed::Block, Deed::Unblock, Deed::ResetClient] {
        let after = (deed == Deed::Block).then(|| serde_json::json!({"reason": "ü \"x\""}));
        let note = Note { deed, target: "cl_1".to_owned(), before: None, after };
        directory.note(note, &at(5)).await.unwrap();
    }
    directory.delete_account("acme", &at(6)).await.unwrap();
}

async fn all(directory: &Directory) -> Vec<AuditEntry> {
    directory.audit_after(0, PageLimit::new(1_000).unwrap()).await.unwrap()
}

/// The links that follow from these entries. Where one is kept, it must be that one.
fn links(entries: &[AuditEntry]) -> Vec<Head> {
    let mut checker = Checker::default();
    entries.iter().map(|entry| checker.check(&entry.entry(), entry.link.as_ref()).unwrap()).collect()
}

async fn every_entry_has_the_link_that_follows_from_it(room: &Room) {
    let directory = room.open().await;
    assert_eq!(directory.audit_head().await.unwrap(), Head::default());
    write_everything(&directory).await;
    let entries = all(&directory).await;
    assert_eq!(entries.len(), 10);
    let links = links(&entries);
    assert_eq!(directory.audit_head().await.unwrap(), *links.last().unwrap());
    // What people see is the same, whatever the page.
    let mut page = Page { limit: PageLimit::new(3).unwrap(), cursor: None };
    let mut shown = Vec::new();
    loop {
        let paged = directory.list_audit(page).await.unwrap();
        shown.extend(paged.items.into_iter().map(|record| Head { seq: record.seq, link: record.link }));
        page.cursor = paged.next;
        if page.cursor.is_none() {
            break;
        }
    }
    shown.reverse();
    assert_eq!(shown, links);
    // And it is again after a start, and goes on from there.
    drop(directory);
    let directory = room.open().await;
    assert_eq!(directory.audit_head().await.unwrap(), *links.last().unwrap());
    make_account(&directory, "other").await;
    let grown = all(&directory).await;
    assert_eq!(self::links(&grown)[..10], links[..]);
    // What people are shown is what the links are made of.
    let newest = &directory.list_audit(page).await.unwrap().items[0];
    let after = newest.after.as_ref().unwrap().to_string();
    assert_eq!(Some(after), grown[10].after);
}

async fn entries_are_read_on_from_any_number(room: &Room) {
    let directory = room.open().await;
    write_everything(&directory).await;
    let entries = all(&directory).await;
    let three = PageLimit::new(3).unwrap();
    assert_eq!(directory.audit_after(4, three).await.unwrap(), entries[4..7]);
    assert_eq!(directory.audit_after(8, three).await.unwrap(), entries[8..]);
    for beyond in [10, 11, u64::MAX] {
        assert_eq!(directory.audit_after(beyond, three).await.unwrap(), []);
    }
}

#[tokio::test]
async fn writes_that_share_a_transaction_are_linked_one_by_one() {
    let folder = Folder::new();
    let directory = Arc::new(folder.open());
    let mut writes = tokio::task::JoinSet::new();
    for number in 0..40 {
        let directory = Arc::clone(&directory);
        let new = new_account(&format!("a{}", number % 30));
        writes.spawn(async move { directory.create_account(new, &at(0)).await.is_ok() });
    }
    // Ten of them are refused, and leave nothing between the others.
    assert_eq!(writes.join_all().await.into_iter().filter(|made| *made).count(), 30);
    assert_eq!(links(&all(&directory).await).last().unwrap().seq, 30);
}

/// What an older version of the program left behind.
fn old_file(folder: &Folder) {
    let old = Connection::open(folder.path()).unwrap();
    old.execute_batch(include_str!("../../src/database/schema/001.sql")).unwrap();
    old.pragma_update(None, "application_id", 0x546f_6c6c).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    for at in [5, 6, 7] {
        let sql = "INSERT INTO audit (at, who, action, target, before, after) \
                   VALUES (?1, 'admin', 'account.create', 'acme', NULL, '{}')";
        old.execute(sql, [at]).unwrap();
    }
    // Somebody has tidied up.
    old.execute("DELETE FROM audit WHERE seq = 2", []).unwrap();
}

#[tokio::test]
async fn entries_of_an_older_version_are_linked_when_the_file_is_opened() {
    let folder = Folder::new();
    old_file(&folder);
    let refused = AuditFile::open(&folder.path()).unwrap_err();
    assert!(matches!(refused, DatabaseError::Older { found: 1, known: 2.. }), "{refused}");
    assert!(refused.to_string().contains("start the server once"), "{refused}");
    let directory = folder.open();
    let entries = all(&directory).await;
    assert_eq!(links(&entries).iter().map(|head| head.seq).collect::<Vec<_>>(), [1, 3]);
    make_account(&directory, "acme").await;
    assert_eq!(links(&all(&directory).await).last().unwrap().seq, 4);
}

#[tokio::test]
async fn the_log_is_read_beside_the_server_and_every_column_of_it_counts() {
    let folder = Folder::new();
    let directory = folder.open();
    write_everything(&directory).await;
    let head = directory.audit_head().await.unwrap();
    let file = AuditFile::open(&folder.path()).unwrap();
    assert_eq!((file.head().unwrap(), file.place().unwrap()), (head, LogPlace::Here));
    assert_eq!(links(&file.after(0, 1_000).unwrap()).last(), Some(&head));
    let shell = Connection::open(folder.path()).unwrap();
    shell.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM audit WHERE seq = 2").unwrap();
    let changes = [
        "at = at + 1",
        "who = 'mallory'",
        "action = 'key.create'",
        "target = 'other'",
        "before = NULL",
        "after = replace(after, 'pro', 'prO')",
        "link = zeroblob(32)",
        "link = x'00'",
        "who = CAST(x'ff' AS TEXT)",
    ];
    for change in changes {
        assert_eq!(shell.execute(&format!("UPDATE audit SET {change} WHERE seq = 2"), []).unwrap(), 1);
        let bad = match file.after(0, 1_000) {
            Ok(entries) => {
                let mut checker = Checker::default();
                let checked = entries.iter().map(|it| checker.check(&it.entry(), it.link.as_ref()));
                checked.filter_map(Result::err).next().unwrap().seq.to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(bad == "2" || bad.contains("audit entry 2"), "{change}: {bad}");
        shell.execute("DELETE FROM audit WHERE seq = 2", []).unwrap();
        shell.execute("INSERT INTO audit SELECT * FROM temp.kept", []).unwrap();
        assert_eq!(links(&file.after(0, 1_000).unwrap()).last(), Some(&head), "as it was");
    }
}

#[test]
fn the_file_of_a_node_that_shares_its_store_says_so() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    let place = || AuditFile::open(&folder.path()).unwrap().place().unwrap();
    assert_eq!(place(), LogPlace::Here);
    database.set_meta(NODE_KEY, vec![1]).wait().unwrap();
    assert_eq!(place(), LogPlace::Shared);
    drop(database);
    // A log that is here is looked at here, whatever else is said.
    let directory = open(Database::open(&folder.path()).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(make_account(&directory, "acme"));
    assert_eq!(place(), LogPlace::Here);
}

#[tokio::test]
async fn all_nodes_make_the_same_links_of_a_long_log() {
    let server = RedisServer::new(Engine::Redis);
    let one = open_shared(&server.url()).await;
    make_account(&one, "acme").await;
    let many = "for n = 2, 2345 do redis.call('XADD', KEYS[1], '0-*', 'v', 1, 'at', n, 'who', 'ops', 'action', \
                'account.create', 'target', 'a' .. n, 'before', '', 'after', '{}') end";
    server.ask(&["EVAL", many, "1", "sg1:{dir}:audit"]);
    let other = open_shared(&server.url()).await;
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let last = entries.last().map_or(0, |entry| entry.seq);
        let more = other.audit_after(last, PageLimit::new(1_000).unwrap()).await.unwrap();
        if more.is_empty() {
            break;
        }
        entries.extend(more);
    }
    assert_eq!(entries.len(), 2_345);
    let links = links(&entries);
    // Twice: from the beginning, and from what is remembered.
    for directory in [&one, &one, &other] {
        assert_eq!(directory.audit_head().await.unwrap(), links[2_344]);
        let mut page = Page { limit: PageLimit::new(700).unwrap(), cursor: None };
        for end in [2_345, 1_645, 945, 245] {
            let paged = directory.list_audit(page).await.unwrap();
            let shown: Vec<Head> =
                paged.items.iter().map(|record| Head { seq: record.seq, link: record.link }).collect();
            let expected: Vec<Head> = links[usize::max(end, 700) - 700..end].iter().rev().copied().collect();
            assert_eq!(shown, expected);
            page.cursor = paged.next;
        }
    }
    // A log that was lost and has begun again has other links.
    server.ask(&["DEL", "sg1:{dir}:audit"]);
    assert_eq!(one.audit_head().await.unwrap(), Head::default());
    server.ask(&["EVAL", &many.replace("'ops'", "'eve'"), "1", "sg1:{dir}:audit"]);
    assert_ne!(one.audit_head().await.unwrap(), links[2_343]);
    assert_eq!(one.audit_head().await.unwrap(), open_shared(&server.url()).await.audit_head().await.unwrap());
}
