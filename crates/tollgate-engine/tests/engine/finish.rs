//! The end of a request: true costs, refunds, permits that were kept.

use tollgate_engine::{CallerRequest, Decision, FinishError, Finished, Hold};

use crate::place::{Caller, NOW, Place, answer, at, costing, header, request};

const PLANS: &str = "
tiers:
  free: {rate: 100, burst: 100, quota: 10}
  kind: {rate: 100, burst: 100, quota: 10, refund_on: 5xx}
";

fn held(place: &Place, caller: &Caller, cost: u64) -> Decision {
    place.ask(&CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), cost) }, at(1))
}

fn used(place: &Place, caller: &Caller) -> String {
    let peek = CallerRequest { purpose: tollgate_engine::Purpose::Peek, ..request(&caller.key) };
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
fn a_permit_is_finished_once_and_ends_by_itself() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let keep = |decision: Decision| place.engine.keep(decision.permit.unwrap(), NOW);
    let id = keep(held(&place, &caller, 2));
    assert_eq!(tollgate_engine::PermitId::parse(&id.to_string()), Some(id));
    assert!(place.engine.finish_kept(id, Some(200), Some(1), at(60)).is_ok());
    assert_eq!(place.engine.finish_kept(id, Some(200), Some(1), at(60)), Err(FinishError::Unknown));
    let id = keep(held(&place, &caller, 2));
    assert_eq!(place.engine.finish_kept(id, Some(200), Some(0), at(61)), Err(FinishError::Unknown));
    assert_eq!(place.ledger_total(), 3);
}
