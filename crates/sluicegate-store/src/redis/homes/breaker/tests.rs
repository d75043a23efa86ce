//! The breaker on a clock that stands still.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::*;

fn on_a_still_clock(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test);
}

fn breaker() -> Arc<Breaker> {
    Arc::new(Breaker::new(BreakerSettings::default()))
}

/// Opens it.
fn open(breaker: &Breaker) {
    let tripped = (0..5).map(|_| breaker.note(Heard::Failure, Instant::now()));
    assert_eq!(tripped.last(), Some(Tripped::Opened));
}

#[test]
fn opens_at_the_fifth_failure_in_a_row() {
    let (breaker, now) = (breaker(), Instant::now());
    for _ in 0..4 {
        assert_eq!(breaker.note(Heard::Failure, now), Tripped::No);
    }
    assert_eq!(breaker.note(Heard::Answer, now), Tripped::No);
    for _ in 0..4 {
        assert_eq!(breaker.note(Heard::Failure, now), Tripped::No);
    }
    assert_eq!(breaker.note(Heard::Nothing, now), Tripped::No);
    assert_eq!(breaker.mode(), StoreMode::Normal);
    assert_eq!(breaker.note(Heard::Failure, now), Tripped::Opened);
    assert_eq!(breaker.mode(), StoreMode::Degraded);
    assert_eq!(breaker.note(Heard::Failure, now), Tripped::No, "one prober is enough");
}

#[test]
fn opens_when_half_of_many_calls_fail_within_a_second() {
    let (breaker, start) = (breaker(), Instant::now());
    for call in 0..19 {
        let heard = if call % 2 == 0 { Heard::Answer } else { Heard::Failure };
        assert_eq!(breaker.note(heard, start), Tripped::No, "too few calls");
    }
    assert_eq!(breaker.note(Heard::Failure, start + Duration::from_millis(999)), Tripped::Opened);
}

#[test]
fn failures_of_the_last_second_are_forgotten() {
    let (breaker, start) = (breaker(), Instant::now());
    for call in 0..19 {
        let heard = if call % 2 == 0 { Heard::Answer } else { Heard::Failure };
        assert_eq!(breaker.note(heard, start), Tripped::No);
    }
    assert_eq!(breaker.note(Heard::Failure, start + Duration::from_secs(1)), Tripped::No);
    assert_eq!(breaker.mode(), StoreMode::Normal);
}

#[test]
fn two_probes_that_are_answered_close_it_well_within_two_seconds() {
    on_a_still_clock(async {
        let (breaker, start) = (breaker(), Instant::now());
        open(&breaker);
        probe(Arc::clone(&breaker), async || Some(Heard::Answer)).await;
        assert_eq!(breaker.mode(), StoreMode::Normal);
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(320) && took <= Duration::from_millis(485), "{took:?}");
    });
}

#[test]
fn an_answer_between_failures_does_not_close_it() {
    on_a_still_clock(async {
        let breaker = breaker();
        open(&breaker);
        let asked = Rc::new(Cell::new(0));
        let count = Rc::clone(&asked);
        let script =
            [Heard::Answer, Heard::Failure, Heard::Answer, Heard::Failure, Heard::Answer, Heard::Answer];
        probe(Arc::clone(&breaker), async || {
            assert_eq!(breaker.mode(), StoreMode::Degraded);
            // What was asked before the breaker opened is answered late.
            assert_eq!(breaker.note(Heard::Answer, Instant::now()), Tripped::No);
            assert_eq!(breaker.mode(), StoreMode::Degraded);
            count.set(count.get() + 1);
            script.get(count.get() - 1).copied()
        })
        .await;
        assert_eq!((asked.get(), breaker.mode()), (6, StoreMode::Normal));
    });
}

#[test]
fn who_waits_for_it_to_close_goes_on_then() {
    on_a_still_clock(async {
        let breaker = breaker();
        breaker.closed().await;
        open(&breaker);
        let waits = tokio::spawn({
            let breaker = Arc::clone(&breaker);
            async move { breaker.closed().await }
        });
        sleep(Duration::from_secs(60)).await;
        assert!(!waits.is_finished());
        breaker.close();
        waits.await.unwrap();
    });
}

#[test]
fn the_prober_ends_when_nobody_wants_to_know() {
    on_a_still_clock(async {
        let breaker = breaker();
        open(&breaker);
        probe(Arc::clone(&breaker), async || None).await;
        assert_eq!(breaker.mode(), StoreMode::Degraded);
    });
}
