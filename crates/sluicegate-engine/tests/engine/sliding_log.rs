//! A quota that is a sliding log: exact in any window, to the nanosecond, whatever happens in between.

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::CallerRequest;

use crate::place::{Caller, NOW, Place, answer, costing, header, request};

const PLANS: &str = "
tiers:
  exact: {quota: 3, quota_window: \"sliding:1h\", quota_algorithm: sliding_log, refund_on: 5xx}
";

const HOUR: u64 = 3_600_000_000_000;
const REFUSED: &str = "402 quota_exceeded";

fn after(nanos: u64) -> Timestamp {
    NOW.plus(Nanos(nanos))
}

fn ask(place: &Place, caller: &Caller, cost: u64, nanos: u64) -> String {
    answer(&place.ask(&costing(request(&caller.key), cost), after(nanos)))
}

#[test]
fn the_quota_holds_in_any_hour_to_the_nanosecond() {
    let place = Place::new(PLANS);
    let caller = place.caller("exact");
    for nanos in [0, 1, 1_000] {
        assert_eq!(ask(&place, &caller, 1, nanos), "200");
    }
    let refused = place.ask(&request(&caller.key), after(HOUR - 1));
    assert_eq!(answer(&refused), REFUSED);
    assert_eq!(header(&refused, "X-Quota-Limit").as_deref(), Some("3"));
    assert_eq!(header(&refused, "X-Quota-Used").as_deref(), Some("3"));
    assert_eq!(header(&refused, "X-Quota-Remaining").as_deref(), Some("0"));
    assert_eq!(ask(&place, &caller, 1, HOUR), "200", "the first is an hour old");
    assert_eq!(ask(&place, &caller, 1, HOUR), REFUSED, "the second is not");
    assert_eq!(ask(&place, &caller, 1, HOUR + 1), "200");
    assert_eq!(ask(&place, &caller, 2, HOUR + 1_000), REFUSED, "all of it or nothing");
    assert_eq!(ask(&place, &caller, 1, HOUR + 1_000), "200");
    assert_eq!(ask(&place, &caller, 4, 9 * HOUR), "400 cost_exceeds_limit");
}

#[test]
fn it_survives_a_restart_and_a_crash_to_the_nanosecond() {
    let mut place = Place::new(PLANS);
    let caller = place.caller("exact");
    assert_eq!(ask(&place, &caller, 1, 7), "200");
    place = place.restart(PLANS);
    assert_eq!(ask(&place, &caller, 2, 1_009), "200");
    place.engine.spool().flush().unwrap();
    place = place.crash(PLANS);
    assert_eq!(ask(&place, &caller, 1, HOUR + 6), REFUSED);
    assert_eq!(ask(&place, &caller, 1, HOUR + 7), "200");
    place = place.restart(PLANS);
    assert_eq!(ask(&place, &caller, 1, HOUR + 1_008), REFUSED);
    assert_eq!(ask(&place, &caller, 2, HOUR + 1_009), "200");
    assert_eq!(place.ledger_total(), 6);
}

#[test]
fn a_refund_gives_back_exactly_what_was_charged_then() {
    let place = Place::new(PLANS);
    let caller = place.caller("exact");
    let permits: Vec<_> = [0, 10, 20]
        .map(|nanos| place.ask(&request(&caller.key), after(nanos)).permit.unwrap())
        .into_iter()
        .collect();
    assert_eq!(ask(&place, &caller, 1, 30), REFUSED);
    place.engine.finish(&permits[1], Some(500), None, after(40)).unwrap();
    assert_eq!(ask(&place, &caller, 1, 50), "200");
    // What is left counts from 0, 20 and 50.
    assert_eq!(ask(&place, &caller, 1, HOUR - 1), REFUSED);
    assert_eq!(ask(&place, &caller, 1, HOUR), "200");
    assert_eq!(ask(&place, &caller, 1, HOUR + 19), REFUSED);
    assert_eq!(ask(&place, &caller, 1, HOUR + 20), "200");
}

#[test]
fn a_look_at_it_charges_nothing() {
    let place = Place::new(PLANS);
    let caller = place.caller("exact");
    let peek = CallerRequest { purpose: sluicegate_engine::Purpose::Peek, ..request(&caller.key) };
    for nanos in 0..10 {
        assert_eq!(answer(&place.ask(&peek, after(nanos))), "200");
    }
    assert_eq!(ask(&place, &caller, 3, 10), "200");
}
