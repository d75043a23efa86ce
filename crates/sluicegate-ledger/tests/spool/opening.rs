//! Opening: a spool is found as it was left, and what does not belong together is named.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use sluicegate_ledger::{Health, OpenError, Position, ReadError, Spool, SpoolSettings};

use crate::fixtures::{append, append_all, image, numbers, open, read, record, segments, settings};

#[test]
fn what_was_appended_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(&dir.path().join("deep/spool"), 64);
    assert_eq!((spool.first(), spool.tail(), spool.health()), (Position(0), Position(0), Health::Good));
    for number in 0..40 {
        assert_eq!(append(&spool, &record(number)), Position(number));
    }
    assert_eq!(numbers(&spool), (0..40).collect::<Vec<_>>());
    let (later, report) = read(&spool, Position(30));
    assert_eq!((later.len(), later[0], report.read), (10, (30, 30), 10));
}

#[test]
fn a_spool_goes_on_where_it_was_left() {
    let dir = tempfile::tempdir().unwrap();
    for (session, segment_records) in (0..).zip([8, 8, 3, 100, 1, 8, 8]) {
        let spool = open(dir.path(), segment_records);
        assert_eq!((spool.tail(), spool.durable()), (Position(session * 21), Position(session * 21)));
        assert_eq!(numbers(&spool), (0..session * 21).collect::<Vec<_>>());
        append_all(&spool, session * 21..session * 21 + 21);
        assert_eq!(numbers(&spool).len() as u64, session * 21 + 21);
        if session % 2 == 0 {
            spool.close().unwrap();
        }
    }
}

#[test]
fn a_spool_that_ends_with_its_segment_goes_on_with_the_next() {
    for appended in [7, 8, 9, 16] {
        let dir = tempfile::tempdir().unwrap();
        append_all(&open(dir.path(), 8), 0..appended);
        let spool = open(dir.path(), 8);
        assert_eq!(append(&spool, &record(appended)), Position(appended));
        assert_eq!(numbers(&spool), (0..=appended).collect::<Vec<_>>());
    }
}

#[test]
fn flushed_means_durable() {
    let dir = tempfile::tempdir().unwrap();
    let settings = SpoolSettings { segment_records: 64, flush_every: Duration::from_hours(1) };
    let spool = Spool::open(dir.path(), settings).unwrap();
    append_all(&spool, 0..5);
    assert_eq!(spool.durable(), Position(0));
    spool.flush().unwrap();
    assert_eq!(spool.durable(), Position(5));
}

#[test]
fn only_one_may_have_it_open() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    let error = Spool::open(dir.path(), settings(8)).err().unwrap();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    drop(spool);
    open(dir.path(), 8);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let zero = [
        SpoolSettings { segment_records: 0, ..SpoolSettings::default() },
        SpoolSettings { flush_every: Duration::ZERO, ..SpoolSettings::default() },
    ];
    for settings in zero {
        assert!(matches!(Spool::open(dir.path(), settings).err().unwrap(), OpenError::Settings { .. }));
    }
}

#[test]
fn reading_before_the_first_or_behind_the_last_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    append_all(&spool, 0..20);
    assert_eq!(read(&spool, Position(20)).1.read, 0);
    let beyond = spool.read(Position(21), |_, _| {}).unwrap_err();
    assert!(matches!(beyond, ReadError::Beyond { tail: Position(20), .. }), "{beyond}");
    spool.flush().unwrap();
    assert_eq!(spool.forget_before(Position(8)).unwrap(), 1);
    let forgotten = spool.read(Position(7), |_, _| {}).unwrap_err();
    assert!(matches!(forgotten, ReadError::Forgotten { first: Position(8), .. }), "{forgotten}");
}

/// A spool of five segments of eight records, the last of them half full, after something was done to its files.
#[track_caller]
fn expect_refused(damage: impl Fn(&[std::path::PathBuf]), named: usize, expected: fn(&OpenError) -> bool) {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    append_all(&open(dir.path(), 8), 0..36);
    image(dir.path(), copy.path());
    let paths = segments(copy.path());
    damage(&paths);
    let error = Spool::open(copy.path(), settings(8)).err().unwrap();
    assert!(expected(&error), "{error:?}");
    let name = paths[named].file_name().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(name), "{error} does not name {name}");
    // Nothing was made worse: with the file as it was the spool opens.
    image(dir.path(), copy.path());
    assert_eq!(numbers(&open(copy.path(), 8)).len(), 36);
}

fn write_at(path: &std::path::Path, bytes: &[u8], offset: u64) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn a_missing_segment_is_named() {
    expect_refused(
        |paths| fs::remove_file(&paths[2]).unwrap(),
        2,
        |it| matches!(it, OpenError::Missing { .. }),
    );
}

#[test]
fn a_damaged_header_above_records_is_named() {
    for damaged in [0, 2, 4] {
        let expected = |it: &OpenError| matches!(it, OpenError::Header { .. });
        expect_refused(
            |paths| remove_empty_then(paths, |paths| write_at(&paths[damaged], &[9], 20)),
            damaged,
            expected,
        );
    }
}

/// Removes the segment that was made ahead, so that the last one has records.
fn remove_empty_then(paths: &[std::path::PathBuf], damage: impl Fn(&[std::path::PathBuf])) {
    for path in &paths[5..] {
        fs::remove_file(path).unwrap();
    }
    damage(paths);
}

#[test]
fn a_segment_that_was_cut_is_named() {
    for cut in [1, 4] {
        let shorten = |paths: &[std::path::PathBuf]| {
            OpenOptions::new().write(true).open(&paths[cut]).unwrap().set_len(1000).unwrap();
        };
        expect_refused(shorten, cut, |it| matches!(it, OpenError::Size { found: 1000, expected: 1152, .. }));
    }
}

#[test]
fn a_segment_of_another_version_is_named() {
    let change = |paths: &[std::path::PathBuf]| {
        let mut header = fs::read(&paths[1]).unwrap()[..128].to_vec();
        header[8] = 2;
        let sum = crc32fast::hash(&header[..124]).to_le_bytes();
        header[124..].copy_from_slice(&sum);
        write_at(&paths[1], &header, 0);
    };
    expect_refused(change, 1, |it| matches!(it, OpenError::Version { version: 2, .. }));
}

#[test]
fn a_segment_under_a_wrong_name_is_named() {
    let swap = |paths: &[std::path::PathBuf]| {
        fs::copy(&paths[3], &paths[1]).unwrap();
    };
    expect_refused(swap, 1, |it| matches!(it, OpenError::Misnamed { first: Position(24), .. }));
}

#[test]
fn a_segment_that_begins_too_early_is_named() {
    let overlap = |paths: &[std::path::PathBuf]| {
        // The first segment says it has sixteen records, and is as long.
        let mut header = fs::read(&paths[0]).unwrap()[..128].to_vec();
        header[12] = 16;
        let sum = crc32fast::hash(&header[..124]).to_le_bytes();
        header[124..].copy_from_slice(&sum);
        write_at(&paths[0], &header, 0);
        OpenOptions::new().write(true).open(&paths[0]).unwrap().set_len(17 * 128).unwrap();
    };
    expect_refused(overlap, 1, |it| matches!(it, OpenError::Overlap { .. }));
}

#[test]
fn a_file_with_a_strange_name_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("12.seg"), "").unwrap();
    let error = Spool::open(dir.path(), settings(8)).err().unwrap();
    assert!(matches!(error, OpenError::Name { .. }) && error.to_string().contains("12.seg"), "{error}");
}

#[test]
fn what_a_crash_left_unfinished_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    append_all(&open(dir.path(), 8), 0..12);
    let ahead = dir.path().join("00000000000000000016.seg");
    for (left, bytes) in
        [(ahead.clone(), vec![]), (ahead.clone(), vec![0; 1152]), (ahead.clone(), vec![7; 100])]
    {
        fs::write(&left, bytes).unwrap();
        let unfinished = dir.path().join("00000000000000000024.seg.tmp");
        fs::write(&unfinished, [1; 1000]).unwrap();
        let spool = open(dir.path(), 8);
        assert!(!unfinished.exists());
        assert_eq!(numbers(&spool), (0..12).collect::<Vec<_>>());
        append_all(&spool, 12..20);
        drop(spool);
        let spool = open(dir.path(), 8);
        assert_eq!(numbers(&spool), (0..20).collect::<Vec<_>>());
        drop(spool);
        // As it was, but for the segment ahead.
        fs::remove_dir_all(dir.path()).unwrap();
        append_all(&open(dir.path(), 8), 0..12);
    }
}

#[test]
fn a_blank_segment_alone_keeps_the_count() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("00000000000000004096.seg"), [0; 640]).unwrap();
    let spool = open(dir.path(), 8);
    assert_eq!((spool.first(), append(&spool, &record(1))), (Position(4096), Position(4096)));
}
