//! A disk that is full, broken or slow.

use std::sync::atomic::Ordering;

use super::*;
use crate::spool::{Full, Health};

#[test]
fn a_full_disk_refuses_when_the_last_slot_is_taken_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 8, SOON);
    switches.full.store(true, Ordering::SeqCst);
    // One segment was made when the spool was opened, and none since.
    let reservations: Vec<_> = (0..8).map(|_| spool.reserve().unwrap()).collect();
    assert_eq!(spool.reserve().unwrap_err(), Full);
    drop(reservations);
    assert_eq!(fill(&spool), 8);
    eventually(|| matches!(spool.health(), Health::Full { left: 0, .. }));
    let Health::Full { reason, .. } = spool.health() else { panic!("it was full") };
    assert!(reason.contains("filled the disk"), "{reason}");
    assert_eq!(costs(&spool), (1..=8).collect::<Vec<_>>());
}

#[test]
fn room_that_is_reserved_and_not_used_does_not_keep_others_out() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 8, SOON);
    let reservations: Vec<_> = (0..8).map(|_| spool.reserve().unwrap()).collect();
    eventually(|| spool.reserve().is_ok());
    drop(reservations);
}

#[test]
fn a_wait_can_be_moved_to_another_thread() {
    fn is_send(_: impl Send) {}
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 8, SOON);
    is_send(spool.wait_durable(Position(0)));
    is_send(spool);
}

#[test]
fn it_goes_on_when_there_is_space_again() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 8, SOON);
    switches.full.store(true, Ordering::SeqCst);
    assert_eq!(fill(&spool), 8);
    eventually(|| spool.health() != Health::Good);
    switches.full.store(false, Ordering::SeqCst);
    eventually(|| spool.health() == Health::Good);
    assert_eq!(spool.reserve().unwrap().append(&record(9)), Position(8));
    assert_eq!(costs(&spool), (1..=9).collect::<Vec<_>>());
}

#[test]
fn a_spool_can_be_opened_on_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let switches = Arc::new(Switches::default());
    switches.full.store(true, Ordering::SeqCst);
    let spool = open_switched(&dir, 8, SOON, &switches);
    assert!(matches!(spool.health(), Health::Full { left: 0, .. }));
    assert_eq!(spool.reserve().unwrap_err(), Full);
    assert_eq!((spool.first(), spool.tail()), (Position(0), Position(0)));
    switches.full.store(false, Ordering::SeqCst);
    eventually(|| spool.reserve().is_ok());
    assert_eq!(spool.reserve().unwrap().append(&record(1)), Position(0));
}

#[test]
fn a_failed_flush_is_told_and_nothing_counts_as_durable() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 64, SOON);
    switches.broken.store(true, Ordering::SeqCst);
    let position = spool.reserve().unwrap().append(&record(1));
    let failed = block_on(spool.wait_durable(position)).unwrap_err();
    assert!(failed.reason.contains("broken the disk"), "{failed}");
    assert_eq!((durable(&spool), costs(&spool)), (0, vec![1]));
    assert_eq!(spool.health(), Health::Failing { reason: failed.reason });
    assert!(spool.flush().is_err());
    // The disk is well again: tried again without being asked.
    switches.broken.store(false, Ordering::SeqCst);
    eventually(|| spool.health() == Health::Good);
    assert_eq!(durable(&spool), 1);
    assert!(block_on(spool.wait_durable(position)).is_ok());
}

#[test]
fn a_disk_that_takes_nothing_fills_the_segments_that_may_be_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 8, SOON);
    switches.broken.store(true, Ordering::SeqCst);
    let mut appended = 0;
    eventually(|| {
        appended += fill(&spool);
        appended == 64
    });
    assert_eq!((durable(&spool), spool.reserve().is_err(), files(dir.path())), (0, true, 8));
    switches.broken.store(false, Ordering::SeqCst);
    eventually(|| spool.reserve().is_ok());
    assert_eq!(durable(&spool), 64);
}

#[test]
fn only_what_was_appended_is_flushed_and_only_once() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 64, NEVER);
    let append = |number: u64| {
        for cost in 0..number {
            spool.reserve().unwrap().append(&record(cost));
        }
    };
    spool.flush().unwrap();
    assert!(switches.flushes.lock().is_empty());
    append(5);
    spool.flush().unwrap();
    spool.flush().unwrap();
    append(2);
    spool.flush().unwrap();
    assert_eq!(*switches.flushes.lock(), [0..5, 5..7]);
}

#[test]
fn what_is_appended_is_flushed_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, _switches) = switched(&dir, 64, SOON);
    spool.reserve().unwrap().append(&record(1));
    eventually(|| durable(&spool) == 1);
}

#[test]
fn all_who_wait_while_the_disk_works_share_the_next_flush() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 64, NEVER);
    switches.set_slow(true);
    block_on(async {
        let first = spool.reserve().unwrap().append(&record(0));
        let mut waiting = vec![Box::pin(spool.wait_durable(first))];
        let pause = || tokio::time::sleep(SOON);
        poll_all(&mut waiting).await;
        // Nobody but the one who waits has woken the thread: the next flush would come in an hour.
        while switches.flushes.lock().is_empty() {
            pause().await;
        }
        for cost in 1..=20 {
            let position = spool.reserve().unwrap().append(&record(cost));
            waiting.push(Box::pin(spool.wait_durable(position)));
        }
        assert_eq!(poll_all(&mut waiting).await, 21);
        switches.set_slow(false);
        for it in waiting {
            it.await.unwrap();
        }
    });
    assert_eq!(*switches.flushes.lock(), [0..1, 1..21]);
}

/// Polls each once, and says how many still wait.
async fn poll_all<F: Future + Unpin>(futures: &mut [F]) -> usize {
    use std::pin::Pin;
    use std::task::Poll;
    std::future::poll_fn(|context| {
        let waiting = futures.iter_mut().map(|future| Pin::new(future).poll(context).is_pending());
        Poll::Ready(waiting.filter(|waits| *waits).count())
    })
    .await
}

#[test]
fn waiters_are_served_in_order_of_their_positions() {
    let dir = tempfile::tempdir().unwrap();
    let (spool, switches) = switched(&dir, 64, NEVER);
    switches.set_slow(true);
    block_on(async {
        let first = spool.reserve().unwrap().append(&record(0));
        let mut early = [Box::pin(spool.wait_durable(first))];
        poll_all(&mut early).await;
        while switches.flushes.lock().is_empty() {
            tokio::time::sleep(SOON).await;
        }
        let second = spool.reserve().unwrap().append(&record(1));
        // The flush that is under way was begun before the second record.
        switches.broken.store(false, Ordering::SeqCst);
        switches.set_slow(false);
        early[0].as_mut().await.unwrap();
        assert!(spool.durable() > first);
        spool.wait_durable(second).await.unwrap();
        assert!(spool.durable() > second);
    });
}
