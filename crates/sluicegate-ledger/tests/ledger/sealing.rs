//! Closed hours go to object storage once, whatever happens on the way.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::seal::{Destination, SealError, Sealer};

use crate::fixtures::{Bed, append, at, charge, hour, names, wait};

fn in_memory(bed: &Bed) -> (Arc<InMemory>, Sealer) {
    let store = Arc::new(InMemory::new());
    let destination = Destination::new(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::default(), "memory");
    (store, bed.ledger.sealer(destination, names()))
}

fn path(number: u32) -> Path {
    let hour = hour(number);
    Path::from(format!("usage/v1/dt={}/hour={:02}/node=n1.parquet", hour.date(), hour.of_day()))
}

#[test]
fn every_closed_hour_is_sealed_once_and_in_order() {
    let bed = Bed::with_hours(5);
    append(&bed.spool, &charge(at(5, 1), 1, 1));
    let (store, sealer) = in_memory(&bed);
    let mut seen = Vec::new();
    let sealed = wait(sealer.seal_due(at(5, 2), |progress| seen.push(progress))).unwrap();
    assert_eq!((sealed.hours, sealed.found, sealed.rows), (5, 0, 15));
    assert_eq!(seen.iter().map(|it| it.hour).collect::<Vec<_>>(), (0..5).map(hour).collect::<Vec<_>>());
    assert!(seen.iter().all(|it| it.until == hour(5)));
    assert_eq!(wait(sealer.seal_due(at(5, 3), |_| {})).unwrap().hours, 0);
    let manifest = bed.ledger.book().sealed(ALL_HOURS).unwrap();
    assert_eq!(manifest.len(), 5);
    assert_eq!((manifest[1].rows, manifest[1].requests, manifest[1].total), (3, 21, 7 * (2 + 3 + 4)));
    assert_eq!(manifest[1].object, path(1).to_string());
    let bytes = wait(async { store.get(&path(1)).await.unwrap().bytes().await.unwrap() });
    assert_eq!(blake3::hash(&bytes).as_bytes(), &manifest[1].digest);
}

#[test]
fn an_hour_without_usage_has_no_object() {
    let bed = Bed::with_hours(2);
    bed.fill(7..9);
    let (_, sealer) = in_memory(&bed);
    assert_eq!(wait(sealer.seal_due(at(9, 0), |_| {})).unwrap().hours, 4);
}

#[test]
fn whoever_was_interrupted_between_upload_and_remembering_goes_on_with_the_same_object() {
    let bed = Bed::with_hours(3);
    let (store, sealer) = in_memory(&bed);
    wait(sealer.seal_due(at(3, 0), |_| {})).unwrap();
    let before = wait(async { store.get(&path(2)).await.unwrap().meta });
    // As if the book had not been written to: the last hour, and all of them.
    for (after, found) in [(hour(1), 1), (hour(0), 2)] {
        let connection = rusqlite::Connection::open(bed.dir.path().join("ledger/usage.db")).unwrap();
        connection.execute("DELETE FROM sealed WHERE hour > ?1", [after.number()]).unwrap();
        let sealed = wait(sealer.seal_due(at(3, 1), |_| {})).unwrap();
        assert_eq!((sealed.hours, sealed.found), (found, found));
    }
    let after = wait(async { store.get(&path(2)).await.unwrap().meta });
    assert_eq!(
        (before.e_tag, before.last_modified),
        (after.e_tag, after.last_modified),
        "it was written again"
    );
}

#[test]
fn another_object_in_its_place_is_never_overwritten() {
    let bed = Bed::with_hours(3);
    let (store, sealer) = in_memory(&bed);
    wait(store.put(&path(1), "something else".into())).unwrap();
    let error = wait(sealer.seal_due(at(3, 0), |_| {})).unwrap_err();
    assert!(matches!(&error, SealError::Differs { object } if *object == path(1).to_string()), "{error}");
    // The hour before it is sealed, the one behind it waits.
    assert_eq!(bed.ledger.book().sealed(ALL_HOURS).unwrap().len(), 1);
    let kept = wait(async { store.get(&path(1)).await.unwrap().bytes().await.unwrap() });
    assert_eq!(&*kept, b"something else");
    wait(sealer.seal_again(&[hour(1)], at(3, 0))).unwrap();
    assert_eq!(wait(sealer.seal_due(at(3, 0), |_| {})).unwrap().hours, 1);
}

#[test]
fn an_hour_that_is_not_closed_cannot_be_sealed() {
    let bed = Bed::with_hours(2);
    append(&bed.spool, &charge(at(2, 1), 1, 1));
    let (_, sealer) = in_memory(&bed);
    let error = wait(sealer.seal_again(&[hour(2)], at(2, 2))).unwrap_err();
    assert!(matches!(error, SealError::Open { .. }), "{error}");
    let error = wait(sealer.seal_again(&[at_no_usage()], at(2, 2))).unwrap_err();
    assert!(matches!(error, SealError::Empty { .. }), "{error}");
}

fn at_no_usage() -> sluicegate_ledger::Hour {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

#[test]
fn names_that_cannot_be_told_stop_sealing_and_nothing_is_written() {
    let bed = Bed::with_hours(1);
    let store = Arc::new(InMemory::new());
    let destination = Destination::new(Arc::clone(&store) as Arc<dyn ObjectStore>, Path::default(), "memory");
    let sealer = bed.ledger.sealer(destination, Arc::new(|_| None));
    assert!(wait(sealer.seal_due(at(1, 0), |_| {})).is_err());
    assert!(wait(store.get(&path(0))).is_err());
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let objects = [Bed::with_hours(2), Bed::with_hours(2)].map(|bed| {
        let (store, sealer) = in_memory(&bed);
        wait(sealer.seal_due(at(2, 0), |_| {})).unwrap();
        wait(async { store.get(&path(1)).await.unwrap().bytes().await.unwrap() })
    });
    assert_eq!(objects[0], objects[1]);
}
