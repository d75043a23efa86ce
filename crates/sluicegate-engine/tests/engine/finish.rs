//! The end of a request: true costs, refunds, permits that were kept.

use sluicegate_engine::{CallerRequest, Decision, Finished, Hold, Unsettled};

use crate::place::{Caller, NOW, Place, answer, at, costing, header, policy, request};

const PLANS: &str = "
tiers:
  free: {rate: 100, burst: 100, quota: 10}
  kind: {rate: 100, burst: 100, quota: 10, refund_on: 5xx}
";

fn held(place: &Place, caller: &Caller, cost: u64) -> Decision {
    place.ask(&CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), cost) }, at(1))
}

fn used(place: &Place, caller: &Caller) -> String {
    let peek = CallerRequest { purpose: sluicegate_engine::Purpose::Peek, ..request(&caller.key) };
    header(&place.ask(&peek, at(1)), "X-Quota-Used").unwrap()
}

#[test]
fn the_true_cost_is_settled_whether_it_is_more_or_less() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    for (reserved, true_cost, expected) in [(2, 5, "5"), (4, 1, "6"), (2, 0, "6")] {
        let decision = held(&place, &caller, reserved);
        assert_eq!(answer(&decision), "200", "{:?}", decision.limits);
        let permit = decision.permit.unwrap();
        let finished = place.engine.finish(&permit, Some(200), Some(true_cost), at(1)).unwrap();
        assert_eq!(finished, Finished { reserved, settled: true_cost });
        assert_eq!(used(&place, &caller), expected);
        assert_eq!(place.ledger_total().to_string(), expected);
    }
}

#[test]
fn a_true_cost_above_the_limit_is_charged_all_the_same() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let permit = held(&place, &caller, 1).permit.unwrap();
    place.engine.finish(&permit, None, Some(25), at(1)).unwrap();
    assert_eq!(used(&place, &caller), "25");
    assert_eq!(answer(&place.get(&caller, "/", at(2))), "402 quota_exceeded");
    assert_eq!(place.ledger_total(), 25);
}

#[test]
fn a_failed_call_is_given_back_where_the_plan_says_so() {
    let place = Place::new(PLANS);
    let (kind, free) = (place.caller("kind"), place.caller("free"));
    let permit = place.get(&kind, "/", NOW).permit.unwrap();
    place.engine.finish(&permit, Some(503), None, at(1)).unwrap();
    assert_eq!(used(&place, &kind), "0");
    let permit = held(&place, &free, 1).permit.unwrap();
    place.engine.finish(&permit, Some(503), None, at(1)).unwrap();
    assert_eq!(used(&place, &free), "1");
    assert_eq!(place.ledger_total(), 1);
}

#[test]
fn overage_that_is_given_back_is_no_overage() {
    let place = Place::new(
        "tiers: {metered: {rate: 100, quota: 2, on_quota_exceeded: bill_overage, refund_on: 5xx}}",
    );
    let caller = place.caller("metered");
    let permit = held(&place, &caller, 7).permit.unwrap();
    place.engine.finish(&permit, Some(500), None, at(1)).unwrap();
    let overages: Vec<_> = place.records().iter().map(|record| (record.cost, record.overage)).collect();
    assert_eq!(overages, [(7, 5), (7, 5)]);
}

#[test]
fn an_old_permit_does_not_cut_down_what_was_used_under_a_larger_plan_since() {
    let place = Place::new("tiers: {free: {rate: 1, burst: 20}}");
    let caller = place.caller("free");
    let permit = held(&place, &caller, 1).permit.unwrap();
    place.engine.reload(policy("tiers: {free: {rate: 1, burst: 300}}")).unwrap();
    assert_eq!(answer(&place.ask(&costing(request(&caller.key), 250), at(1))), "200");
    place.engine.finish(&permit, Some(200), Some(5), at(1)).unwrap();
    assert_eq!(answer(&place.ask(&costing(request(&caller.key), 100), at(1))), "429 rate_limited");
}

#[test]
fn who_goes_away_before_the_record_is_on_disk_has_used_nothing_and_holds_no_place() {
    let place = Place::new(
        "{tiers: {free: {rate: 100, burst: 100, quota: 10, concurrency: 1}}, ledger: {durability: strict}}",
    );
    let caller = place.caller("free");
    let decision = place.engine.decide(&request(&caller.key), at(1));
    assert!(decision.is_admitted() && decision.pending.is_some());
    drop(Unsettled::new(&*place.engine, decision));
    assert_eq!(used(&place, &caller), "0");
    let decision = place.engine.decide(&request(&caller.key), at(1));
    let waited = crate::place::wait(Unsettled::new(&*place.engine, decision).settled());
    assert_eq!(answer(&waited), "200");
    assert_eq!((used(&place, &caller).as_str(), place.ledger_total()), ("1", 1));
}
