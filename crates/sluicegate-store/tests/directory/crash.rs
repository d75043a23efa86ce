//! A crash at any moment: the files as they are while somebody writes, opened elsewhere.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sluicegate_store::database::Database;

use crate::room::{Folder, account_of, at, counts, new_account, new_key, open};

/// What a crash at one moment would leave, its log perhaps torn at the end. Nothing if the log was emptied into the
/// database meanwhile: the two copies would be of different moments.
fn copy_files(from: &Path, to: &Path) -> Option<()> {
    let read = |name: &str| std::fs::read(from.join(name)).unwrap_or_default();
    let head = |log: &[u8]| log.get(..32).map(<[u8]>::to_vec);
    let before = head(&read("sluicegate.db-wal"));
    let database = read("sluicegate.db");
    let log = read("sluicegate.db-wal");
    let is_of_one_moment = head(&log) == before && read("sluicegate.db") == database;
    std::fs::write(to.join("sluicegate.db"), database).unwrap();
    std::fs::write(to.join("sluicegate.db-wal"), log).unwrap();
    is_of_one_moment.then_some(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_after_a_crash_and_nothing_is_half_done() {
    let folder = Folder::new();
    let directory = Arc::new(folder.open());
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writer = {
        let (directory, stop, answered) = (Arc::clone(&directory), Arc::clone(&stop), Arc::clone(&answered));
        tokio::spawn(async move {
            let mut secrets = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let id = format!("a{}", secrets.len());
                directory.create_account(new_account(&id), &at(0)).await.unwrap();
                let (_, secret) = directory.create_key(&id, new_key(), &at(0)).await.unwrap();
                secrets.push(secret);
                answered.store(secrets.len(), Ordering::Relaxed);
            }
            secrets
        })
    };
    let mut images = Vec::new();
    while images.len() < 20 {
        let known = answered.load(Ordering::Relaxed);
        if known < 3 * images.len() {
            tokio::task::yield_now().await;
            continue;
        }
        let image = Folder::new();
        if copy_files(folder.dir(), image.dir()).is_some() {
            images.push((known, image));
        }
    }
    stop.store(true, Ordering::Relaxed);
    let secrets = writer.await.unwrap();
    for (known, image) in images {
        let crashed = open(Database::open(&image.path()).unwrap()).unwrap();
        for (at, secret) in secrets.iter().enumerate().take(known) {
            assert_eq!(account_of(&crashed, secret.expose(), 0).await, Some(format!("a{at}")), "of {known}");
        }
        // An entry for every account and key, and none more.
        let counts = counts(&crashed).await;
        let page = sluicegate_store::directory::Page {
            limit: sluicegate_store::directory::PageLimit::new(1_000).unwrap(),
            cursor: None,
        };
        let entries = crashed.list_audit(page).await.unwrap();
        assert!(entries.next.is_some() || entries.items.len() == counts.accounts + counts.keys);
        assert!(counts.accounts == counts.keys || counts.accounts == counts.keys + 1);
        // And it can be written again.
        crashed.create_account(new_account("after"), &at(1)).await.unwrap();
    }
}
