//! Opening the file: what is in the way is said in words that help.

use std::path::Path;

use rusqlite::Connection;
use sluicegate_store::database::{Database, DatabaseError};
use sluicegate_store::directory::WriteError;

use crate::room::{Folder, at, counts, make_account, new_account};

fn refused(path: &Path) -> DatabaseError {
    Database::open(path).map(drop).unwrap_err()
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let folder = Folder::new();
    let text = "these are my notes\n".repeat(100);
    std::fs::write(folder.path(), &text).unwrap();
    assert_eq!(refused(&folder.path()), DatabaseError::NotADatabase { path: folder.path() });
    assert_eq!(std::fs::read_to_string(folder.path()).unwrap(), text);
    assert!(refused(&folder.path()).to_string().contains("is not a database"));
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    let other = Connection::open(folder.path()).unwrap();
    other.execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    drop(other);
    let before = std::fs::read(folder.path()).unwrap();
    assert_eq!(refused(&folder.path()), DatabaseError::NotOurs { path: folder.path() });
    assert_eq!(std::fs::read(folder.path()).unwrap(), before);
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let folder = Folder::new();
    drop(Database::open(&folder.path()).unwrap());
    let newer = Connection::open(folder.path()).unwrap();
    let known: u32 = newer.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    newer.pragma_update(None, "user_version", known + 1).unwrap();
    drop(newer);
    let error = refused(&folder.path());
    assert_eq!(error, DatabaseError::Newer { found: known + 1, known });
    assert!(error.to_string().contains("upgrade"), "{error}");
}

#[test]
fn only_one_may_have_the_file() {
    let folder = Folder::new();
    let first = Database::open(&folder.path()).unwrap();
    assert_eq!(refused(&folder.path()), DatabaseError::InUse { path: folder.path() });
    drop(first);
    drop(Database::open(&folder.path()).unwrap());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = Folder::new();
    let path = folder.dir().join("missing").join("sluicegate.db");
    let error = refused(&path);
    assert!(matches!(&error, DatabaseError::CannotOpen { path: named, .. } if *named == path), "{error}");
}

#[test]
fn a_damaged_file_is_not_opened_as_if_it_were_whole() {
    let folder = Folder::new();
    drop(Database::open(&folder.path()).unwrap());
    let mut bytes = std::fs::read(folder.path()).unwrap();
    // The head stays: what follows it is the list of tables.
    bytes[100..4_000].fill(0xAA);
    std::fs::write(folder.path(), bytes).unwrap();
    let error = refused(&folder.path());
    assert!(matches!(&error, DatabaseError::Damaged(_)), "{error}");
}

#[tokio::test]
async fn while_another_process_keeps_the_lock_writes_are_refused_and_then_work() {
    let folder = Folder::new();
    let directory = folder.open();
    let shell = Connection::open(folder.path()).unwrap();
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    let locked = directory.create_account(new_account("a"), &at(0)).await;
    assert_eq!(locked.unwrap_err(), WriteError::Unavailable(DatabaseError::Locked.into()));
    assert_eq!(counts(&directory).await.accounts, 0);
    // Others may read at any time.
    assert!(directory.list_accounts(Default::default()).await.unwrap().items.is_empty());
    shell.execute_batch("ROLLBACK").unwrap();
    make_account(&directory, "a").await;
}

#[tokio::test]
async fn others_may_look_while_it_is_open() {
    let folder = Folder::new();
    let directory = folder.open();
    make_account(&directory, "acme").await;
    let shell = Connection::open(folder.path()).unwrap();
    let id: String = shell.query_row("SELECT id FROM accounts", [], |row| row.get(0)).unwrap();
    assert_eq!(id, "acme");
}

#[tokio::test]
async fn names_have_numbers_for_ever() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    let (free, pro) = (database.intern("free").await.unwrap(), database.intern("pro").await.unwrap());
    assert!(free != 0 && pro != 0 && free != pro);
    assert_eq!(database.intern("free").await.unwrap(), free);
    drop(database);
    let database = Database::open(&folder.path()).unwrap();
    assert_eq!(database.intern("pro").wait().unwrap(), pro);
    let names = vec![(free, "free".to_owned()), (pro, "pro".to_owned())];
    assert_eq!(database.names().unwrap(), names);
}

#[test]
fn a_value_is_kept_under_its_key() {
    let folder = Folder::new();
    let database = Database::open(&folder.path()).unwrap();
    assert_eq!(database.meta("salt").unwrap(), None);
    database.set_meta("salt", vec![0, 1]).wait().unwrap();
    database.set_meta("salt", vec![2, 255]).wait().unwrap();
    drop(database);
    assert_eq!(Database::open(&folder.path()).unwrap().meta("salt").unwrap(), Some(vec![2, 255]));
}
