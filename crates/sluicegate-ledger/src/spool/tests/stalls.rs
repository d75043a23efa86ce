//! A writer who has claimed a slot and does not write it.

use super::*;
use crate::record::layout;

#[test]
fn a_stalled_writer_holds_the_watermark_back() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 8, SOON);
    spool.reserve().unwrap().append(&record(1));
    let stalled = claim(&spool);
    let last = spool.reserve().unwrap().append(&record(3));
    eventually(|| durable(&spool) == 1);
    block_on(async {
        let waited = tokio::time::timeout(Duration::from_millis(50), spool.wait_durable(last)).await;
        assert!(waited.is_err(), "the record at {last:?} is not known to be on disk");
    });
    assert_eq!((durable(&spool), spool.tail()), (1, Position(3)));
    assert_eq!(stalled.write(layout::encode(&record(2))), 1);
    block_on(spool.wait_durable(last)).unwrap();
    assert_eq!((durable(&spool), costs(&spool)), (3, vec![1, 2, 3]));
}

#[test]
fn reading_ends_before_a_slot_that_is_being_written_and_goes_on_there() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 8, SOON);
    spool.reserve().unwrap().append(&record(1));
    let stalled = claim(&spool);
    spool.reserve().unwrap().append(&record(3));
    let report = spool.read(Position(0), |_, _| {}).unwrap();
    assert_eq!((report.read, report.holes, report.torn, report.next), (1, 0, 0, Position(1)));
    stalled.write(layout::encode(&record(2)));
    let report = spool.read(report.next, |_, _| {}).unwrap();
    assert_eq!((report.read, report.next), (2, Position(3)));
}

#[test]
fn a_stalled_writer_keeps_his_segment_mapped_while_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 8, SOON);
    let stalled = claim(&spool);
    let mut appended = 1;
    eventually(|| {
        appended += fill(&spool);
        appended == 64
    });
    assert_eq!((durable(&spool), spool.works.catalog.lock().live()), (0, 8));
    assert_eq!(spool.forget_before(Position(64)).unwrap(), 0);
    stalled.write(layout::encode(&record(0)));
    eventually(|| durable(&spool) == 64);
    assert_eq!(costs(&spool).len(), 64);
    assert_eq!(costs(&spool)[0], 0);
}

#[test]
fn a_flush_waits_for_a_record_that_is_being_written() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 8, NEVER);
    let stalled = claim(&spool);
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| spool.flush());
        std::thread::park_timeout(Duration::from_millis(20));
        stalled.write(layout::encode(&record(1)));
        flush.join().unwrap().unwrap();
    });
    assert_eq!(durable(&spool), 1);
    // One that is never written is not waited for without end.
    let _stalled = claim(&spool);
    assert_eq!(spool.flush().unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_slot_that_was_claimed_and_never_written_is_a_hole_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let image = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 8, NEVER);
    spool.reserve().unwrap().append(&record(1));
    let _stalled = claim(&spool);
    spool.reserve().unwrap().append(&record(3));
    let _last = claim(&spool);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, image.path().join(path.file_name().unwrap())).unwrap();
    }
    let reopened = open_switched(&image, 8, NEVER, &switches);
    // What was claimed last left no trace: its position is used again.
    assert_eq!((reopened.tail(), reopened.durable()), (Position(3), Position(3)));
    assert_eq!(reopened.reserve().unwrap().append(&record(4)), Position(3));
    let report = reopened.read(Position(0), |_, _| {}).unwrap();
    assert_eq!((report.read, report.holes, report.torn), (3, 1, 0));
}
