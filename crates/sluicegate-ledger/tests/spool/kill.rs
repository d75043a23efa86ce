//! A process that appends is killed at any moment: whatever it told the world of is found.

use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use sluicegate_ledger::Position;

use crate::fixtures::{append, open, read, record};

const ROUNDS: u64 = 20;
/// The variable that tells the writer where its spool is.
const DIR: &str = "SLUICEGATE_TEST_KILLED_SPOOL";
const MARK: &str = "appended ";

/// Not a test of its own: what runs in the process that is killed. Without the variable it does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a test tells the process it starts what to do")]
fn writer() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let spool = open(Path::new(&dir), 64);
    let start = spool.tail().0;
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let spool = &spool;
            scope.spawn(move || {
                for step in 0..u64::from(u32::MAX) {
                    let number = thread << 60 | start << 32 | step;
                    let Position(position) = append(spool, &record(number));
                    // One write for the line: what the other end reads is whole.
                    let line = format!("{MARK}{position} {number}\n");
                    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                }
            });
        }
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

/// The position and the number that a line tells of.
fn parse(line: &str) -> Option<(u64, u64)> {
    let (position, number) = line.split_once(MARK)?.1.trim_end_matches('\n').split_once(' ')?;
    Some((position.parse().unwrap(), number.parse().unwrap()))
}

#[test]
fn whatever_was_told_before_a_kill_is_found_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    for round in 0..ROUNDS {
        let (mut child, mut output) = start_writer(dir.path());
        let lines = RandomState::new().hash_one(round) % 2_000;
        let mut line = String::new();
        for _ in 0..lines {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the writer ended by itself");
            told.extend(parse(&line));
        }
        // It goes on while it is being killed; what it still told is in the pipe.
        child.kill().unwrap();
        child.wait().unwrap();
        let rest = output.lines().map(Result::unwrap);
        // Only a line that was cut has no end, and the kernel writes short lines whole.
        told.extend(rest.filter_map(|line| parse(&line)));
        let spool = open(dir.path(), 64);
        let (found, report) = read(&spool, Position(0));
        assert!(
            report.holes + report.torn <= (round + 1) * 3,
            "no more than the threads were writing: {report:?}"
        );
        told.sort_unstable();
        for it in &told {
            assert!(found.binary_search(it).is_ok(), "round {round}: {it:?} was told of and is gone");
        }
    }
    assert!(told.len() as u64 > ROUNDS * 100, "{} records are too few to mean anything", told.len());
    told.dedup_by_key(|(position, _)| *position);
    assert!(told.is_sorted_by_key(|(position, _)| *position));
}
