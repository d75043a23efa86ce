//! Closing hours: what is closed never changes, and what comes too late is counted later.

use sluicegate_core::time::Nanos;
use sluicegate_ledger::usage::{Closed, Query};
use sluicegate_ledger::{Hour, Record};

use crate::fixtures::{Bed, at, charge, hour};

const GRACE: Nanos = Nanos::from_secs(300);

fn series(bed: &Bed) -> Vec<(Hour, i128)> {
    bed.usage(&Query::default()).series.iter().map(|point| (point.start.hour(), point.sums.total())).collect()
}

#[test]
fn an_hour_is_closed_when_the_grace_after_it_is_over() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 0), 1, 1));
    let close = |now| bed.book.close_due(&bed.spool, now, GRACE).unwrap();
    assert_eq!(close(at(0, 3_599)), Closed::Until(hour(0)));
    assert_eq!(close(at(1, 299)), Closed::Nothing);
    assert_eq!(close(at(1, 300)), Closed::Until(hour(1)));
    assert_eq!(close(at(1, 301)), Closed::Nothing);
    // A clock that goes back opens nothing.
    assert_eq!(close(at(0, 0)), Closed::Nothing);
    assert_eq!(bed.book.standing().unwrap().unwrap().open, hour(1));
}

#[test]
fn what_was_recorded_before_the_closing_is_counted_in_its_hour() {
    let bed = Bed::new();
    for _ in 0..100 {
        bed.append(&charge(at(0, 3_599), 1, 1));
    }
    // Neither rolled up nor on disk yet.
    bed.book.close_due(&bed.spool, at(5, 0), GRACE).unwrap();
    assert_eq!(bed.book.totals(hour(0)..hour(1)).unwrap()[&(1, hour(0))], 100);
    assert_eq!(bed.usage(&Query::default()).late.total(), 0);
}

#[test]
fn what_comes_for_a_closed_hour_is_late_and_counted_in_the_first_open_one() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 1), 1, 1));
    bed.book.close_due(&bed.spool, at(2, 300), GRACE).unwrap();
    let before = bed.book.totals(hour(0)..hour(2)).unwrap();
    bed.append(&charge(at(0, 2), 1, 10));
    bed.append(&charge(at(2, 5), 1, 100));
    for _ in 0..2 {
        assert_eq!(series(&bed), [(hour(0), 1), (hour(2), 110)]);
        assert_eq!(bed.usage(&Query::default()).late.total(), 10);
        bed.roll();
    }
    assert_eq!(bed.book.totals(hour(0)..hour(2)).unwrap(), before);
    let bed = bed.reopened();
    assert_eq!(series(&bed), [(hour(0), 1), (hour(2), 110)]);
}

#[test]
fn counting_again_from_the_records_gives_the_same_rows() {
    let bed = Bed::new();
    for number in 0..6 {
        for account in 1..40 {
            bed.append(&charge(at(number, 7), account, 3));
            bed.append(&charge(at(number / 2, 7), account, 5));
        }
        bed.book.close_due(&bed.spool, at(number + 1, 300), GRACE).unwrap();
    }
    let recount = bed.book.recount(&bed.spool, hour(0)..hour(9)).unwrap();
    assert_eq!((recount.hours, recount.miscounted), (hour(0)..hour(9), vec![]));

    // Somebody edits a row.
    let connection = rusqlite::Connection::open(bed.dir.path().join("usage.db")).unwrap();
    let edit = "UPDATE quarters SET charged = charged + 1 WHERE quarter = ?1 * 4 AND account = 7";
    assert!(connection.execute(edit, [hour(3).number()]).unwrap() > 0);
    let miscounted = bed.book.recount(&bed.spool, hour(0)..hour(9)).unwrap().miscounted;
    assert!(!miscounted.is_empty());
    for it in &miscounted {
        assert_eq!((it.key.hour(), it.key.account), (hour(3), 7));
        assert_eq!(it.book.total(), it.records.total() + 1);
    }
    assert!(bed.book.recount(&bed.spool, hour(0)..hour(3)).unwrap().miscounted.is_empty());
}

#[test]
fn hours_whose_records_are_gone_are_not_called_wrong() {
    let bed = Bed::new();
    for number in 0..6 {
        for _ in 0..64 {
            bed.append(&Record { key: 1, ..charge(at(number, 7), 1, 3) });
        }
        bed.book.close_due(&bed.spool, at(number + 1, 300), GRACE).unwrap();
    }
    bed.spool.flush().unwrap();
    bed.spool.forget_before(sluicegate_ledger::Position(128)).unwrap();
    let recount = bed.book.recount(&bed.spool, hour(0)..hour(9)).unwrap();
    // The second hour was closed in the third, so records of the third might be gone as well.
    assert_eq!((recount.hours, recount.miscounted), (hour(3)..hour(9), vec![]));
}
