//! A node that records, counts, closes, chains, seals and prunes is killed at any moment. Nothing is lost, nothing
//! counts twice, and everything is proven.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::chain::audit;
use sluicegate_ledger::hour::ALL_HOURS;
use sluicegate_ledger::ledger::{Ledger, LedgerSettings};
use sluicegate_ledger::reconcile::{Totals, compare};
use sluicegate_ledger::usage::{Needs, Query};
use sluicegate_ledger::{Position, Spool};

use crate::fixtures::{append, at, charge, names, open, sealer, settings, wait};

const ROUNDS: u64 = 40;
/// Longer than a turn takes.
const MOMENT_MICROS_MAX: u64 = 12_000;
/// The variable that tells the node where its files are.
const DIR: &str = "SLUICEGATE_TEST_KILLED_LEDGER";
const MARK: &str = "did ";

/// The hour moves on with the records.
fn clock(position: u64) -> Timestamp {
    at(u32::try_from(position / 150).unwrap(), 1)
}

/// What the record at a position costs.
fn cost(position: u64) -> u64 {
    position % 11 + 1
}

fn reopen(dir: &Path) -> (Ledger, Spool) {
    let (ledger, spool) = open(dir);
    drop(ledger);
    let kept = Nanos::from_secs(500 * 86_400);
    let settings = LedgerSettings { retain_rollups: kept, ..settings() };
    (Ledger::open(&dir.join("ledger"), settings).unwrap(), spool)
}

fn url(dir: &Path) -> String {
    format!("file://{}/export", dir.display())
}

/// Not a test of its own: what runs in the process that is killed. Without the variable it does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells the process it starts what to do")]
fn node() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let dir = Path::new(&dir);
    let (ledger, spool) = reopen(dir);
    let sealer = sealer(&ledger, &url(dir));
    for turn in spool.tail().0.. {
        for _ in 0..40 {
            let position = spool.tail().0;
            append(&spool, &charge(clock(position), position % 5, cost(position)));
        }
        let now = clock(spool.tail().0);
        ledger.roll(&spool).unwrap();
        match turn % 4 {
            0 => drop(ledger.close_due(&spool, now).unwrap()),
            1 => drop(ledger.checkpoint(&spool, audit::Head::default(), now).unwrap()),
            2 => drop(wait(sealer.seal_due(now, |_| {})).unwrap()),
            _ => drop(ledger.prune(&spool, spool.tail(), Needs::Sealed, now).unwrap()),
        }
        let line = format!("{MARK}{turn}\n");
        if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

fn start(dir: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::node", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

#[test]
fn a_node_that_is_killed_again_and_again_loses_nothing_and_counts_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut unwritten = BTreeSet::new();
    for round in 0..ROUNDS {
        let (mut child, mut output) = start(dir.path());
        let lines = RandomState::new().hash_one(round) % 30;
        let told = output.by_ref().lines().map(Result::unwrap).filter(|line| line.contains(MARK));
        assert!(told.take(1 + lines as usize).count() > 0, "the node ended by itself");
        // Anywhere in the next turn, not always at its beginning.
        let moment = RandomState::new().hash_one((round, "moment")) % MOMENT_MICROS_MAX;
        std::thread::park_timeout(Duration::from_micros(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        check(dir.path(), &mut unwritten);
    }
}

/// Everything adds up.
fn check(dir: &Path, unwritten: &mut BTreeSet<u64>) {
    // First of all, as it was left.
    Ledger::verify(&dir.join("ledger"), &dir.join("spool"), None).unwrap();
    let (ledger, spool) = reopen(dir);
    let mut found = BTreeSet::new();
    let report = spool.read(spool.first(), |position, record| {
        assert_eq!(record.cost, cost(position.0));
        found.insert(position.0);
    });
    assert_eq!(report.unwrap().torn, 0);
    unwritten.extend((spool.first().0..spool.tail().0).filter(|position| !found.contains(position)));
    let written = (0..spool.tail().0).filter(|position| !unwritten.contains(position));
    let expected: i128 = written.map(|position| i128::from(cost(position))).sum();
    assert_eq!(ledger.query(&spool, &Query::default()).unwrap().sums.total(), expected);

    let now = clock(spool.tail().0);
    ledger.close_due(&spool, now).unwrap();
    ledger.checkpoint(&spool, audit::Head::default(), now).unwrap();
    let sealer = sealer(&ledger, &url(dir));
    wait(sealer.seal_due(now, |_| {})).unwrap();
    let read = wait(sealer.read_back(ALL_HOURS)).unwrap();
    assert!(read.missing.is_empty() && read.damaged.is_empty());
    let open = ledger.standing().unwrap().unwrap().open;
    let closed = Totals::recorded(ledger.book(), ALL_HOURS.start..open, &*names()).unwrap();
    assert_eq!(compare(&closed, &read.totals), []);
    assert_eq!(ledger.query(&spool, &Query::default()).unwrap().sums.total(), expected);
    assert!(ledger.recount(&spool, ALL_HOURS).unwrap().miscounted.is_empty());
    let verified = Ledger::verify(&dir.join("ledger"), &dir.join("spool"), None).unwrap();
    assert_eq!(verified.position(), spool.tail().max(Position(0)));
}
