//! Bytes that changed on disk: what they belonged to is not taken for a record, and everything else is read.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use sluicegate_ledger::{OpenError, Position, ReadError, Spool};
use tempfile::TempDir;

use crate::fixtures::{append, append_all, image, open, read, record, segments, settings};

const SLOT: usize = 128;

/// A closed spool of five segments of eight records with 36 records. It is made once and copied.
fn closed() -> TempDir {
    static MADE: OnceLock<TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        append_all(&open(dir.path(), 8), 0..36);
        dir
    });
    let dir = tempfile::tempdir().unwrap();
    image(made.path(), dir.path());
    dir
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_changed_byte_costs_its_record_and_no_other(segment in 0usize..5, byte in SLOT..9 * SLOT, to in 1u8..) {
        let dir = closed();
        change(&segments(dir.path())[segment], |bytes| bytes[byte] ^= to);
        let position = (segment * 8 + byte / SLOT - 1) as u64;
        let spool = open(dir.path(), 8);
        let (found, report) = read(&spool, Position(0));
        // A changed byte behind the last record makes the spool longer by what was never written.
        let tail = 36.max(position + 1);
        let expected = (0..36).filter(|it| *it != position).map(|it| (it, it));
        prop_assert!(found.into_iter().eq(expected));
        prop_assert_eq!((report.torn, report.next, spool.tail()), (1, Position(tail), Position(tail)));
        prop_assert_eq!(report.holes, tail - report.read - 1);
        prop_assert_eq!(append(&spool, &record(99)), Position(tail));
    }

    #[test]
    fn a_changed_byte_of_a_header_is_told_and_not_guessed(segment in 0usize..5, byte in 0..SLOT, to in 1u8..) {
        let dir = closed();
        for ahead in &segments(dir.path())[5..] {
            fs::remove_file(ahead).unwrap();
        }
        change(&segments(dir.path())[segment], |bytes| bytes[byte] ^= to);
        let error = Spool::open(dir.path(), settings(8)).err().unwrap();
        prop_assert!(matches!(error, OpenError::Header { .. }), "{}", error);
    }

    #[test]
    fn any_bytes_below_a_header_are_read_without_a_panic(
        garbage in proptest::collection::vec(any::<u8>(), 8 * SLOT),
        segment in 0usize..5,
    ) {
        let dir = closed();
        change(&segments(dir.path())[segment], |bytes| bytes[SLOT..].copy_from_slice(&garbage));
        let spool = open(dir.path(), 8);
        let (found, report) = read(&spool, Position(0));
        let gone = segment as u64 * 8..segment as u64 * 8 + 8;
        prop_assert!(found.into_iter().eq((0..36).filter(|it| !gone.contains(it)).map(|it| (it, it))));
        prop_assert_eq!(report.torn, 8);
    }
}

#[test]
fn slots_that_were_swapped_are_torn() {
    let dir = closed();
    change(&segments(dir.path())[1], |bytes| {
        let (front, back) = bytes.split_at_mut(2 * SLOT);
        front[SLOT..].swap_with_slice(&mut back[..SLOT]);
    });
    let (found, report) = read(&open(dir.path(), 8), Position(0));
    assert_eq!((found.len(), report.torn, report.holes), (34, 2, 0));
}

#[test]
fn a_record_that_was_cut_short_is_torn_and_the_next_one_stands_behind_it() {
    for written in [8, 64, 120] {
        let dir = closed();
        // The first word of a record is written last.
        change(&segments(dir.path())[4], |bytes| {
            bytes[4 * SLOT..][..8].fill(0);
            bytes[4 * SLOT + 8 + written..5 * SLOT].fill(0);
        });
        let spool = open(dir.path(), 8);
        assert_eq!(append(&spool, &record(36)), Position(36));
        let (_, report) = read(&spool, Position(0));
        assert_eq!((report.read, report.torn, report.holes), (36, 1, 0));
    }
}

#[test]
fn a_segment_that_shrinks_while_the_spool_is_open_is_an_error() {
    let dir = closed();
    let spool = open(dir.path(), 8);
    change(&segments(dir.path())[1], |bytes| bytes.truncate(3 * SLOT));
    let error = spool.read(Position(0), |_, _| {}).unwrap_err();
    assert!(matches!(&error, ReadError::Io { .. }), "{error}");
    assert_eq!(read(&spool, Position(16)).0.len(), 20);
}

#[test]
fn a_record_of_a_newer_program_is_not_skipped() {
    let dir = closed();
    // As `checksum` of the record's layout does it, for a position whose upper half is zero.
    change(&segments(dir.path())[0], |bytes| {
        let slot = &mut bytes[4 * SLOT..5 * SLOT];
        slot[4] = 4;
        let mut hasher = crc32fast::Hasher::new_with_initial(3);
        hasher.update(&slot[4..]);
        slot[..4].copy_from_slice(&hasher.finalize().to_le_bytes());
    });
    let error = open(dir.path(), 8).read(Position(0), |_, _| {}).unwrap_err();
    assert!(matches!(error, ReadError::Newer { position: Position(3), version: 4 }), "{error}");
}
