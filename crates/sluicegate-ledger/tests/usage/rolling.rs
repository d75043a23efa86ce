//! Rolling up: what is counted, and that it is counted once.

use std::time::Duration;

use sluicegate_core::key_env::KeyEnv;
use sluicegate_ledger::usage::{Book, BookError, Query, RollError, Row, Sums};
use sluicegate_ledger::{Flags, Kind, Position, Record, Spool, SpoolSettings};

use crate::fixtures::{Bed, append, at, charge, hour, open_spool, quarters, settings, start};

#[test]
fn charges_corrections_and_refunds_come_to_what_was_used_in_the_end() {
    let bed = Bed::new();
    let first = charge(at(0, 5), 1, 10);
    bed.append(&Record { overage: 4, ..first });
    bed.append(&Record { kind: Kind::Correction, cost: 3, overage: 3, at: at(0, 6), ..first });
    bed.append(&Record { kind: Kind::Refund, cost: 5, overage: 2, at: at(1, 6), ..first });
    for round in 0..2 {
        let usage = bed.usage(&Query::default());
        let sums =
            Sums { requests: 1, charged: 10, corrected: 3, refunded: 5, overage: 7, overage_refunded: 2 };
        assert_eq!(usage.sums, sums, "round {round}");
        assert_eq!((usage.sums.total(), usage.sums.net_overage()), (8, 5));
        // A refund counts in the hour of its charge, whenever it is made.
        let series: Vec<_> = usage.series.iter().map(|point| (point.start, point.sums.total())).collect();
        assert_eq!(series, [(start(0), 8)]);
        bed.roll();
    }
}

#[test]
fn rows_are_apart_by_account_key_route_tier_quarter_env_marks_and_charge() {
    let bed = Bed::new();
    let one = charge(at(0, 0), 1, 1);
    let others = [
        Record { account: 2, ..one },
        Record { key: 2, ..one },
        Record { route: 9, ..one },
        Record { tier: 9, ..one },
        Record { at: at(0, 900), ..one },
        Record { env: KeyEnv::Test, ..one },
        Record { flags: Flags::LATE, ..one },
        Record { flags: Flags::DEGRADED | Flags::OWED, ..one },
        Record { kind: Kind::Correction, at: at(1, 0), ..one },
        Record { kind: Kind::Correction, at: at(1, 0), charged_at: at(0, 900), ..one },
    ];
    bed.append(&one);
    for other in &others {
        bed.append(other);
        bed.append(other);
    }
    bed.roll();
    let mut rows: Vec<Row> = Vec::new();
    bed.book
        .each_row(quarters(0, 2), |row| -> Result<(), BookError> {
            rows.push(row);
            Ok(())
        })
        .unwrap();
    assert_eq!(rows.len(), 11);
    assert_eq!(rows.iter().filter(|row| row.sums.requests == 2).count(), 8);
    let usage = bed.usage(&Query::default());
    assert_eq!((usage.late.total(), usage.degraded.total(), usage.test.total()), (2, 2, 2));
    assert_eq!(usage.sums.total(), 21);
}

#[test]
fn a_record_is_counted_once_however_often_the_book_is_rolled_and_opened() {
    let mut bed = Bed::new();
    for round in 1..=5 {
        for account in 1..=30 {
            bed.append(&charge(at(0, 0), account, 2));
        }
        for _ in 0..3 {
            bed.roll();
            assert_eq!(bed.total(), 60 * round);
        }
        bed = bed.reopened();
        assert_eq!(bed.total(), 60 * round);
    }
    let standing = bed.book.standing().unwrap().unwrap();
    assert_eq!(
        (standing.position, standing.records, standing.holes, standing.torn),
        (Position(150), 150, 0, 0)
    );
}

#[test]
fn what_is_not_on_disk_yet_is_told_but_not_counted() {
    let dir = tempfile::tempdir().unwrap();
    // Nobody flushes by himself.
    let settings = SpoolSettings { flush_every: Duration::from_secs(3_600), ..settings() };
    let spool = Spool::open(&dir.path().join("spool"), settings).unwrap();
    let book = Book::open(&dir.path().join("usage.db")).unwrap();
    for _ in 0..5 {
        append(&spool, &charge(at(0, 0), 1, 1));
    }
    assert_eq!(book.roll(&spool).unwrap().records, 0);
    assert_eq!(book.query(&spool, &Query::default()).unwrap().sums.total(), 5);
    spool.flush().unwrap();
    assert_eq!(book.roll(&spool).unwrap().records, 5);
    assert_eq!(book.query(&spool, &Query::default()).unwrap().sums.total(), 5);
}

#[test]
fn a_new_book_begins_with_the_first_record_there_is() {
    let bed = Bed::new();
    for _ in 0..200 {
        bed.append(&charge(at(0, 0), 1, 1));
    }
    bed.spool.flush().unwrap();
    bed.spool.forget_before(Position(130)).unwrap();
    bed.roll();
    assert_eq!(bed.total(), 200 - 128);
    assert_eq!(bed.book.standing().unwrap().unwrap().began, Position(128));
}

#[test]
fn records_that_are_gone_before_they_were_counted_are_an_error() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 0), 1, 1));
    bed.roll();
    for _ in 0..200 {
        bed.append(&charge(at(0, 0), 1, 1));
    }
    bed.spool.flush().unwrap();
    bed.spool.forget_before(Position(64)).unwrap();
    let error = bed.book.roll(&bed.spool).unwrap_err();
    assert!(matches!(error, RollError::Gap { from: Position(1), first: Position(64) }), "{error}");
    assert!(error.to_string().contains("records 1 to 63 are gone"), "{error}");
    let error = bed.book.query(&bed.spool, &Query::default()).unwrap_err();
    assert!(matches!(error, RollError::Gap { .. }), "{error}");
}

#[test]
fn a_book_of_another_spool_is_an_error() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 0), 1, 1));
    bed.roll();
    let other = tempfile::tempdir().unwrap();
    let spool = open_spool(other.path());
    let error = bed.book.roll(&spool).unwrap_err();
    assert!(matches!(error, RollError::Ahead { position: Position(1), tail: Position(0) }), "{error}");
    assert!(bed.book.query(&spool, &Query::default()).is_err());
}

#[test]
fn more_than_can_be_counted_is_an_error_and_changes_nothing() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 0), 1, i64::MAX.cast_unsigned()));
    bed.roll();
    bed.append(&charge(at(0, 0), 2, 5));
    bed.append(&charge(at(0, 0), 1, 1));
    bed.spool.flush().unwrap();
    let error = bed.book.roll(&bed.spool).unwrap_err();
    assert!(matches!(error, RollError::Book(BookError::TooLarge)), "{error}");
    assert_eq!(bed.book.standing().unwrap().unwrap().position, Position(1));
    // Asking still gives the exact sum: it is read from the records.
    assert_eq!(bed.total(), i128::from(i64::MAX) + 6);
}

#[test]
fn a_file_that_is_no_book_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("usage.db");
    std::fs::write(&path, "this is not a database, and long enough to be asked whether it is one".repeat(20))
        .unwrap();
    let error = Book::open(&path).unwrap_err();
    assert!(matches!(error, BookError::NotOurs { .. }), "{error}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("this is not"));
    assert!(Book::open(&dir.path().join("missing/usage.db")).is_err());
}

#[test]
fn callers_without_a_key_are_an_account_of_their_own() {
    let bed = Bed::new();
    bed.append(&Record { key: 0, ..charge(at(0, 0), 0, 3) });
    bed.append(&charge(at(0, 0), 1, 1));
    for _ in 0..2 {
        let query = Query { account: Some(0), ..Query::default() };
        assert_eq!(bed.usage(&query).sums.total(), 3);
        bed.roll();
    }
}

#[test]
fn sums_and_how_far_they_reach_are_written_together_or_not_at_all() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 1), 1, 7));
    bed.roll();
    bed.append(&charge(at(0, 2), 1, 100));
    bed.spool.flush().unwrap();
    // A disk that fails at the worst moment: rows are written, and how far they reach is not.
    let shell = rusqlite::Connection::open(bed.dir.path().join("usage.db")).unwrap();
    let fail = "CREATE TRIGGER fail BEFORE INSERT ON progress BEGIN SELECT RAISE(ABORT, 'a bad sector'); END";
    shell.execute_batch(fail).unwrap();
    for _ in 0..3 {
        assert!(bed.book.roll(&bed.spool).is_err());
        assert_eq!(bed.book.totals(hour(0)..hour(1)).unwrap()[&(1, hour(0))], 7);
        assert_eq!(bed.total(), 107);
    }
    shell.execute_batch("DROP TRIGGER fail").unwrap();
    let bed = bed.reopened();
    bed.roll();
    assert_eq!((bed.total(), bed.book.standing().unwrap().unwrap().records), (107, 2));
}
