//! A process that records, counts and closes is killed at any moment: every record is counted, and none twice.

use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluicegate_core::time::Nanos;
use sluicegate_ledger::Kind;
use sluicegate_ledger::usage::Query;

use crate::fixtures::{append, at, charge, open};

const ROUNDS: u64 = 40;
/// Longer than a turn takes.
const MOMENT_MICROS_MAX: u64 = 12_000;
/// The variable that tells the writer where its files are.
const DIR: &str = "SLUICEGATE_TEST_KILLED_BOOK";
const MARK: &str = "rolled ";

/// Not a test of its own: what runs in the process that is killed. Without the variable it does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells the process it starts what to do")]
fn writer() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let (book, spool) = open(Path::new(&dir));
    let start = spool.tail().0;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (spool, stop) = (&spool, &stop);
            scope.spawn(move || {
                let mut step = start;
                while !stop.load(Ordering::Relaxed) {
                    step += 1;
                    append(
                        spool,
                        &charge(at(u32::try_from(step / 5_000).unwrap(), 7), step % 50 + thread, step % 11),
                    );
                }
            });
        }
        for round in 0u32.. {
            let Ok(rolled) = book.roll(&spool) else { break };
            if round.is_multiple_of(4) {
                let hours = u32::try_from(rolled.position.0 / 12_000).unwrap();
                if book.close_due(&spool, at(hours, 0), Nanos::ZERO).is_err() {
                    break;
                }
            }
            let line = format!("{MARK}{}\n", rolled.position.0);
            if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn start_writer(dir: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

#[test]
fn every_record_is_counted_once_however_often_the_process_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let (mut child, mut output) = start_writer(dir.path());
        let lines = RandomState::new().hash_one(round) % 40;
        let told = output.by_ref().lines().map(Result::unwrap).filter(|line| line.contains(MARK));
        assert!(told.take(1 + lines as usize).count() > 0, "the writer ended by itself");
        // Anywhere in the next turn, not always at its beginning.
        let moment = RandomState::new().hash_one((round, "moment")) % MOMENT_MICROS_MAX;
        std::thread::park_timeout(Duration::from_micros(moment));
        child.kill().unwrap();
        child.wait().unwrap();

        let (book, spool) = open(dir.path());
        let mut naive = 0;
        let report = spool.read(spool.first(), |_, record| {
            let cost = i128::from(record.cost);
            naive += if record.kind == Kind::Refund { -cost } else { cost };
        });
        let report = report.unwrap();
        assert_eq!(book.query(&spool, &Query::default()).unwrap().sums.total(), naive, "before rolling");
        spool.flush().unwrap();
        book.roll(&spool).unwrap();
        let usage = book.query(&spool, &Query::default()).unwrap();
        assert_eq!(usage.sums.total(), naive, "round {round}");
        let standing = book.standing().unwrap().unwrap();
        assert_eq!(
            (standing.records, standing.holes, standing.torn),
            (report.read, report.holes, report.torn)
        );
        let recount = book.recount(&spool, sluicegate_ledger::hour::ALL_HOURS).unwrap();
        assert!(recount.miscounted.is_empty(), "round {round}: {:?}", &recount.miscounted[0]);
    }
}
