//! Permits that services hold: they outlive the process, are settled once, and live as long as they say.

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{CallerRequest, Decision, FinishError, Finished, Front, HandedPermit, Hold, Renewed};

use crate::place::{Caller, NOW, Place, answer, at, costing, request};

const PLANS: &str = "
tiers:
  metered: {rate: 100, burst: 100, quota: 1_000}
  two: {concurrency: 2, quota: 1_000}
  many: {concurrency: 50_000}
";

const DAY: u32 = 24 * 3_600;

/// What a service asks for.
fn asked(place: &Place, caller: &Caller, cost: u64, hold: Hold, now: Timestamp) -> Decision {
    place.ask(&CallerRequest { hold, ..costing(request(&caller.key), cost) }, now)
}

fn held(place: &Place, caller: &Caller, cost: u64, hold: Hold, now: Timestamp) -> HandedPermit {
    let decision = asked(place, caller, cost, hold, now);
    assert_eq!(answer(&decision), "200");
    place.engine.keep(decision.permit.unwrap(), now).unwrap()
}

fn finish(place: &Place, permit: &HandedPermit, cost: u64, now: Timestamp) -> Result<Finished, FinishError> {
    place.engine.clock().set(now);
    place.engine.finish_kept_here(&permit.text, Some(200), Some(cost), now)
}

const fn finished(reserved: u64, settled: u64) -> Result<Finished, FinishError> {
    Ok(Finished { reserved, settled })
}

#[test]
fn a_permit_is_settled_once_over_restarts_and_kills_and_every_finish_has_the_first_answer() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    let more = held(&place, &caller, 2, Hold::Yes, NOW);
    let less = held(&place, &caller, 5, Hold::Yes, NOW);
    let same = held(&place, &caller, 3, Hold::Yes, NOW);
    let late = held(&place, &caller, 4, Hold::Yes, NOW);
    // Not finished before the kill: another process finishes it.
    let place = place.crash(PLANS);
    for (permit, cost, answer) in
        [(&more, 7, finished(2, 7)), (&less, 1, finished(5, 1)), (&same, 3, finished(3, 3))]
    {
        assert_eq!(finish(&place, permit, cost, at(1)), answer);
        assert_eq!(finish(&place, permit, cost + 9, at(2)), answer);
    }
    assert_eq!(place.ledger_total(), 15);
    let place = place.crash(PLANS);
    assert_eq!(finish(&place, &less, 100, at(3)), finished(5, 1));
    let place = place.restart(PLANS);
    for (permit, answer) in [(&more, finished(2, 7)), (&same, finished(3, 3))] {
        assert_eq!(finish(&place, permit, 100, at(4)), answer);
    }
    assert_eq!(finish(&place, &late, 6, at(DAY)), finished(4, 6));
    assert_eq!(place.ledger_total(), 17);
    let used = asked(&place, &caller, 1, Hold::IfNeeded, at(DAY));
    let quota = used.limits.iter().find(|limit| limit.name.as_str() == "quota").unwrap();
    assert_eq!(quota.used, 18);
}

#[test]
fn a_finish_is_a_day_late_at_the_most() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    let (late, later) = (held(&place, &caller, 5, Hold::Yes, NOW), held(&place, &caller, 5, Hold::Yes, NOW));
    assert_eq!(late.lives, Nanos::from_secs(60));
    assert_eq!(finish(&place, &late, 3, at(DAY + 60)), finished(5, 3));
    assert_eq!(finish(&place, &later, 3, at(DAY + 61)), Err(FinishError::TooLate));
    assert_eq!(place.ledger_total(), 8);
}

#[test]
fn what_was_not_given_is_unknown() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    let permit = held(&place, &caller, 5, Hold::Yes, NOW);
    let decision = asked(&place, &caller, 1, Hold::Yes, NOW);
    let mut flipped = permit.text.clone().into_bytes();
    flipped[40] = if flipped[40] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    let id = decision.id.to_string().replace("dec_", "permit_");
    for text in ["", "permit_", &id, &flipped, &permit.text[..permit.text.len() - 1]] {
        let finished = place.engine.finish_kept_here(text, None, Some(0), NOW);
        assert_eq!(finished, Err(FinishError::Unknown), "{text}");
        let renewed = place.engine.renew_kept_here(text, Nanos::from_secs(60), NOW);
        assert_eq!(renewed, Err(FinishError::Unknown), "{text}");
    }
    assert_eq!(place.ledger_total(), 6);
}

#[test]
fn a_permit_and_its_slot_live_as_long_as_they_are_held_for_and_as_they_are_renewed_for() {
    let place = Place::new(PLANS);
    let caller = place.caller("two");
    let hour = Hold::For(Nanos::from_secs(3_600));
    let long = held(&place, &caller, 1, hour, NOW);
    let short = held(&place, &caller, 1, Hold::For(Nanos::from_secs(10)), NOW);
    assert_eq!((long.lives, short.lives), (Nanos::from_secs(3_600), Nanos::from_secs(10)));
    let refused = |secs| answer(&asked(&place, &caller, 1, Hold::IfNeeded, at(secs)));
    assert_eq!(refused(9), "429 concurrency_limited");
    let next = held(&place, &caller, 1, Hold::IfNeeded, at(10));
    assert_eq!(next.lives, Nanos::from_secs(60));
    // Its lease has ended, and its slot is another's.
    let renew = |permit: &HandedPermit, hold, secs| {
        place.engine.renew_kept_here(&permit.text, Nanos::from_secs(hold), at(secs))
    };
    assert_eq!(renew(&short, 10, 11), Err(FinishError::Expired));
    let renewed = renew(&next, 600, 69).unwrap();
    assert_eq!(renewed.lives, Nanos::from_secs(600));
    assert_eq!(refused(668), "429 concurrency_limited");
    assert_eq!(finish(&place, &renewed, 1, at(668)), finished(1, 1));
    assert_eq!(renew(&renewed, 10, 668), Err(FinishError::Finished));
    // The text before the renewal is the same permit.
    assert_eq!(finish(&place, &next, 5, at(668)), finished(1, 1));
    let last = held(&place, &caller, 1, Hold::IfNeeded, at(669));
    assert_eq!(refused(670), "429 concurrency_limited");
    assert_eq!(finish(&place, &long, 1, at(670)), finished(1, 1));
    assert_eq!(finish(&place, &last, 1, at(670)), finished(1, 1));
    // What is renewed for longer than a day lives for a day.
    let permit = held(&place, &caller, 1, Hold::Yes, at(671));
    assert_eq!(renew(&permit, 10 * DAY, 672).unwrap().lives, Hold::MAX);
}

#[test]
fn after_a_restart_the_slots_of_services_count_until_their_leases_end_and_those_of_the_process_do_not() {
    let place = Place::new(PLANS);
    let caller = place.caller("two");
    let first = held(&place, &caller, 1, Hold::For(Nanos::from_secs(600)), NOW);
    let own = CallerRequest { front: Front::Gateway, ..request(&caller.key) };
    assert_eq!(answer(&place.ask(&own, NOW)), "200");
    let slots = |place: &Place, secs| {
        let peek = CallerRequest { purpose: sluicegate_engine::Purpose::Peek, ..request(&caller.key) };
        let decision = place.ask(&peek, at(secs));
        decision.limits.iter().find(|limit| limit.name.as_str() == "concurrency").unwrap().used
    };
    assert_eq!(slots(&place, 0), 2);
    let place = place.crash(PLANS);
    assert_eq!(slots(&place, 1), 1);
    // By a checkpoint as by records, renewed or not.
    let second = held(&place, &caller, 1, Hold::IfNeeded, at(1));
    let second = place.engine.renew_kept_here(&second.text, Nanos::from_secs(900), at(2)).unwrap();
    let place = place.restart(PLANS);
    assert_eq!((slots(&place, 3), slots(&place, 599)), (2, 2));
    assert_eq!(finish(&place, &second, 1, at(4)), finished(1, 1));
    let place = place.crash(PLANS);
    assert_eq!(slots(&place, 5), 1);
    assert_eq!(finish(&place, &first, 1, at(6)), finished(1, 1));
    let place = place.restart(PLANS);
    assert_eq!(slots(&place, 7), 0);
}

#[test]
fn a_slot_is_renewed_at_a_third_of_its_lease_and_forty_thousand_of_an_account_in_one_step() {
    let place = Place::new(PLANS);
    let caller = place.caller("many");
    let own = CallerRequest { front: Front::Gateway, ..request(&caller.key) };
    let permits: Vec<_> = (0..40_000).map(|_| place.ask(&own, NOW).permit.unwrap()).collect();
    permits.iter().for_each(|permit| place.engine.enter(permit));
    let all = Renewed { slots: 40_000, steps: 1 };
    let renewed: Vec<(u32, Renewed)> = (1..=60)
        .map(|secs| (secs, place.engine.renew(at(secs))))
        .filter(|(_, renewed)| *renewed != Renewed::default())
        .collect();
    assert_eq!(renewed, [(20, all), (40, all), (60, all)]);
    let used = |secs| {
        let decision = place.ask(&own, at(secs));
        decision.limits.iter().find(|limit| limit.name.as_str() == "concurrency").unwrap().used
    };
    assert_eq!((used(119), used(120)), (40_001, 2));
}
