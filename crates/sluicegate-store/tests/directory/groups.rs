//! Writes that wait together are committed together, and each still stands or falls on its own.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use sluicegate_store::directory::{Directory, WriteError};

use crate::room::{Folder, account_of, at, counts, make_account, new_account, new_key};

/// Starts all of them before any is waited for.
fn start_all(
    directory: &Arc<Directory>,
    ids: Vec<String>,
) -> Vec<tokio::task::JoinHandle<Result<u64, WriteError>>> {
    let start = |id: String| {
        let directory = Arc::clone(directory);
        tokio::spawn(async move {
            directory.create_account(new_account(&id), &at(0)).await.map(|record| record.serial)
        })
    };
    ids.into_iter().map(start).collect()
}

#[tokio::test]
async fn a_hundred_parallel_writes_need_far_fewer_transactions() {
    let folder = Folder::new();
    let directory = Arc::new(folder.open());
    let before = directory.database().unwrap().commits();
    let mut serials = Vec::new();
    for task in start_all(&directory, (0..100).map(|at| format!("a{at}")).collect()) {
        serials.push(task.await.unwrap().unwrap());
    }
    let commits = directory.database().unwrap().commits() - before;
    assert!((1..100).contains(&commits), "{commits}");
    serials.sort_unstable();
    serials.dedup();
    assert_eq!((serials.len(), counts(&directory).await.accounts), (100, 100));
}

#[tokio::test]
async fn one_that_is_refused_undoes_no_other() {
    let folder = Folder::new();
    let directory = Arc::new(folder.open());
    // Every id twice: whichever comes second is refused, in the same transaction or in the next.
    let ids = (0..200).map(|at| format!("a{}", at % 100)).collect();
    let (mut made, mut refused) = (0, 0);
    for task in start_all(&directory, ids) {
        match task.await.unwrap() {
            Ok(_) => made += 1,
            Err(WriteError::Exists(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((made, refused, counts(&directory).await.accounts), (100, 100, 100));
    drop(directory);
    assert_eq!(counts(&folder.open()).await.accounts, 100);
}

#[tokio::test]
async fn an_account_and_its_key_may_share_a_transaction() {
    let folder = Folder::new();
    let directory = folder.open();
    let who = at(0);
    // Both are in line before either is waited for.
    let mut account = pin!(directory.create_account(new_account("acme"), &who));
    let mut key = pin!(directory.create_key("acme", new_key(), &who));
    let mut context = Context::from_waker(Waker::noop());
    let _ = account.as_mut().poll(&mut context);
    let _ = key.as_mut().poll(&mut context);
    let (_, secret) = key.await.unwrap();
    assert_eq!(account_of(&directory, secret.expose(), 0).await.as_deref(), Some("acme"));
}

#[tokio::test]
async fn a_write_that_nobody_waits_for_is_done() {
    let folder = Folder::new();
    let directory = folder.open();
    {
        let who = at(0);
        let mut abandoned = pin!(directory.create_account(new_account("acme"), &who));
        let _ = abandoned.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    // Writes are done in the order in which they were asked for.
    make_account(&directory, "later").await;
    assert!(directory.account("acme").await.unwrap().is_some());
    assert!(directory.find_account("acme").await.unwrap().is_some());
}
