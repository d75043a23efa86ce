//! Forgetting segments that nobody needs any more.

use std::fs;

use sluicegate_ledger::{Position, ReadError};

use crate::fixtures::{append, append_all, numbers, open, record, segments};

#[test]
fn only_segments_wholly_before_the_position_go() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    append_all(&spool, 0..36);
    spool.flush().unwrap();
    for (before, gone, first) in [(0, 0, 0), (7, 0, 0), (8, 1, 8), (23, 1, 16), (24, 1, 24), (24, 0, 24)] {
        assert_eq!(spool.forget_before(Position(before)).unwrap(), gone);
        assert_eq!(spool.first(), Position(first));
        assert_eq!(numbers(&spool), (first..36).collect::<Vec<_>>());
    }
    drop(spool);
    assert_eq!(numbers(&open(dir.path(), 8)), (24..36).collect::<Vec<_>>());
}

#[test]
fn the_count_goes_on_when_everything_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    for round in 1..5 {
        let spool = open(dir.path(), 8);
        append_all(&spool, round * 8 - 8..round * 8);
        spool.flush().unwrap();
        spool.forget_before(Position(u64::MAX)).unwrap();
        assert_eq!(spool.tail(), Position(round * 8));
        drop(spool);
        assert!(!segments(dir.path()).is_empty());
        assert_eq!(open(dir.path(), 8).tail(), Position(round * 8));
    }
}

#[test]
fn forgetting_what_is_gone_already_is_fine_but_reading_it_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    append_all(&spool, 0..36);
    spool.flush().unwrap();
    fs::remove_file(&segments(dir.path())[0]).unwrap();
    let error = spool.read(Position(0), |_, _| {}).unwrap_err();
    assert!(matches!(&error, ReadError::Io { .. }), "{error}");
    assert!(error.to_string().contains("00000000000000000000.seg"), "{error}");
    assert_eq!(spool.forget_before(Position(8)).unwrap(), 1);
    append(&spool, &record(36));
    assert_eq!(numbers(&spool), (8..=36).collect::<Vec<_>>());
}

#[test]
fn a_reader_who_is_overtaken_by_forgetting_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    append_all(&spool, 0..36);
    spool.flush().unwrap();
    let mut read = 0;
    let outcome = spool.read(Position(0), |_, _| {
        read += 1;
        if read == 1 {
            spool.forget_before(Position(32)).unwrap();
        }
    });
    assert!(matches!(outcome.unwrap_err(), ReadError::Forgotten { first: Position(32), .. }));
    assert_eq!(read, 8, "the segment that was open already was read to its end");
}
