//! What older versions wrote: books that count by the hour, records without a unit and an environment, and records that
//! do not say under which billed quota they were settled.

use std::fs;
use std::os::unix::fs::FileExt;

use rusqlite::Connection;
use sluicegate_core::time::Nanos;
use sluicegate_ledger::usage::{Book, BookError, Marks, Query, Row, Step};
use sluicegate_ledger::{Kind, Record};

use crate::fixtures::{Bed, at, charge, hour, open_spool, quarters, start};

/// The schema of the first version, as it was released.
const SCHEMA_1: &str = include_str!("../../src/usage/schema.sql");
/// What made the second version of it, as it was released.
const SCHEMA_2: &str = include_str!("../../src/usage/schema/002.sql");

/// A book of the first version that has counted three records, and has closed the first hour.
fn book_of_version_1(path: &std::path::Path) {
    let old = Connection::open(path).unwrap();
    old.execute_batch(SCHEMA_1).unwrap();
    let (first, second) = (hour(0).number(), hour(1).number());
    let rows = format!(
        "INSERT INTO progress VALUES (1, 0, 3, 3, 0, 0);
         INSERT INTO hours VALUES ({first}, 1, 10, 3, 4, 0, 2, 15, 0, 0, 0, 0),
                                  ({second}, 1, 10, 3, 4, 2, 1, 7, 0, 0, 0, 0);
         INSERT INTO account_hours VALUES (1, {first}, 0, 2, 15, 0, 0, 0, 0), (1, {second}, 2, 1, 7, 0, 0, 0, 0);
         INSERT INTO closings VALUES ({second}, 2, {closed});
         PRAGMA application_id = 1416588373;
         PRAGMA user_version = 1;",
        closed = at(1, 400).as_nanos(),
    );
    old.execute_batch(&rows).unwrap();
}

fn rows(book: &Book) -> Vec<Row> {
    let mut rows = Vec::new();
    let each = |row| -> Result<(), BookError> {
        rows.push(row);
        Ok(())
    };
    book.each_row(quarters(0, 9), each).unwrap();
    rows
}

#[test]
fn a_book_that_counts_by_the_hour_goes_on_by_the_quarter_and_stays_readable() {
    let dir = tempfile::tempdir().unwrap();
    book_of_version_1(&dir.path().join("usage.db"));
    let spool = open_spool(&dir.path().join("spool"));
    let bed = Bed { book: Book::open(&dir.path().join("usage.db")).unwrap(), spool, dir };
    // What it has counted.
    for record in [charge(at(0, 1), 1, 7), charge(at(0, 3_500), 1, 8)] {
        bed.append(&record);
    }
    let degraded = Record { flags: sluicegate_ledger::Flags::DEGRADED, ..charge(at(1, 1_000), 1, 7) };
    bed.append(&degraded);
    assert_eq!(bed.total(), 22);
    assert_eq!(bed.usage(&Query { account: Some(1), key: Some(10), ..Query::default() }).sums.total(), 22);
    let marks = |row: &Row| row.key.marks;
    let old = rows(&bed.book);
    assert_eq!(old.iter().map(marks).collect::<Vec<_>>(), [Marks::HOURLY, Marks::HOURLY | Marks::DEGRADED]);
    assert_eq!(old[1].key.quarter, start(1));
    // What comes behind is counted by the quarter, in the same hour too.
    bed.append(&charge(at(1, 1_000), 1, 100));
    bed.append(&Record { kind: Kind::Refund, ..charge(at(1, 2_000), 1, 30) });
    bed.roll();
    let series = |step: Step| {
        let usage = bed.usage(&Query { step, ..Query::default() });
        usage.series.iter().map(|point| (point.start, point.sums.total())).collect::<Vec<_>>()
    };
    assert_eq!(series(Step::Hour), [(start(0), 15), (start(1), 77)]);
    assert_eq!(series(Step::Quarter).len(), 4);
    let recount = bed.book.recount(&bed.spool, hour(0)..hour(9)).unwrap();
    assert_eq!((recount.hours, recount.miscounted), (hour(0)..hour(9), vec![]));
    bed.book.close_due(&bed.spool, at(2, 0), Nanos::ZERO).unwrap();
    assert_eq!(bed.book.standing().unwrap().unwrap().open, hour(2));
    assert_eq!(bed.reopened().total(), 92);
}

/// A book of the second version that has counted a charge and a refund of an hour later, and has closed the first hour.
fn book_of_version_2(path: &std::path::Path) {
    let old = Connection::open(path).unwrap();
    old.execute_batch(SCHEMA_1).unwrap();
    old.execute_batch("INSERT INTO progress VALUES (1, 0, 0, 0, 0, 0)").unwrap();
    old.execute_batch(SCHEMA_2).unwrap();
    let (first, second) = (start(0).number(), start(1).number());
    let rows = format!(
        "UPDATE progress SET position = 2, records = 2;
         INSERT INTO quarters VALUES ({first}, 1, 10, 3, 4, 1, 0, 1, 15, 0, 0, 0, 0),
                                     ({second}, 1, 10, 3, 4, 1, 0, 0, 0, 0, 5, 0, 0);
         INSERT INTO account_quarters VALUES (1, {first}, 1, 0, 1, 15, 0, 0, 0, 0),
                                             (1, {second}, 1, 0, 0, 0, 0, 5, 0, 0);
         INSERT INTO closings VALUES ({hour}, 1, {closed});
         PRAGMA application_id = 1416588373;
         PRAGMA user_version = 2;",
        hour = hour(1).number(),
        closed = at(1, 400).as_nanos(),
    );
    old.execute_batch(&rows).unwrap();
}

#[test]
fn a_book_without_the_quarter_of_charges_keeps_its_rows_and_goes_on_with_it() {
    let dir = tempfile::tempdir().unwrap();
    book_of_version_2(&dir.path().join("usage.db"));
    let spool = open_spool(&dir.path().join("spool"));
    let bed = Bed { book: Book::open(&dir.path().join("usage.db")).unwrap(), spool, dir };
    // What it has counted.
    let first = charge(at(0, 1), 1, 15);
    bed.append(&first);
    bed.append(&Record { kind: Kind::Refund, at: at(1, 500), cost: 5, ..first });
    let series = || {
        let usage = bed.usage(&Query { account: Some(1), ..Query::default() });
        usage.series.iter().map(|point| (point.start, point.sums.total())).collect::<Vec<_>>()
    };
    assert_eq!(series(), [(start(0), 15), (start(1), -5)]);
    // The next one counts with its charge.
    bed.append(&Record { kind: Kind::Refund, at: at(1, 600), cost: 3, ..first });
    for _ in 0..2 {
        assert_eq!(series(), [(start(0), 12), (start(1), -5)]);
        bed.roll();
    }
    let found = rows(&bed.book);
    let charges: Vec<_> = found.iter().map(|row| (row.key.quarter, row.key.charge, row.key.marks)).collect();
    assert_eq!(
        charges,
        [
            (start(0), None, Marks::NONE),
            (start(1), None, Marks::NONE),
            (start(1), Some(start(0)), Marks::LATE),
        ]
    );
    let recount = bed.book.recount(&bed.spool, hour(0)..hour(9)).unwrap();
    assert_eq!((recount.hours, recount.miscounted), (hour(0)..hour(9), vec![]));
    assert_eq!(bed.reopened().total(), 7);
}

/// A segment in which older versions wrote: three of their records, byte by byte.
#[test]
fn a_spool_that_older_versions_wrote_is_read_and_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spool");
    drop(open_spool(&path));
    let segment = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.into_iter().find(|path| path.extension().is_some_and(|it| it == "seg")).unwrap();
    let file = fs::OpenOptions::new().write(true).open(segment).unwrap();
    for (index, bytes) in (1..).zip(OLD_RECORDS) {
        file.write_all_at(&bytes, index * 128).unwrap();
    }
    drop(file);
    let spool = open_spool(&path);
    let bed = Bed { book: Book::open(&dir.path().join("usage.db")).unwrap(), spool, dir };
    bed.append(&charge(at(0, 2_000), 1, 100));
    bed.roll();
    let usage = bed.usage(&Query { step: Step::Quarter, ..Query::default() });
    assert_eq!((usage.sums.total(), usage.test.total(), usage.sums.requests), (121, 0, 4));
    let series: Vec<_> = usage.series.iter().map(|point| point.sums.total()).collect();
    assert_eq!(series, [5, 16, 100]);
}

/// The third position has one of the second version, which had no print of the billed quota.
const OLD_RECORDS: [[u8; 128]; 3] = [
    [
        0xef, 0x71, 0x00, 0x8c, 0x01, 0x01, 0x00, 0x00, 0x00, 0x12, 0x89, 0xd9, 0x84, 0x57, 0xd7, 0x18, 0x00,
        0x12, 0x89, 0xd9, 0x84, 0x57, 0xd7, 0x18, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ],
    [
        0x4f, 0x85, 0x80, 0x83, 0x01, 0x01, 0x00, 0x00, 0x00, 0x30, 0x28, 0x84, 0x6c, 0x58, 0xd7, 0x18, 0x00,
        0x30, 0x28, 0x84, 0x6c, 0x58, 0xd7, 0x18, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ],
    [
        0x39, 0xab, 0xb1, 0xc1, 0x02, 0x01, 0x00, 0x00, 0x00, 0x30, 0x28, 0x84, 0x6c, 0x58, 0xd7, 0x18, 0x00,
        0x30, 0x28, 0x84, 0x6c, 0x58, 0xd7, 0x18, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01,
        0x01, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ],
];
