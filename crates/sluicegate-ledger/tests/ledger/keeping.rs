//! What is kept, and what goes when it is older.

use sluicegate_core::time::Nanos;
use sluicegate_ledger::Position;
use sluicegate_ledger::chain::audit;
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::ledger::{Ledger, LedgerSettings, OpenLedgerError};
use sluicegate_ledger::usage::{Needs, Query};

use crate::fixtures::{Bed, append, at, charge, open, settings, wait};

const NO_AUDIT: audit::Head = audit::Head { seq: 0, link: sluicegate_ledger::chain::Digest::NONE };

fn verify(bed: &Bed) -> sluicegate_ledger::chain::Verified {
    let dir = bed.dir.path();
    Ledger::verify(&dir.join("ledger"), &dir.join("spool"), None).unwrap()
}

/// Twelve hours with 64 records each, closed one after the other.
fn filled() -> Bed {
    let bed = Bed::new();
    for number in 0..12 {
        for _ in 0..64 {
            append(&bed.spool, &charge(at(number, 1), 1, 1));
        }
        bed.ledger.close_due(&bed.spool, at(number + 1, 0)).unwrap();
    }
    bed
}

#[test]
fn records_go_when_they_are_old_counted_chained_and_sealed() {
    let bed = filled();
    let now = at(12, 30);
    let everything = Position(u64::MAX);
    let prune = || bed.ledger.prune(&bed.spool, everything, Needs::Sealed, now).unwrap().segments;
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, now).unwrap();
    assert_eq!(prune(), 0, "nothing is sealed");
    wait(bed.sealer().seal_due(now, |_| {})).unwrap();
    // Two hours are kept: what was written before the tenth was closed may go.
    assert_eq!(prune(), 10);
    assert_eq!(bed.spool.first(), Position(640));
    assert_eq!(prune(), 0);
    let verified = verify(&bed);
    assert_eq!((verified.pruned, verified.end), (10, Position(768)));
    // Usage by the hour is kept for longer: two of twelve hours are gone.
    assert_eq!(bed.ledger.query(&bed.spool, &Query::default()).unwrap().sums.total(), 10 * 64);
    assert!(bed.ledger.recount(&bed.spool, ALL_HOURS).unwrap().miscounted.is_empty());
}

#[test]
fn what_is_not_chained_stays() {
    let bed = filled();
    let prune =
        || bed.ledger.prune(&bed.spool, Position(u64::MAX), Needs::Closed, at(12, 30)).unwrap().segments;
    assert_eq!(prune(), 0);
    bed.ledger.extend_chain(&bed.spool).unwrap();
    assert_eq!(prune(), 10);
}

#[test]
fn what_somebody_else_still_needs_stays() {
    let bed = filled();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(12, 0)).unwrap();
    let pruned = bed.ledger.prune(&bed.spool, Position(200), Needs::Closed, at(12, 30)).unwrap();
    assert_eq!((pruned.segments, bed.spool.first()), (3, Position(192)));
}

#[test]
fn hours_that_are_not_sealed_stay_where_they_must_be() {
    let bed = filled();
    let far = at(100, 0);
    let pruned = bed.ledger.prune(&bed.spool, Position(0), Needs::Sealed, far).unwrap();
    assert_eq!(pruned.shed.hours, 0);
    let pruned = bed.ledger.prune(&bed.spool, Position(0), Needs::Closed, far).unwrap();
    assert_eq!((pruned.shed.hours, pruned.shed.rows), (12, 12));
    let usage = bed.ledger.query(&bed.spool, &Query { account: Some(1), ..Query::default() }).unwrap();
    assert_eq!(usage.sums.total(), 0);
}

#[test]
fn an_open_hour_is_never_removed() {
    let bed = Bed::new();
    append(&bed.spool, &charge(at(0, 1), 1, 1));
    bed.spool.flush().unwrap();
    bed.ledger.roll(&bed.spool).unwrap();
    let pruned = bed.ledger.prune(&bed.spool, Position(u64::MAX), Needs::Closed, at(1_000, 0)).unwrap();
    assert_eq!((pruned.segments, pruned.shed.hours), (0, 0));
    assert_eq!(bed.ledger.standing().unwrap().unwrap().open, sluicegate_ledger::Hour::FIRST);
}

#[test]
fn a_node_keeps_its_name() {
    let bed = Bed::with_hours(1);
    assert_eq!(bed.ledger.node(), "n1");
    let Bed { ledger, spool, dir } = bed;
    drop((ledger, spool));
    let ledger = dir.path().join("ledger");
    let unnamed = LedgerSettings { node: None, ..settings() };
    assert_eq!(Ledger::open(&ledger, unnamed.clone()).unwrap().node(), "n1");
    let other = LedgerSettings { node: Some("n2".to_owned()), ..settings() };
    let error = Ledger::open(&ledger, other).unwrap_err();
    assert!(matches!(error, OpenLedgerError::Renamed { .. }), "{error}");
    for wrong in ["", "a/b", "a b", "é"] {
        let wrong = LedgerSettings { node: Some(wrong.to_owned()), ..settings() };
        assert!(matches!(Ledger::open(&ledger, wrong).unwrap_err(), OpenLedgerError::Node { .. }));
    }
    // Without a name one is made, and kept.
    let fresh = tempfile::tempdir().unwrap();
    let made = Ledger::open(fresh.path(), unnamed.clone()).unwrap().node().to_owned();
    assert_eq!(made.len(), 16);
    assert_eq!(Ledger::open(fresh.path(), unnamed).unwrap().node(), made);
}

#[test]
fn a_damaged_chain_stops_pruning_but_not_counting() {
    let Bed { ledger, spool, dir } = filled();
    ledger.checkpoint(&spool, NO_AUDIT, at(12, 0)).unwrap();
    drop((ledger, spool));
    let log = dir.path().join("ledger/chain/chain.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[300] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let (ledger, spool) = open(dir.path());
    append(&spool, &charge(at(12, 1), 1, 1));
    ledger.close_due(&spool, at(13, 0)).unwrap();
    assert_eq!(ledger.query(&spool, &Query::default()).unwrap().sums.total(), 12 * 64 + 1);
    assert!(ledger.checkpoint(&spool, NO_AUDIT, at(13, 0)).is_err());
    assert!(ledger.prune(&spool, Position(u64::MAX), Needs::Closed, at(13, 0)).is_err());
    assert_eq!(spool.first(), Position(0));
    assert!(Ledger::verify(&dir.path().join("ledger"), &dir.path().join("spool"), None).is_err());
}

#[test]
fn records_ahead_of_a_clock_that_was_set_back_are_not_taken_for_old_ones() {
    let bed = Bed::new();
    append(&bed.spool, &charge(at(100, 1), 1, 900));
    bed.ledger.close_due(&bed.spool, at(101, 0)).unwrap();
    bed.ledger.reopen(&bed.spool, at(3, 0), at(2, 0)).unwrap();
    append(&bed.spool, &charge(at(2, 30), 1, 7));
    bed.ledger.close_due(&bed.spool, at(4, 0)).unwrap();
    // Time is right again. Both records lie before the hours that were closed meanwhile, and one of them is young.
    bed.ledger.close_due(&bed.spool, at(104, 0)).unwrap();
    let done = |now| bed.ledger.book().done_before(now, Nanos::from_secs(7_200), Needs::Closed).unwrap();
    assert_eq!((done(at(102, 0)), done(at(104, 0))), (Position(0), Position(2)));
}
