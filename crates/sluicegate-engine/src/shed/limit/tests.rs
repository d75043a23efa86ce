//! Single cohorts, by hand. What the limit does in the long run is in `tests/shed`.

use super::*;

const MS: u64 = 1_000_000;
const SHEDDING: Shedding = Shedding { target: Nanos(20 * MS), floor: Shedding::FLOOR_DEFAULT };

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000_000 + ms * MS)
}

/// Some start at this moment with so many in flight, and end after what each takes; those of nothing never end.
fn cohort(limit: &mut Limit, begin_ms: u64, in_flight: u64, took_ms: &[Option<u64>]) {
    let members: Vec<_> = took_ms.iter().map(|_| limit.entered(in_flight, at(begin_ms), &SHEDDING)).collect();
    for (member, took) in members.into_iter().zip(took_ms) {
        if let Some(took) = took {
            limit.left(member, Done::Answered { took: Nanos(took * MS) }, at(begin_ms + took), &SHEDDING);
        }
    }
}

/// A limit that knows that requests take ten milliseconds.
fn learnt() -> Limit {
    let mut limit = Limit::new(at(0));
    cohort(&mut limit, 0, 8, &[Some(10); 32]);
    assert_eq!(limit.unloaded(), Nanos(10 * MS));
    limit
}

fn places(limit: &Limit) -> u64 {
    limit.room(&SHEDDING).places
}

#[test]
fn a_queue_cuts_the_limit_to_what_the_upstream_bears() {
    let mut limit = learnt();
    limit.refused(at(100), &SHEDDING);
    // What is aimed at is half of the target and a quarter of ten milliseconds: 22.5 of these 30.
    cohort(&mut limit, 100, 64, &[Some(30); 32]);
    assert_eq!(places(&limit), 48);
    assert_eq!(limit.unloaded(), Nanos(10 * MS));
}

#[test]
fn as_long_as_nobody_waits_the_limit_grows() {
    let mut limit = learnt();
    limit.refused(at(100), &SHEDDING);
    cohort(&mut limit, 100, 64, &[Some(10); 32]);
    assert_eq!(places(&limit), 81, "a quarter and one more");
    let before = places(&limit);
    cohort(&mut limit, 200, 20, &[Some(10); 64]);
    assert_eq!(places(&limit), before, "nobody wanted more");
}

#[test]
fn a_few_callers_that_send_slowly_do_not_look_like_a_queue() {
    let mut limit = learnt();
    let mut took = [Some(10); 32];
    (took[3], took[17]) = (None, None);
    cohort(&mut limit, 100, 60, &took);
    let before = places(&limit);
    // They are waited for no longer than they count.
    limit.refused(at(100 + 4 * 10 + 4 * 20), &SHEDDING);
    assert!(places(&limit) >= before, "{} of {before}", places(&limit));
}

#[test]
fn failures_that_come_at_once_say_nothing() {
    let mut limit = learnt();
    let before = places(&limit);
    for turn in 0..1_000 {
        let member = limit.entered(8, at(100 + turn), &SHEDDING);
        limit.left(member, Done::Cut { took: Nanos(MS / 10) }, at(100 + turn), &SHEDDING);
    }
    assert_eq!((limit.unloaded(), places(&limit)), (Nanos(10 * MS), before));
}

#[test]
fn slow_failures_are_a_queue_like_any_other() {
    let mut limit = learnt();
    limit.refused(at(100), &SHEDDING);
    for _ in 0..32 {
        let member = limit.entered(64, at(100), &SHEDDING);
        limit.left(member, Done::Cut { took: Nanos(60 * MS) }, at(160), &SHEDDING);
    }
    assert_eq!(places(&limit), 32, "at most half at a time");
}

#[test]
fn a_longer_time_that_no_cut_makes_shorter_is_how_long_it_takes() {
    let mut limit = learnt();
    let mut now_ms = 100;
    for _ in 0..12 {
        limit.refused(at(now_ms), &SHEDDING);
        let in_flight = places(&limit);
        cohort(&mut limit, now_ms, in_flight, &[Some(80); 32]);
        now_ms += 200;
    }
    assert_eq!(limit.unloaded(), Nanos(80 * MS));
    assert!(places(&limit) >= 64, "{} are left", places(&limit));
}

#[test]
fn what_requests_take_unloaded_is_looked_at_while_there_is_a_queue() {
    let mut limit = learnt();
    let mut now_ms = 100;
    while limit.probe.is_none() {
        limit.refused(at(now_ms), &SHEDDING);
        let in_flight = places(&limit);
        cohort(&mut limit, now_ms, in_flight, &[Some(22); 128]);
        now_ms += 100;
        assert!(now_ms < 20_000, "it is never looked at");
    }
    assert!(now_ms > 10_000, "looked at after {now_ms} ms");
    let room = limit.room(&SHEDDING);
    assert!(room.open < room.places / 3, "{room:?}");
    // Only those count that start while few are in flight.
    cohort(&mut limit, now_ms, room.places, &[Some(40); 16]);
    assert_eq!(limit.unloaded(), Nanos(10 * MS));
    cohort(&mut limit, now_ms + 50, room.open, &[Some(6); 16]);
    assert_eq!((limit.unloaded(), limit.probe), (Nanos(6 * MS), None));
}

#[test]
fn a_probe_that_sees_nothing_ends() {
    let mut limit = learnt();
    limit.probe = Some(2);
    limit.open(at(100), &SHEDDING);
    assert_eq!(limit.room(&SHEDDING).open, 2);
    limit.refused(at(100 + 999), &SHEDDING);
    assert_eq!(limit.room(&SHEDDING).open, 2);
    limit.refused(at(100 + 1_000), &SHEDDING);
    assert_eq!(limit.room(&SHEDDING).open, places(&limit));
}

#[test]
fn a_request_that_never_reached_the_upstream_is_not_waited_for() {
    let mut limit = learnt();
    let before = limit.cohort.number();
    let unused: Vec<_> = (0..4).map(|_| limit.entered(8, at(100), &SHEDDING)).collect();
    unused.into_iter().for_each(|member| limit.forget(member));
    cohort(&mut limit, 100, 8, &[Some(10); 32]);
    assert_eq!(limit.cohort.number(), before + 1, "it is still open");
}
