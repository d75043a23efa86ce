//! Groups of writes, made on purpose: one job holds the thread until the others are in line.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;

use super::*;

/// A database whose writing thread is in a transaction of its own until the sender is dropped.
fn held() -> (tempfile::TempDir, Database, mpsc::Sender<()>) {
    let folder = tempfile::TempDir::new().unwrap();
    let database = Database::open(&folder.path().join("t.db")).unwrap();
    let (release, held) = mpsc::channel::<()>();
    let (started, start) = mpsc::channel::<()>();
    drop(database.write(
        move |_| {
            started.send(()).unwrap();
            let _ = held.recv();
            Ok::<_, DatabaseError>(())
        },
        |()| {},
    ));
    start.recv().unwrap();
    (folder, database, release)
}

fn insert(connection: &Connection, name: &str) -> Result<(), DatabaseError> {
    connection.execute("INSERT INTO names (name) VALUES (?1)", [name])?;
    Ok(())
}

fn names(database: &Database) -> Vec<String> {
    database.names().unwrap().into_iter().map(|(_, name)| name).collect()
}

#[test]
fn what_a_refused_write_did_is_undone_and_nothing_else_is() {
    let (_folder, database, release) = held();
    let first = database.write(|connection| insert(connection, "first"), |()| {});
    let refused = database.write(
        |connection| {
            insert(connection, "refused")?;
            insert(connection, "first")
        },
        |()| panic!("a refused write is seen"),
    );
    let last = database.write(|connection| insert(connection, "last"), |()| {});
    drop(release);
    first.wait().unwrap();
    assert!(matches!(refused.wait().unwrap_err(), DatabaseError::Other(_)));
    last.wait().unwrap();
    assert_eq!(names(&database), ["first", "last"]);
    // The one that held the thread, and the three together.
    assert_eq!(database.commits(), 2);
}

#[test]
fn if_the_transaction_is_lost_so_is_every_write_of_it() {
    let (_folder, database, release) = held();
    let first = database.write(|connection| insert(connection, "first"), |()| panic!("it is seen"));
    let fatal = database.write(
        |connection| {
            // As SQLite itself does when a disk is full at the wrong moment.
            connection.execute_batch("ROLLBACK")?;
            Err::<(), _>(DatabaseError::DiskFull)
        },
        |()| {},
    );
    let last = database.write(|connection| insert(connection, "last"), |()| panic!("it is seen"));
    drop(release);
    for answer in [first.wait(), fatal.wait(), last.wait()] {
        assert_eq!(answer.unwrap_err(), DatabaseError::DiskFull);
    }
    assert!(names(&database).is_empty());
    database.write(|connection| insert(connection, "later"), |()| {}).wait().unwrap();
    assert_eq!(names(&database), ["later"]);
}

#[test]
fn writes_are_seen_in_order_after_the_commit_and_before_their_answer() {
    let (_folder, database, release) = held();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let write = |at: usize| {
        let (database_seen, seen) = (database.0.path.clone(), Arc::clone(&seen));
        database.write(
            move |connection| insert(connection, &at.to_string()),
            move |()| {
                let shell = Connection::open(database_seen).unwrap();
                let sql = "SELECT count(*) FROM names WHERE name = ?1";
                let found: u32 = shell.query_row(sql, [at.to_string()], |row| row.get(0)).unwrap();
                seen.lock().unwrap().push((at, found));
            },
        )
    };
    let answers: Vec<Pending<()>> = (0..5).map(write).collect();
    drop(release);
    for (at, answer) in answers.into_iter().enumerate() {
        answer.wait().unwrap();
        assert!(seen.lock().unwrap().contains(&(at, 1)));
    }
    assert_eq!(*seen.lock().unwrap(), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]);
}

#[test]
fn a_large_write_has_a_transaction_of_its_own() {
    let (_folder, database, release) = held();
    let first = database.write(|connection| insert(connection, "first"), |()| {});
    let large = database.save_checkpoint(Checkpoint { position: 7, ..Checkpoint::default() });
    let last = database.write(|connection| insert(connection, "last"), |()| {});
    drop(release);
    for answer in [first, large, last] {
        answer.wait().unwrap();
    }
    assert_eq!((names(&database).len(), database.commits()), (2, 4));
}

#[test]
fn a_line_that_is_too_long_refuses_at_once() {
    let (_folder, database, release) = held();
    let ask = || database.write(|_| Ok::<_, DatabaseError>(()), |()| {});
    let answers: Vec<Pending<()>> = (0..QUEUE_MAX).map(|_| ask()).collect();
    // Not in line: the answer is there while the thread is still held.
    assert_eq!(ask().wait().unwrap_err(), DatabaseError::Overloaded);
    drop(release);
    answers.into_iter().for_each(|answer| answer.wait().unwrap());
}

#[test]
fn what_was_asked_is_done_before_it_is_closed() {
    let (folder, database, release) = held();
    drop(database.write(|connection| insert(connection, "asked"), |()| {}));
    drop(release);
    drop(database);
    assert_eq!(names(&Database::open(&folder.path().join("t.db")).unwrap()), ["asked"]);
}
