//! Every answer there is, and that a refusal takes nothing.

use http::HeaderMap;
use sluicegate_core::policy::TierName;
use sluicegate_engine::{CallerRequest, Credential, Purpose};

use crate::place::{NOW, Place, answer, at, costing, header, nobody, request, wait, writer};

const PLANS: &str = "
tiers:
  free: {rate: 10, burst: 2, quota: 5, quota_window: calendar_day}
  tight: {rate: 100, burst: 100, quota: 2, quota_status: 429}
  metered: {rate: 100, burst: 100, quota: 2, on_quota_exceeded: bill_overage}
  single: {rate: 100, burst: 100, concurrency: 1}
  internal: {bypass: true}
routes:
  write: {match: 'POST /write', scope: 'data:write'}
  search: {match: 'GET /search/**', cost: 2}
";

#[test]
fn a_rate_refuses_until_its_retry_after_and_admits_exactly_then() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
    let second = place.get(&caller, "/", NOW);
    assert_eq!(header(&second, "RateLimit-Remaining").unwrap(), "0");
    let refused = place.get(&caller, "/", NOW);
    assert_eq!(answer(&refused), "429 rate_limited");
    assert_eq!(header(&refused, "Retry-After").unwrap(), "1");
    let sluicegate_engine::Answer::Denied(denial) = &refused.answer else { panic!("admitted") };
    assert_eq!(denial.retry_after.as_millis_ceil(), 100);
    assert_eq!(denial.limit.as_ref().unwrap().as_str(), "rate");
    let then = NOW.plus(denial.retry_after);
    assert_eq!(answer(&place.get(&caller, "/", then)), "200");
    assert_eq!(place.ledger_total(), 3);
}

#[test]
fn a_spent_quota_is_402_and_its_refusals_take_nothing_from_the_rate() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    for second in 0..5 {
        assert_eq!(answer(&place.get(&caller, "/", at(second))), "200");
    }
    for _ in 0..10 {
        let refused = place.get(&caller, "/", at(60));
        assert_eq!(answer(&refused), "402 quota_exceeded");
        assert_eq!(header(&refused, "X-Quota-Remaining").unwrap(), "0");
        assert_eq!(header(&refused, "Retry-After"), None);
        assert_eq!(header(&refused, "RateLimit-Remaining").unwrap(), "2");
    }
    assert_eq!(answer(&place.get(&caller, "/", at(86_400))), "200");
    assert_eq!(place.ledger_total(), 6);
}

#[test]
fn the_status_of_a_spent_quota_is_the_policys_and_429_says_when_to_come_back() {
    let place = Place::new(PLANS);
    let caller = place.caller("tight");
    for _ in 0..2 {
        assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
    }
    let refused = place.get(&caller, "/", NOW);
    assert_eq!(answer(&refused), "429 quota_exceeded");
    assert!(header(&refused, "Retry-After").is_some());
}

#[test]
fn overage_is_served_counted_and_recorded_apart() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    let used = place.ask(&costing(request(&caller.key), 5), NOW);
    assert_eq!(answer(&used), "200");
    assert_eq!(header(&used, "X-Quota-Overage").unwrap(), "3");
    assert_eq!(place.records()[0].overage, 3);
    assert_eq!(place.ledger_total(), 5);
}

#[test]
fn a_slot_is_held_until_the_request_is_finished() {
    let place = Place::new(PLANS);
    let caller = place.caller("single");
    let first = place.get(&caller, "/", NOW);
    assert_eq!(answer(&first), "200");
    assert_eq!(answer(&place.get(&caller, "/", at(1))), "429 concurrency_limited");
    let permit = first.permit.unwrap();
    place.engine.finish(&permit, Some(200), None, at(2)).unwrap();
    assert_eq!(answer(&place.get(&caller, "/", at(2))), "200");
    assert_eq!(place.ledger_total(), 2);
}

#[test]
fn a_slot_of_a_long_request_is_renewed_and_one_that_nobody_finishes_ends_by_itself() {
    let place = Place::new(PLANS);
    let caller = place.caller("single");
    let permit = place.get(&caller, "/", NOW).permit.unwrap();
    place.engine.enter(&permit);
    for second in (5..200).step_by(5) {
        place.engine.renew(at(second));
        assert_eq!(answer(&place.get(&caller, "/", at(second))), "429 concurrency_limited", "{second}");
    }
    place.engine.leave(&permit);
    // A third of the lease after another; the last was after three minutes.
    assert_eq!(answer(&place.get(&caller, "/", at(239))), "429 concurrency_limited");
    assert_eq!(answer(&place.get(&caller, "/", at(240))), "200");
}

#[test]
fn callers_are_known_by_their_keys_and_every_wrong_key_gets_the_same_answer() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let headers = HeaderMap::new();
    assert_eq!(answer(&place.ask(&nobody(&headers), NOW)), "401 missing_key");
    let ambiguous = CallerRequest { credential: Credential::Ambiguous, ..request("") };
    assert_eq!(answer(&place.ask(&ambiguous, NOW)), "400 ambiguous_key");
    let mut wrong = caller.key.clone().into_bytes();
    wrong[30] = if wrong[30] == b'a' { b'b' } else { b'a' };
    for key in ["", "junk", &String::from_utf8(wrong).unwrap()] {
        let refused = place.ask(&request(key), NOW);
        assert_eq!(answer(&refused), "403 invalid_key");
        assert!(refused.limits.is_empty() && refused.headers().iter().next().is_none());
    }
    wait(place.engine.directory().revoke_key(caller.id, &writer())).unwrap();
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "403 invalid_key");
    assert_eq!(place.ledger_total(), 0);
}

#[test]
fn a_route_costs_what_it_says_and_wants_the_scope_it_names() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    assert_eq!(answer(&place.get(&caller, "/search/a/b", NOW)), "200");
    assert_eq!(place.ledger_total(), 2);
    let write = CallerRequest { method: "POST", path: "/write", ..request(&caller.key) };
    let refused = place.ask(&write, NOW);
    assert_eq!(answer(&refused), "403 insufficient_scope");
    assert_eq!(header(&refused, "X-Quota-Used").unwrap(), "2");
    assert_eq!(header(&refused, "Retry-After"), None);
    let writer = place.key("acct-free", &["data:write"]);
    assert_eq!(
        answer(&place.ask(&CallerRequest { method: "POST", path: "/write", ..request(&writer.key) }, NOW)),
        "200"
    );
    assert_eq!(place.ledger_total(), 3);
}

#[test]
fn a_cost_that_never_fits_is_a_mistake_and_not_a_wait() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let refused = place.ask(&costing(request(&caller.key), 3), NOW);
    assert_eq!(answer(&refused), "400 cost_exceeds_limit");
    assert_eq!(header(&refused, "Retry-After"), None);
}

#[test]
fn a_bypass_is_entered_by_a_service_token_only() {
    let place = Place::new(PLANS);
    let service = place.caller("internal");
    let customer = place.caller("free");
    let token = |text| CallerRequest { credential: Credential::ServiceToken(text), ..request("") };
    for _ in 0..20 {
        assert_eq!(answer(&place.ask(&token(&service.key), NOW)), "200");
    }
    assert_eq!(answer(&place.ask(&token(&customer.key), NOW)), "403 invalid_key");
    assert_eq!(answer(&place.get(&service, "/", NOW)), "403 invalid_key");
    assert_eq!(place.ledger_total(), 20);
}

#[test]
fn a_peek_charges_and_records_nothing() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    for _ in 0..10 {
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(&caller.key) };
        assert_eq!(answer(&place.ask(&peek, NOW)), "200");
    }
    assert_eq!(place.ledger_total(), 0);
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
}

#[test]
fn an_unknown_tier_is_the_smallest_and_never_the_largest() {
    let place = Place::new(PLANS);
    let caller = place.caller("gone");
    let decision = place.get(&caller, "/", NOW);
    assert_eq!(decision.tier(), Some("free"));
    assert_eq!(place.engine.counters().unknown_tier.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[test]
fn callers_without_a_key_are_served_where_the_policy_has_a_tier_for_them() {
    let place = Place::new("{identity: {anonymous: free}, tiers: {free: {rate: 1, burst: 1}}}");
    let (mut one, mut other) = (HeaderMap::new(), HeaderMap::new());
    one.insert("user-agent", "a".parse().unwrap());
    other.insert("user-agent", "b".parse().unwrap());
    assert_eq!(answer(&place.ask(&nobody(&one), NOW)), "200");
    assert_eq!(answer(&place.ask(&nobody(&one), NOW)), "429 rate_limited");
    assert_eq!(answer(&place.ask(&nobody(&other), NOW)), "200");
}

#[test]
fn a_change_of_tier_applies_to_the_next_request_and_keeps_what_was_used() {
    let place = Place::new(PLANS);
    let caller = place.caller("tight");
    for _ in 0..2 {
        assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
    }
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "429 quota_exceeded");
    let directory = place.engine.directory();
    wait(directory.set_tier("acct-tight", TierName::new("metered").unwrap(), &writer())).unwrap();
    let served = place.get(&caller, "/", NOW);
    assert_eq!(answer(&served), "200");
    assert_eq!(header(&served, "X-Quota-Used").unwrap(), "3");
}

#[test]
fn sub_keys_have_meters_of_their_own_where_the_pool_is_the_key() {
    let place = Place::new("tiers: {vendor: {rate: 100, burst: 100, quota: 2, quota_pool: key}}");
    let first = place.caller("vendor");
    let second = place.key("acct-vendor", &[]);
    for caller in [&first, &second] {
        for _ in 0..2 {
            assert_eq!(answer(&place.get(caller, "/", NOW)), "200");
        }
        assert_eq!(answer(&place.get(caller, "/", NOW)), "402 quota_exceeded");
    }
    let directory = place.engine.directory();
    let account = wait(directory.account("acct-vendor")).unwrap().unwrap();
    let numbers = [first.id, second.id].map(|id| wait(directory.key(id, NOW)).unwrap().unwrap().number);
    let limits = wait(place.engine.limits_of(&account, &numbers, NOW)).unwrap();
    let quotas: Vec<_> = limits.iter().filter(|limit| limit.now.name.as_str() == "quota").collect();
    assert_eq!(quotas.len(), 2);
    assert!(quotas.iter().all(|quota| quota.now.used == 2 && quota.key.is_some()));
}

#[test]
fn four_hundred_at_once_against_a_quota_of_a_hundred_admit_a_hundred() {
    let place = Place::new("tiers: {free: {rate: 1_000_000, burst: 1_000_000, quota: 100}}");
    let caller = place.caller("free");
    let admitted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..40)
            .map(|_| {
                scope.spawn(|| {
                    (0..10).filter(|_| place.engine.decide(&request(&caller.key), NOW).is_admitted()).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 100);
    assert_eq!(place.ledger_total(), 100);
}
