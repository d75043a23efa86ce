//! Closing hours: what is closed never changes, and what comes too late is counted later.

use sluicegate_core::time::Nanos;
use sluicegate_ledger::usage::{Closed, Query};
use sluicegate_ledger::{Hour, Kind, Record};

use crate::fixtures::{Bed, at, charge, hour, quarters};

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
fn what_comes_for_a_closed_hour_is_late_recorded_in_the_first_open_one_and_counted_by_its_charge() {
    let bed = Bed::new();
    bed.append(&charge(at(0, 1), 1, 1));
    bed.book.close_due(&bed.spool, at(2, 300), GRACE).unwrap();
    let before = bed.book.totals(hour(0)..hour(2)).unwrap();
    bed.append(&charge(at(0, 2), 1, 10));
    bed.append(&charge(at(2, 5), 1, 100));
    for _ in 0..2 {
        assert_eq!(series(&bed), [(hour(0), 11), (hour(2), 100)]);
        assert_eq!(bed.usage(&Query::default()).late.total(), 10);
        bed.roll();
    }
    assert_eq!(bed.book.totals(hour(0)..hour(2)).unwrap(), before);
    assert_eq!(bed.book.totals(hour(2)..hour(3)).unwrap()[&(1, hour(2))], 110);
    let bed = bed.reopened();
    assert_eq!(series(&bed), [(hour(0), 11), (hour(2), 100)]);
}

/// What an hour comes to is what was charged in it, with everything that was corrected later; what was recorded when it
/// was closed already is late, and in a row of an hour that was open.
#[test]
fn a_correction_counts_in_the_hour_of_its_charge_and_is_late_when_that_is_closed() {
    let bed = Bed::new();
    let first = charge(at(0, 1), 1, 10);
    bed.append(&first);
    bed.append(&Record { kind: Kind::Refund, cost: 2, at: at(1, 5), ..first });
    bed.book.close_due(&bed.spool, at(1, 300), GRACE).unwrap();
    let closed = bed.book.totals(hour(0)..hour(1)).unwrap();
    assert_eq!(closed[&(1, hour(0))], 10);
    bed.append(&Record { kind: Kind::Correction, cost: 5, overage: 3, at: at(1, 400), ..first });
    let of_hour = |from: u32| bed.usage(&Query { quarters: quarters(from, from + 1), ..Query::default() });
    for account in [None, Some(1)] {
        let usage = bed.usage(&Query { account, quarters: quarters(0, 1), ..Query::default() });
        assert_eq!((usage.sums.total(), usage.sums.net_overage(), usage.late.total()), (13, 3, 5));
    }
    for _ in 0..2 {
        assert_eq!((of_hour(0).sums.total(), of_hour(1).sums.total()), (13, 0));
        bed.roll();
    }
    assert_eq!(bed.book.totals(hour(0)..hour(1)).unwrap(), closed, "a closed hour never changes");
    let query = Query { account: Some(1), key: Some(10), quarters: quarters(0, 1), ..Query::default() };
    assert_eq!(bed.usage(&query).sums.total(), 13);
    assert_eq!(bed.usage(&Query { route: Some(3), ..query.clone() }).sums.total(), 13);
    assert_eq!(bed.book.count_rows(&query).unwrap(), 3);
    assert!(bed.book.recount(&bed.spool, hour(0)..hour(9)).unwrap().miscounted.is_empty());
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
