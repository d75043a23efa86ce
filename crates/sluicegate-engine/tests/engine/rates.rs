//! What the end of a request does to the limits that protect the service: a failure returns quota and no rate, a lower
//! true cost returns what is still owed, a higher one is owed in full.

use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Answer, CallerRequest, Decision, Hold, Purpose};

use crate::place::{Caller, NOW, Place, answer, at, costing, nobody, policy, request};

fn held(place: &Place, caller: &Caller, cost: u64, now: Timestamp) -> Decision {
    place.ask(&CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), cost) }, now)
}

/// What limits say that a caller has used, by their names.
fn used(place: &Place, caller: &Caller, limit: &str, now: Timestamp) -> u64 {
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(&caller.key) };
    let decision = place.ask(&peek, now);
    decision.limits.iter().find(|now| now.name.as_str() == limit).unwrap().used
}

/// After how many seconds a denial says to come back, rounded up.
fn retry_after(decision: &Decision) -> u64 {
    match &decision.answer {
        Answer::Denied(denial) => denial.retry_after.as_secs_ceil(),
        Answer::Admitted => panic!("it was admitted"),
    }
}

#[test]
fn a_failing_upstream_sees_no_more_than_the_rate_and_costs_no_quota() {
    const PLANS: &str = "tiers: {kind: {rate: 2, burst: 4, quota: 1000, refund_on: 5xx}}";
    let place = Place::new(PLANS);
    let caller = place.caller("kind");
    let mut reached = 0;
    for request in 0..300 {
        let now = at(request / 30);
        if let Some(permit) = place.get(&caller, "/", now).permit {
            reached += 1;
            place.engine.finish(&permit, Some(503), None, now).unwrap();
        }
    }
    // A burst of four, and two a second for nine seconds.
    assert_eq!(reached, 4 + 2 * 9);
    assert_eq!((used(&place, &caller, "quota", at(9)), used(&place, &caller, "rate", at(9))), (0, 4));
    let place = place.crash(PLANS);
    assert_eq!((used(&place, &caller, "quota", at(9)), used(&place, &caller, "rate", at(9))), (0, 4));
}

#[test]
fn a_hanging_upstream_does_not_raise_the_rate() {
    let place = Place::new("tiers: {kind: {rate: 2, burst: 4, quota: 1000, refund_on: 5xx}}");
    let caller = place.caller("kind");
    for round in 0..4 {
        // Time enough for the bucket to fill; then all that pass hang, and those of the round before time out.
        let now = at(round * 10);
        let permits: Vec<_> = (0..20).filter_map(|_| place.get(&caller, "/", now).permit).collect();
        assert_eq!(permits.len(), 4, "in round {round}");
        for permit in permits {
            place.engine.finish(&permit, Some(504), None, at(round * 10 + 9)).unwrap();
        }
    }
}

#[test]
fn a_lower_true_cost_returns_no_more_than_is_still_owed_of_it() {
    const PLANS: &str = "tiers: {free: {rate: 1, burst: 10, quota: 1000}}";
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let old = held(&place, &caller, 5, NOW).permit.unwrap();
    // By now the bucket has filled up again, and is emptied by others.
    assert!(held(&place, &caller, 10, at(5)).is_admitted());
    place.engine.finish(&old, Some(200), Some(0), at(5)).unwrap();
    assert_eq!((used(&place, &caller, "rate", at(5)), used(&place, &caller, "quota", at(5))), (10, 10));
    // Of eight that were charged four seconds ago, four are still owed: no more is returned, though six were too many.
    let recent = held(&place, &caller, 8, at(15)).permit.unwrap();
    assert_eq!(used(&place, &caller, "rate", at(19)), 4);
    assert!(held(&place, &caller, 6, at(19)).is_admitted());
    place.engine.finish(&recent, Some(200), Some(2), at(19)).unwrap();
    assert_eq!((used(&place, &caller, "rate", at(19)), used(&place, &caller, "quota", at(19))), (6, 18));
    let place = place.crash(PLANS);
    assert_eq!((used(&place, &caller, "rate", at(19)), used(&place, &caller, "quota", at(19))), (6, 18));
}

#[test]
fn a_higher_true_cost_is_owed_in_full_and_nothing_passes_until_it_is_paid() {
    const PLANS: &str = "tiers: {free: {rate: 10, burst: 20}}";
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let permit = held(&place, &caller, 1, NOW).permit.unwrap();
    place.engine.finish(&permit, Some(200), Some(10_000), NOW).unwrap();
    for place in [&place, &place.crash(PLANS)] {
        // 10,000 units at 10 a second, of which the last 19 need not be paid for one to pass.
        assert_eq!(retry_after(&place.get(&caller, "/", NOW)), 999);
        assert_eq!(answer(&place.get(&caller, "/", at(998))), "429 rate_limited");
        assert_eq!(used(place, &caller, "rate", at(999)), 10);
        assert_eq!(answer(&place.get(&caller, "/", at(999))), "200");
    }
    let place = place.restart(PLANS);
    assert_eq!(used(&place, &caller, "rate", at(999)), 11, "a checkpoint keeps it as well");
}

#[test]
fn ending_a_request_leaves_a_limit_alone_that_has_another_algorithm_since() {
    let plans = |algorithm: &str| {
        format!("tiers: {{free: {{limits: {{hourly: {{algorithm: {algorithm}, limit: 10/hour}}}}}}}}")
    };
    for (then, now) in
        [("fixed_window", "sliding_log"), ("sliding_log", "token_bucket"), ("token_bucket", "fixed_window")]
    {
        let place = Place::new(&plans(then));
        let caller = place.caller("free");
        let permit = held(&place, &caller, 6, NOW).permit.unwrap();
        assert!(held(&place, &caller, 4, NOW).is_admitted());
        place.engine.reload(policy(&plans(now))).unwrap();
        assert_eq!(used(&place, &caller, "hourly", NOW), 10, "carried over from {then} to {now}");
        place.engine.finish(&permit, Some(200), Some(0), NOW).unwrap();
        assert_eq!(used(&place, &caller, "hourly", NOW), 10, "{then} to {now}");
        assert_eq!(answer(&place.get(&caller, "/", NOW)), "429 rate_limited");
    }
}

#[test]
fn ending_a_request_of_a_stranger_refills_no_bucket_that_it_shares() {
    for limit in ["{algorithm: fixed_window, limit: 3/day}", "{algorithm: token_bucket, limit: 3/day}"] {
        let plans =
            format!("{{identity: {{anonymous: free}}, tiers: {{free: {{limits: {{daily: {limit}}}}}}}}}");
        // A house without rooms: every caller without a key is one of a crowd.
        let place = Place::with_clients(&plans, 0);
        let headers = http::HeaderMap::new();
        let ask = CallerRequest { hold: Hold::Yes, ..nobody(&headers) };
        let permits: Vec<_> = (0..10_000).map_while(|_| place.ask(&ask, NOW).permit).collect();
        assert!(permits.len() >= 3, "{}", permits.len());
        for permit in permits {
            place.engine.finish(&permit, Some(200), Some(0), NOW).unwrap();
        }
        assert_eq!(answer(&place.ask(&ask, NOW)), "429 rate_limited", "{limit}");
    }
}
