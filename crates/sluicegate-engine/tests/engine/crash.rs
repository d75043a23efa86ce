//! What is left after a crash at any moment: exactly what was admitted.

use proptest::prelude::*;
use sluicegate_engine::{CallerRequest, Front, Hold, Purpose};

use crate::place::{Caller, NOW, Place, answer, at, costing, header, request};

const PLANS: &str = "
tiers:
  free: {rate: 2, burst: 20, quota: 100, quota_window: calendar_day, concurrency: 50}
  sliding: {rate: 100, burst: 100, quota: 60, quota_window: sliding_day}
  logged:
    rate: 50
    limits:
      exact: {algorithm: sliding_log, limit: 40/hour}
      weighted: {algorithm: sliding_window, limit: 45/hour}
";

const TIERS: [&str; 3] = ["free", "sliding", "logged"];

fn limits(place: &Place, caller: &Caller, secs: u32) -> Vec<(String, u64, u64)> {
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(&caller.key) };
    let decision = place.ask(&peek, at(secs));
    let limits = decision.limits.into_iter().filter(|limit| limit.name.as_str() != "concurrency");
    limits.map(|limit| (limit.name.to_string(), limit.used, limit.reset.0)).collect()
}

#[test]
fn after_a_crash_everything_that_was_admitted_counts_and_nothing_else() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let admitted = (0..30).filter(|_| answer(&place.get(&caller, "/", NOW)) == "200").count();
    assert_eq!(admitted, 20);
    let place = place.crash(PLANS);
    assert_eq!(place.recovered.records, 20);
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "429 rate_limited");
    assert_eq!(header(&place.get(&caller, "/", at(1)), "X-Quota-Used").unwrap(), "21");
}

#[test]
fn slots_die_with_the_process_that_held_them() {
    let place = Place::new("tiers: {one: {rate: 100, burst: 100, concurrency: 1}}");
    let caller = place.caller("one");
    let own = CallerRequest { front: Front::Gateway, ..request(&caller.key) };
    let held = place.ask(&own, NOW);
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "429 concurrency_limited");
    drop(held);
    let place = place.crash("tiers: {one: {rate: 100, burst: 100, concurrency: 1}}");
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
}

#[test]
fn a_clean_end_leaves_nothing_to_count_again() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    for _ in 0..10 {
        place.get(&caller, "/", NOW);
    }
    let before = limits(&place, &caller, 1);
    let place = place.restart(PLANS);
    assert_eq!(place.recovered.records, 0);
    assert_eq!(limits(&place, &caller, 1), before);
}

#[test]
fn usage_is_kept_when_the_policy_was_edited_while_the_process_was_away() {
    let place = Place::new("tiers: {free: {rate: 100, burst: 100, quota: 10}}");
    let caller = place.caller("free");
    for _ in 0..10 {
        place.get(&caller, "/", NOW);
    }
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "402 quota_exceeded");
    place.engine.save(NOW).unwrap();
    let place = place.crash("tiers: {free: {rate: 100, burst: 100, quota: 12}}");
    assert_eq!(header(&place.get(&caller, "/", at(1)), "X-Quota-Used").unwrap(), "11");
    assert_eq!(header(&place.get(&caller, "/", at(1)), "X-Quota-Remaining").unwrap(), "0");
    assert_eq!(answer(&place.get(&caller, "/", at(1))), "402 quota_exceeded");
}

#[test]
fn what_was_given_back_and_forgotten_does_not_come_back() {
    let place = Place::new("tiers: {free: {rate: 100, burst: 100, quota: 10}}");
    let caller = place.caller("free");
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), 7) };
    let permit = place.ask(&held, NOW).permit.unwrap();
    place.engine.save(NOW).unwrap();
    place.engine.finish(&permit, None, Some(0), at(1)).unwrap();
    place.engine.sweep(at(60));
    place.engine.save(at(60)).unwrap();
    let place = place.crash("tiers: {free: {rate: 100, burst: 100, quota: 10}}");
    assert_eq!(limits(&place, &caller, 61)[1].1, 0);
}

/// One thing that happens to a server.
#[derive(Clone, Debug)]
enum Event {
    Request { caller: usize, cost: u64 },
    HeldRequest { caller: usize, cost: u64, true_cost: u64 },
    Wait { secs: u32 },
    Save,
    Crash,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0..3usize, 1..6u64).prop_map(|(caller, cost)| Event::Request { caller, cost }),
        2 => (0..3usize, 1..6u64, 0..9u64)
            .prop_map(|(caller, cost, true_cost)| Event::HeldRequest { caller, cost, true_cost }),
        3 => (1..4_000u32).prop_map(|secs| Event::Wait { secs }),
        1 => Just(Event::Save),
        1 => Just(Event::Crash),
    ];
    proptest::collection::vec(event, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_server_that_crashes_answers_like_one_that_never_did(events in events()) {
        let (steady, mut shaken) = (Place::new(PLANS), Place::new(PLANS));
        let callers = TIERS.map(|tier| (steady.caller(tier), shaken.caller(tier)));
        let mut secs = 0;
        for event in events {
            match event {
                Event::Request { caller, cost } => {
                    let (on_steady, on_shaken) = &callers[caller];
                    let one = steady.ask(&costing(request(&on_steady.key), cost), at(secs));
                    let other = shaken.ask(&costing(request(&on_shaken.key), cost), at(secs));
                    prop_assert_eq!(answer(&one), answer(&other));
                    for (place, decision) in [(&steady, one), (&shaken, other)] {
                        if let Some(permit) = decision.permit {
                            place.engine.finish(&permit, Some(200), None, at(secs)).unwrap();
                        }
                    }
                }
                Event::HeldRequest { caller, cost, true_cost } => {
                    let (on_steady, on_shaken) = &callers[caller];
                    for (place, caller) in [(&steady, on_steady), (&shaken, on_shaken)] {
                        let held = CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), cost) };
                        if let Some(permit) = place.ask(&held, at(secs)).permit {
                            place.engine.finish(&permit, Some(200), Some(true_cost), at(secs)).unwrap();
                        }
                    }
                }
                Event::Wait { secs: more } => secs += more,
                Event::Save => drop(shaken.engine.save(at(secs)).unwrap()),
                Event::Crash => shaken = shaken.crash(PLANS),
            }
        }
        for (on_steady, on_shaken) in &callers {
            prop_assert_eq!(limits(&steady, on_steady, secs), limits(&shaken, on_shaken, secs));
        }
        prop_assert_eq!(steady.ledger_total(), shaken.ledger_total());
    }
}
