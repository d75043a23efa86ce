//! A full disk: the write is refused whole, and writes work again once there is space.

use std::path::Path;
use std::process::Command;

use sluicegate_store::database::{Checkpoint, Database, DatabaseError, MeterRow};
use sluicegate_store::directory::{CustomBody, Directory, StoreError, WriteError};

use crate::room::{Folder, at, counts, make_account, make_key, new_account, open, time};

const FULL: WriteError = WriteError::Unavailable(StoreError::Database(DatabaseError::DiskFull));

/// Gives accounts large bodies until the disk is full. Says how many were taken.
async fn fill(directory: &Directory) -> u32 {
    for at_second in 0.. {
        let body = CustomBody::new("x".repeat(60_000)).unwrap();
        match directory.create_account(new_account(&format!("big{at_second}")), &at(at_second)).await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, FULL);
                return at_second;
            }
        }
        if let Err(error) = directory.set_custom(&format!("big{at_second}"), body, &at(at_second)).await {
            assert_eq!(error, FULL);
            return at_second;
        }
        assert!(at_second < 10_000, "the disk is not small");
    }
    0
}

/// Everything that was there before is there, nothing of what was refused is, and reads go on.
async fn refused_and_whole(directory: &Directory) {
    let before = counts(directory).await;
    let entries = audit_entries(directory).await;
    let body = CustomBody::new("y".repeat(60_000)).unwrap();
    assert_eq!(directory.set_custom("kept", body, &at(1)).await.unwrap_err(), FULL);
    assert_eq!(directory.account("kept").await.unwrap().unwrap().standing.load().custom, None);
    assert_eq!(directory.find_account("kept").await.unwrap().unwrap().custom, None);
    assert_eq!((counts(directory).await, audit_entries(directory).await), (before, entries));
}

async fn audit_entries(directory: &Directory) -> u64 {
    directory.list_audit(Default::default()).await.unwrap().items.first().map_or(0, |entry| entry.seq)
}

#[tokio::test]
async fn without_a_free_page_a_write_is_refused_whole_and_works_again_with_one() {
    let folder = Folder::new();
    let directory = folder.open();
    make_account(&directory, "kept").await;
    make_key(&directory, "kept").await;
    directory.database().unwrap().limit_pages(200).await.unwrap();
    assert!(fill(&directory).await > 0);
    refused_and_whole(&directory).await;
    // A checkpoint is all or nothing as well.
    let row = |home| MeterRow { home, position: 1, expires_at: time(9), image: vec![7; 1_000] };
    let meters: Vec<MeterRow> = (0..1_000).map(row).collect();
    let checkpoint = Checkpoint { meters, position: 5, now: time(0), ..Checkpoint::default() };
    let saved = directory.database().unwrap().save_checkpoint(checkpoint.clone()).await;
    assert_eq!(saved.unwrap_err(), DatabaseError::DiskFull);
    let mut found = 0;
    let load =
        |found: &mut u32| directory.database().unwrap().load_checkpoint(|_, _| {}, |_| *found += 1, |_| {});
    assert_eq!((load(&mut found).unwrap(), found), (0, 0));
    directory.database().unwrap().limit_pages(100_000).await.unwrap();
    directory.set_custom("kept", CustomBody::new("y".repeat(60_000)).unwrap(), &at(2)).await.unwrap();
    directory.database().unwrap().save_checkpoint(checkpoint).await.unwrap();
    assert_eq!((load(&mut found).unwrap(), found), (5, 1_000));
    let before = counts(&directory).await;
    drop(directory);
    assert_eq!(counts(&folder.open()).await, before);
}

/// A file system of four megabytes, gone when this is.
struct SmallDisk<'f>(&'f Path);

impl<'f> SmallDisk<'f> {
    fn mount(folder: &'f Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(folder);
        mount.output().ok().filter(|done| done.status.success()).map(|_| Self(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[tokio::test]
async fn on_a_disk_that_is_full_a_write_is_refused_whole_and_works_again_with_space() {
    let folder = Folder::new();
    let Some(_disk) = SmallDisk::mount(folder.dir()) else {
        eprintln!("only root may mount; the test above does the same without");
        return;
    };
    let ballast = folder.dir().join("ballast");
    std::fs::write(&ballast, vec![0; 1_000_000]).unwrap();
    let directory = folder.open();
    make_account(&directory, "kept").await;
    make_key(&directory, "kept").await;
    assert!(fill(&directory).await > 0);
    refused_and_whole(&directory).await;
    // What is on a full disk can be read by the next process.
    let before = counts(&directory).await;
    drop(directory);
    let directory = open(Database::open(&folder.path()).unwrap()).unwrap();
    assert_eq!(counts(&directory).await, before);
    std::fs::remove_file(&ballast).unwrap();
    directory.set_custom("kept", CustomBody::new("y".repeat(60_000)).unwrap(), &at(2)).await.unwrap();
    assert!(directory.account("kept").await.unwrap().unwrap().standing.load().custom.is_some());
}
