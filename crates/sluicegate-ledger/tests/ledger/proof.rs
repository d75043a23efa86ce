//! Roll-ups are inside the signed proof, and come back as they were when the database is lost.

use std::fs;

use rusqlite::Connection;
use sluicegate_core::time::Nanos;
use sluicegate_ledger::chain::{Digest, FirstBad, Verified, VerifyError, Why, audit};
use sluicegate_ledger::export::Format;
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::usage::{Needs, Query, Reopened};
use sluicegate_ledger::{Flags, Hour, Kind, Ledger, LedgerSettings, Position, Record};

use crate::fixtures::{Bed, append, at, charge, hour, names, settings, wait};

const NO_AUDIT: audit::Head = audit::Head { seq: 0, link: Digest::NONE };

fn verify(bed: &Bed) -> Result<Verified, VerifyError> {
    let dir = bed.dir.path();
    Ledger::verify(&dir.join("ledger"), &dir.join("spool"), None)
}

#[track_caller]
fn bad(bed: &Bed) -> FirstBad {
    match verify(bed) {
        Err(VerifyError::Bad(bad)) => *bad,
        other => panic!("{other:?}"),
    }
}

/// Six hours that are closed one after the other, with what came late, and one that is open.
fn bed() -> Bed {
    let bed = Bed::new();
    for number in 0..6 {
        for account in 1..=3 {
            for quarter in 0..4 {
                append(
                    &bed.spool,
                    &charge(at(number, quarter * 900 + 7), account, u64::from(number) + account),
                );
            }
        }
        if number > 0 {
            // Its hour is closed: it counts in this one, as late.
            append(&bed.spool, &charge(at(number - 1, 3_599), 2, 1_000));
            append(&bed.spool, &Record { flags: Flags::DEGRADED, ..charge(at(number, 8), 3, 5) });
        }
        bed.ledger.close_due(&bed.spool, at(number + 1, 0)).unwrap();
    }
    append(&bed.spool, &charge(at(6, 1), 1, 77));
    bed.spool.flush().unwrap();
    bed.ledger.roll(&bed.spool).unwrap();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(6, 2)).unwrap();
    bed
}

fn shell(bed: &Bed) -> Connection {
    Connection::open(bed.dir.path().join("ledger/usage.db")).unwrap()
}

#[test]
fn a_changed_sum_is_found_wherever_it_is() {
    let bed = bed();
    let proven = verify(&bed).unwrap();
    assert!(proven.rows > 80, "{}", proven.rows);
    assert_eq!(proven.rollups.len(), 6);
    let (closed, open) = (hour(2), hour(6));
    let quarter = |hour: Hour| hour.number() * 4;
    let changes = [
        (
            format!(
                "UPDATE quarters SET charged = charged - 1 WHERE quarter = {} AND account = 2",
                quarter(closed)
            ),
            closed,
        ),
        (format!("UPDATE quarters SET charged = charged + 1 WHERE quarter = {}", quarter(open)), open),
        (
            format!(
                "UPDATE quarters SET account = 9 WHERE quarter = {} AND account = 1",
                quarter(closed) + 1
            ),
            closed,
        ),
        (
            format!(
                "UPDATE quarters SET overage = 1 WHERE quarter = {} AND account = 3",
                quarter(closed) + 3
            ),
            closed,
        ),
        (format!("DELETE FROM quarters WHERE quarter = {}", quarter(closed) + 2), closed),
        (format!("UPDATE account_quarters SET charged = 0 WHERE quarter = {}", quarter(closed)), closed),
    ];
    for (change, changed) in changes {
        let shell = shell(&bed);
        let restore = "CREATE TEMP TABLE kept AS SELECT * FROM quarters; \
                       CREATE TEMP TABLE kept_accounts AS SELECT * FROM account_quarters;";
        shell.execute_batch(restore).unwrap();
        assert!(shell.execute(&change, []).unwrap() > 0, "{change}");
        let found = bad(&bed);
        assert_eq!((found.why, found.hour), (Why::Rollup, Some(changed)), "{change}");
        let restore = "DELETE FROM quarters; INSERT INTO quarters SELECT * FROM kept; \
                       DELETE FROM account_quarters; INSERT INTO account_quarters SELECT * FROM kept_accounts;";
        shell.execute_batch(restore).unwrap();
        verify(&bed).unwrap();
    }
    // Both tables in the same way.
    let shell = shell(&bed);
    for table in ["quarters", "account_quarters"] {
        let change = format!(
            "UPDATE {table} SET charged = charged * 2 WHERE quarter = {} AND account = 1",
            quarter(closed)
        );
        assert_eq!(shell.execute(&change, []).unwrap(), 1);
    }
    assert_eq!(bad(&bed).hour, Some(closed));
    let repaired = bed.ledger.repair(&bed.spool, ALL_HOURS).unwrap();
    assert_eq!(repaired.miscounted.len(), 1);
    verify(&bed).unwrap();
    assert!(bed.ledger.repair(&bed.spool, ALL_HOURS).unwrap().miscounted.is_empty());
}

fn events(bed: &Bed) -> String {
    let mut out = Vec::new();
    bed.ledger.export(&Query::default(), &Format::CloudEvents, &*names(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The database is gone, with all that belongs to it.
fn lose_book(bed: Bed, settings: LedgerSettings) -> Bed {
    let Bed { ledger, spool, dir } = bed;
    drop(ledger);
    for name in ["usage.db", "usage.db-wal", "usage.db-shm"] {
        let _ = fs::remove_file(dir.path().join("ledger").join(name));
    }
    Bed { ledger: Ledger::open(&dir.path().join("ledger"), settings).unwrap(), spool, dir }
}

#[test]
fn a_book_that_is_lost_comes_back_with_the_same_name_rows_and_ids() {
    let bed = bed();
    let (before, node) = (events(&bed), bed.ledger.node().to_owned());
    assert!(before.contains("\"late\":true"), "{before}");
    let unnamed = LedgerSettings { node: None, ..settings() };
    let bed = lose_book(bed, unnamed);
    assert_eq!(bed.ledger.node(), node);
    bed.ledger.roll(&bed.spool).unwrap();
    assert_eq!(events(&bed), before);
    verify(&bed).unwrap();
    // It goes on where it was.
    append(&bed.spool, &charge(at(6, 100), 1, 1));
    bed.ledger.close_due(&bed.spool, at(7, 0)).unwrap();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(7, 1)).unwrap();
    assert_eq!(verify(&bed).unwrap().rollups.len(), 7);
    assert!(events(&bed).starts_with(&before));
    assert!(bed.ledger.recount(&bed.spool, ALL_HOURS).unwrap().miscounted.is_empty());
}

#[test]
fn only_hours_whose_records_are_all_there_come_back() {
    let bed = Bed::new();
    for number in 0..12 {
        for _ in 0..64 {
            append(&bed.spool, &charge(at(number, 1), 1, 1));
        }
        bed.ledger.close_due(&bed.spool, at(number + 1, 0)).unwrap();
    }
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(12, 0)).unwrap();
    let before = events(&bed);
    let pruned = bed.ledger.prune(&bed.spool, Position(200), Needs::Closed, at(12, 30)).unwrap();
    assert_eq!((pruned.segments, pruned.shed.hours), (3, 2));
    let after = verify(&bed).unwrap();
    assert_eq!(after.shed, hour(2), "what was removed by the program is missed by nobody");
    let bed = lose_book(bed, settings());
    bed.ledger.roll(&bed.spool).unwrap();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(12, 31)).unwrap();
    let events = events(&bed);
    assert!(!events.is_empty() && before.ends_with(&events), "{events}");
    assert!(events.lines().count() >= 7, "{events}");
    verify(&bed).unwrap();
    let recount = bed.ledger.recount(&bed.spool, ALL_HOURS).unwrap();
    assert!(recount.miscounted.is_empty() && recount.hours.start > hour(2), "{recount:?}");
}

#[test]
fn a_book_that_is_gone_is_told() {
    let bed = bed();
    let path = bed.dir.path().join("ledger/usage.db");
    fs::rename(&path, path.with_extension("away")).unwrap();
    let found = bad(&bed);
    assert_eq!((found.why, found.file), (Why::Missing, path));
}

/// The name was in the database before it had a file of its own.
#[test]
fn the_name_of_a_node_moves_out_of_the_database() {
    let bed = bed();
    let Bed { ledger, spool: _spool, dir } = bed;
    drop(ledger);
    let folder = dir.path().join("ledger");
    fs::remove_file(folder.join("node")).unwrap();
    let shell = Connection::open(folder.join("usage.db")).unwrap();
    shell.execute("INSERT OR REPLACE INTO meta VALUES ('node', ?1)", [b"old-name".as_slice()]).unwrap();
    drop(shell);
    let unnamed = LedgerSettings { node: None, grace: Nanos::ZERO, ..settings() };
    assert_eq!(Ledger::open(&folder, unnamed).unwrap().node(), "old-name");
    assert_eq!(fs::read_to_string(folder.join("node")).unwrap(), "old-name\n");
}

/// What these accounts used in an hour.
fn used(bed: &Bed, number: u32) -> Vec<(u64, i128)> {
    let totals = bed.ledger.book().totals(hour(number)..hour(number + 1)).unwrap();
    totals.into_iter().map(|((account, _), total)| (account, total)).collect()
}

#[test]
fn hours_that_a_wrong_clock_closed_are_open_again_and_proven() {
    let bed = bed();
    bed.ledger.close_due(&bed.spool, at(9_000, 0)).unwrap();
    append(&bed.spool, &charge(at(6, 900), 1, 3));
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(9_000, 0)).unwrap();
    bed.spool.flush().unwrap();
    bed.ledger.roll(&bed.spool).unwrap();
    assert_eq!((used(&bed, 6), used(&bed, 9_000)), (vec![(1, 77)], vec![(1, 3)]));
    assert_eq!(verify(&bed).unwrap().rollups.len(), 7);
    // The clock is right again, and so is the book: also the next time.
    assert_eq!(bed.ledger.reopen(&bed.spool, at(8, 0), at(7, 0)).unwrap(), Reopened::From(hour(6)));
    assert_eq!(bed.ledger.reopen(&bed.spool, at(8, 0), at(7, 0)).unwrap(), Reopened::Nothing);
    assert_eq!((used(&bed, 6), used(&bed, 9_000)), (vec![(1, 80)], vec![]));
    assert_eq!(verify(&bed).unwrap().rollups.len(), 6);
    bed.ledger.close_due(&bed.spool, at(7, 0)).unwrap();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(7, 1)).unwrap();
    let proven = verify(&bed).unwrap();
    assert_eq!((proven.rollups.len(), proven.rollups.last().unwrap().until), (7, hour(7)));
    let before = events(&bed);
    let bed = lose_book(bed, settings());
    bed.ledger.roll(&bed.spool).unwrap();
    assert_eq!(events(&bed), before);
    verify(&bed).unwrap();
}

#[test]
fn an_hour_that_was_sealed_under_a_wrong_clock_stays_as_it_was_sealed() {
    let bed = bed();
    bed.ledger.close_due(&bed.spool, at(9_000, 0)).unwrap();
    let sealed = wait(bed.sealer().seal_due(at(9_000, 0), |_| {})).unwrap();
    assert_eq!(sealed.hours, 7);
    append(&bed.spool, &charge(at(6, 900), 1, 3));
    bed.spool.flush().unwrap();
    bed.ledger.roll(&bed.spool).unwrap();
    assert_eq!(bed.ledger.reopen(&bed.spool, at(8, 0), at(7, 0)).unwrap(), Reopened::From(hour(7)));
    // What came late for it counts in the first hour that is open.
    assert_eq!((used(&bed, 6), used(&bed, 7), used(&bed, 9_000)), (vec![(1, 77)], vec![(1, 3)], vec![]));
    verify(&bed).unwrap();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(7, 1)).unwrap();
    verify(&bed).unwrap();
    assert!(bed.ledger.recount(&bed.spool, ALL_HOURS).unwrap().miscounted.is_empty());
}

/// A book as the version before this one wrote it: without the quarter of the charge.
fn downgrade(bed: &Bed) {
    let sql = "CREATE TABLE old AS SELECT * FROM quarters; CREATE TABLE old_accounts AS SELECT * FROM account_quarters;
               DROP TABLE quarters; DROP TABLE account_quarters;
               ALTER TABLE old DROP COLUMN charge_quarter; ALTER TABLE old RENAME TO quarters;
               ALTER TABLE old_accounts DROP COLUMN charge_quarter; ALTER TABLE old_accounts RENAME TO account_quarters;
               DELETE FROM meta WHERE key = 'recorded_before'; PRAGMA user_version = 2;";
    shell(bed).execute_batch(sql).unwrap();
}

#[test]
fn a_book_of_the_version_before_is_proven_before_and_after_it_is_migrated() {
    let bed = Bed::with_hours(3);
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(3, 2)).unwrap();
    let rows = verify(&bed).unwrap().rows;
    downgrade(&bed);
    assert_eq!(verify(&bed).unwrap().rows, rows);
    let edit =
        |by: &str| shell(&bed).execute(&format!("UPDATE quarters SET charged = charged {by}"), []).unwrap();
    edit("+ 1");
    assert_eq!(bad(&bed).why, Why::Rollup);
    edit("- 1");
    let Bed { ledger, spool, dir } = bed;
    drop((ledger, spool));
    let (ledger, spool) = crate::fixtures::open(dir.path());
    let bed = Bed { ledger, spool, dir };
    assert_eq!(verify(&bed).unwrap().rows, rows);
    // A correction of a closed hour is proven with the hour in which it was recorded.
    append(&bed.spool, &Record { kind: Kind::Correction, at: at(3, 5), ..charge(at(0, 5), 1, 9) });
    bed.ledger.close_due(&bed.spool, at(4, 0)).unwrap();
    bed.ledger.checkpoint(&bed.spool, NO_AUDIT, at(4, 2)).unwrap();
    assert_eq!(verify(&bed).unwrap().rows, rows + 1);
    let moved = "UPDATE quarters SET charge_quarter = charge_quarter + 1 WHERE charge_quarter <> 0;
                 UPDATE account_quarters SET charge_quarter = charge_quarter + 1 WHERE charge_quarter <> 0;";
    shell(&bed).execute_batch(moved).unwrap();
    assert_eq!(bad(&bed).why, Why::Rollup);
}
