//! Copies of the files while the spool lives: what a crash of the process would leave.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_ledger::Position;

use crate::fixtures::{append, append_all, image, numbers, open, read, record};

#[test]
fn every_record_appended_before_the_crash_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 8);
    for appended in [0, 1, 7, 8, 9, 30, 64, 100] {
        append_all(&spool, spool.tail().0..appended);
        let copy = tempfile::tempdir().unwrap();
        image(dir.path(), copy.path());
        let reopened = open(copy.path(), 8);
        assert_eq!(numbers(&reopened), (0..appended).collect::<Vec<_>>());
        append_all(&reopened, appended..appended + 20);
        assert_eq!(numbers(&reopened), (0..appended + 20).collect::<Vec<_>>());
    }
}

#[test]
fn a_spool_that_was_never_closed_is_found_whole() {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let spool = open(dir.path(), 8);
    append_all(&spool, 0..27);
    std::mem::forget(spool);
    image(dir.path(), copy.path());
    assert_eq!(numbers(&open(copy.path(), 8)), (0..27).collect::<Vec<_>>());
}

#[test]
fn images_taken_in_the_middle_of_appends_hold_all_that_was_finished() {
    let dir = tempfile::tempdir().unwrap();
    let spool = open(dir.path(), 64);
    // The highest number such that it and all before it were appended, for each thread.
    let finished: [AtomicU64; 4] = Default::default();
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (thread, finished) in (0u64..).zip(&finished) {
            let (spool, stop) = (&spool, &stop);
            scope.spawn(move || {
                for step in 1.. {
                    append(spool, &record(thread << 32 | step));
                    finished.store(step, Ordering::SeqCst);
                    if stop.load(Ordering::Relaxed) == 1 {
                        break;
                    }
                }
            });
        }
        for _ in 0..20 {
            let copy = tempfile::tempdir().unwrap();
            let before: Vec<u64> = finished.iter().map(|it| it.load(Ordering::SeqCst)).collect();
            image(dir.path(), copy.path());
            check_image(copy.path(), &before);
        }
        stop.store(1, Ordering::Relaxed);
    });
}

/// The files are copied one after the other while records are appended: later segments may be missing, and slots that
/// were behind the tail may be holes. What was there before is there, for each thread without gaps.
fn check_image(dir: &std::path::Path, before: &[u64]) {
    let spool = open(dir, 64);
    let (found, report) = read(&spool, Position(0));
    assert_eq!(found.len() as u64, report.read);
    for (thread, finished) in (0u64..).zip(before) {
        let steps =
            found.iter().filter(|(_, number)| number >> 32 == thread).map(|(_, number)| number & 0xffff_ffff);
        let steps: Vec<u64> = steps.collect();
        assert!(steps.is_sorted());
        assert!(steps.iter().copied().take_while(|step| step <= finished).eq(1..=*finished));
    }
}
