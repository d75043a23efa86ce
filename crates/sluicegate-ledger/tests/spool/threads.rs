//! Many threads append while others read, flush and forget.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate_ledger::Position;

use crate::fixtures::{append, numbers, open, read, record};

const THREADS: u64 = 8;

/// The number of a thread's record.
fn number(thread: u64, step: u64) -> u64 {
    thread << 32 | step
}

#[test]
fn every_record_stands_there_once_and_in_its_threads_order() {
    for (segment_records, steps) in [(8, 60), (1_000, 4_000)] {
        let dir = tempfile::tempdir().unwrap();
        let spool = open(dir.path(), segment_records);
        let done = AtomicBool::new(false);
        let appended: Vec<Vec<(Position, u64)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let spool = &spool;
                    let step =
                        move |step| (append(spool, &record(number(thread, step))), number(thread, step));
                    scope.spawn(move || (0..steps).map(step).collect())
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    spool.flush().unwrap();
                    assert!(spool.durable() <= spool.tail());
                }
            });
            let follower = scope.spawn(|| follow(&spool, &done));
            let appended = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            done.store(true, Ordering::Relaxed);
            assert_eq!(follower.join().unwrap(), THREADS * steps);
            appended
        });
        for of_one in &appended {
            assert!(of_one.is_sorted(), "a thread's positions are in the order of its appends");
        }
        let mut expected: Vec<(Position, u64)> = appended.into_iter().flatten().collect();
        expected.sort_unstable();
        let numbers = numbers(&spool);
        assert!((0..).map(Position).zip(numbers).eq(expected));
    }
}

/// Reads on and on, and says how many records came by. Nothing may be skipped, torn, or come twice.
fn follow(spool: &sluicegate_ledger::Spool, done: &AtomicBool) -> u64 {
    let mut next = Position(0);
    loop {
        let last = done.load(Ordering::Relaxed);
        let (found, report) = read(spool, next);
        assert_eq!((report.holes, report.torn), (0, 0));
        assert!(found.iter().map(|(position, _)| *position).eq(next.0..report.next.0));
        next = report.next;
        if last {
            return next.0;
        }
    }
}

#[test]
fn reservations_that_are_dropped_give_their_room_to_others() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 64);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let spool = &spool;
            scope.spawn(move || {
                for step in 0..500 {
                    drop(spool.reserve());
                    append(spool, &record(number(thread, step)));
                    drop(spool.reserve());
                }
            });
        }
    });
    let found: BTreeSet<u64> = numbers(&spool).into_iter().collect();
    assert_eq!(found.len() as u64, THREADS * 500);
}

#[test]
fn forgetting_while_others_append_loses_nothing_that_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for step in 0..600 {
                append(&spool, &record(step));
            }
        });
        while !writer.is_finished() {
            spool.forget_before(Position(spool.durable().0.saturating_sub(20))).unwrap();
        }
    });
    assert!(spool.first().0 > 0);
    assert_eq!(numbers(&spool), (spool.first().0..600).collect::<Vec<_>>());
}
