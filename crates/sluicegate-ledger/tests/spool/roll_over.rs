//! From one segment to the next.

use sluicegate_ledger::Position;

use crate::fixtures::{append, append_all, eventually, numbers, open, read, record, segments};

#[test]
fn records_go_on_through_many_small_segments() {
    for segment_records in [1, 2, 8] {
        let dir = tempfile::tempdir().unwrap();
        let spool = open(dir.path(), segment_records);
        for number in 0..150 {
            assert_eq!(append(&spool, &record(number)), Position(number));
        }
        assert_eq!(numbers(&spool), (0..150).collect::<Vec<_>>());
        drop(spool);
        let spool = open(dir.path(), segment_records);
        assert_eq!(numbers(&spool), (0..150).collect::<Vec<_>>());
    }
}

#[test]
fn segments_are_named_by_their_first_position() {
    let dir = tempfile::tempdir().unwrap();
    append_all(&open(dir.path(), 8), 0..20);
    let names: Vec<String> = segments(dir.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names[..3],
        ["00000000000000000000.seg", "00000000000000000008.seg", "00000000000000000016.seg"]
    );
}

#[test]
fn the_next_segment_is_there_before_the_last_one_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    assert_eq!(segments(dir.path()).len(), 1);
    append(&spool, &record(0));
    eventually(|| segments(dir.path()).len() == 2);
}

#[test]
fn reading_begins_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    append_all(&spool, 0..50);
    for from in 0..=50 {
        let (found, report) = read(&spool, Position(from));
        assert!(found.iter().map(|(position, _)| *position).eq(from..50));
        assert_eq!((report.read, report.next), (50 - from, Position(50)));
    }
}
