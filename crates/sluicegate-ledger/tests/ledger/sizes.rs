//! What usage takes on disk, as the page on usage says.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;
use sluicegate_ledger::{Ledger, Record, Spool, SpoolSettings};

use crate::fixtures::{append, at, charge, settings};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/usage.md");
const RECORDS: u32 = 16_384;
const MILLION: u64 = 1_000_000;

/// The unique id of an account or a key is a number of 52 bits.
const UNIQUE: u64 = 3_763_536_543_744_000;

/// The line of the table that begins with this.
fn line(begins: &str) -> String {
    let page = fs::read_to_string(PAGE).unwrap();
    let line = page.lines().find(|line| line.starts_with(begins));
    line.unwrap_or_else(|| panic!("the page has no `{begins}`")).to_owned()
}

/// Megabytes that a million of them takes, rounded.
fn megabytes_of_million(bytes: u64, of: u64) -> u64 {
    (bytes * MILLION / of + 500_000) / 1_000_000
}

/// Two segments of records, each a row of its own: each account uses so many routes in a quarter of an hour.
fn filled(routes: u32) -> (tempfile::TempDir, Ledger, Spool) {
    let dir = tempfile::tempdir().unwrap();
    let spool = SpoolSettings { segment_records: RECORDS, flush_every: Duration::from_millis(1) };
    let spool = Spool::open(&dir.path().join("spool"), spool).unwrap();
    let ledger = Ledger::open(&dir.path().join("ledger"), settings()).unwrap();
    for number in 0..RECORDS * 2 {
        let (account, route) = (UNIQUE + u64::from(number % 4_096 / routes) * 64, number % routes);
        let record = charge(at(0, number / 4_096 * 900), account, 1);
        append(&spool, &Record { key: account + 1, route, ..record });
    }
    spool.flush().unwrap();
    ledger.roll(&spool).unwrap();
    ledger.extend_chain(&spool).unwrap();
    (dir, ledger, spool)
}

#[test]
fn the_page_says_what_a_million_requests_take() {
    let (dir, ledger, spool) = filled(4);
    drop((ledger, spool));
    // Of the first segment.
    let length = |folder: &str| {
        let files = fs::read_dir(dir.path().join(folder)).unwrap().map(|file| file.unwrap());
        let first = files.filter(|file| file.file_name().to_string_lossy().starts_with(&"0".repeat(15)));
        first.map(|file| file.metadata().unwrap().len()).min().unwrap()
    };
    let (raw, sums, records) = (length("spool"), length("ledger/chain"), u64::from(RECORDS));
    let said = line("| a million requests, as records |");
    let (raw, sums) = (megabytes_of_million(raw, records), megabytes_of_million(sums, records));
    assert!(said.contains(&format!("{raw} MB, and {sums} MB of sums")), "{raw} MB and {sums} MB: {said}");
}

/// Megabytes of a million rows.
fn rows(routes: u32) -> u64 {
    let (dir, ledger, spool) = filled(routes);
    drop((ledger, spool));
    let book = Connection::open(dir.path().join("ledger/usage.db")).unwrap();
    let number = |sql: &str| book.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned();
    let rows = number("SELECT count(*) FROM quarters");
    assert_eq!(rows, u64::from(RECORDS) * 2);
    megabytes_of_million(number("PRAGMA page_count") * number("PRAGMA page_size"), rows)
}

#[test]
fn the_page_says_what_a_million_rows_take() {
    // With the sums of accounts: one for many rows, or one for each.
    let (least, most) = (rows(8), rows(1));
    let said = line("| a million rows of roll-ups |");
    assert!(said.contains(&format!("| {least} to {most} MB;")), "{least} to {most} MB: {said}");
}
