//! Every answer of a check, whole.

use crate::place::Place;

const PLANS: &str = "
tiers:
  free: {rate: 10, burst: 2, quota: 5, quota_window: calendar_day}
  tight: {rate: 100, burst: 100, quota: 1, quota_window: calendar_day, quota_status: 429}
  metered: {rate: 100, burst: 100, quota: 2, quota_window: calendar_month, on_quota_exceeded: bill_overage}
  internal: {bypass: true}
routes:
  write: {match: 'POST /write', scope: 'data:write'}
  search: {match: 'GET /search/**', cost: 2}
";

#[test]
fn a_rate_admits_refuses_and_admits_again_when_it_said() {
    let mut place = Place::new(PLANS).caller("free");
    assert_eq!(place.check(r#"{"key":"<free>","method":"GET","path":"/a?b=c"}"#).member("/allowed"), true);
    assert_eq!(place.check(r#"{"key":"<free>"}"#).member("/allowed"), true);
    let refused = place.check(r#"{"key":"<free>"}"#);
    assert_eq!(refused.status, 200);
    assert_eq!(refused.member("/error"), "rate_limited");
    place.at(refused.member("/retry_after_ms").as_u64().unwrap());
    assert_eq!(place.check(r#"{"key":"<free>"}"#).member("/allowed"), true);
    place.matches("rate.txt");
}

#[test]
fn a_quota_blocks_with_its_status_or_is_served_on_as_overage() {
    let mut place = Place::new(PLANS).caller("free").caller("tight").caller("metered");
    for millis in [0, 1_000, 2_000] {
        place.at(millis);
        place.check(r#"{"key":"<free>","cost":2}"#);
    }
    assert_eq!(place.check(r#"{"key":"<free>","cost":2}"#).member("/status"), 402);
    place.check(r#"{"key":"<tight>"}"#);
    assert_eq!(place.check(r#"{"key":"<tight>"}"#).member("/status"), 429);
    let overage = place.check(r#"{"key":"<metered>","cost":5}"#);
    assert_eq!(overage.member("/allowed"), true);
    assert_eq!(overage.member("/headers/X-Quota-Overage"), "3");
    place.matches("quota.txt");
}

#[test]
fn callers_are_known_by_key_token_or_not_at_all() {
    let mut place = Place::new(PLANS).caller("free").caller("internal");
    assert_eq!(place.check("{}").member("/headers/WWW-Authenticate"), "Bearer");
    assert_eq!(place.check(r#"{"client":{"ip":"192.0.2.1"}}"#).member("/error"), "missing_key");
    assert_eq!(place.check(r#"{"key":"junk"}"#).member("/error"), "invalid_key");
    assert_eq!(place.check(r#"{"key":"<internal>"}"#).member("/error"), "invalid_key");
    assert_eq!(place.check(r#"{"service_token":"<free>"}"#).member("/error"), "invalid_key");
    assert_eq!(place.check(r#"{"service_token":"<internal>"}"#).member("/allowed"), true);
    place.matches("callers.txt");
}

#[test]
fn a_route_wants_its_scope_and_its_cost() {
    let mut place = Place::new(PLANS).caller("free").scoped_caller("writer", "metered", &["data:write"]);
    let refused = place.check(r#"{"key":"<free>","method":"post","path":"/write"}"#);
    assert_eq!(refused.member("/error"), "insufficient_scope");
    assert_eq!(place.check(r#"{"key":"<writer>","method":"POST","path":"/write"}"#).member("/allowed"), true);
    assert_eq!(place.check(r#"{"key":"<free>","path":"/search/a"}"#).member("/limits/0/remaining"), 0);
    assert_eq!(place.check(r#"{"key":"<free>","cost":3}"#).member("/error"), "cost_exceeds_limit");
    place.matches("routes.txt");
}

#[test]
fn callers_without_a_key_are_told_apart_by_what_is_said_of_them() {
    let mut place = Place::new("{identity: {anonymous: free}, tiers: {free: {rate: 1, burst: 1}}}");
    let one = r#"{"client":{"ip":"192.0.2.1","cookie":"a=b","headers":{"User-Agent":"one"}}}"#;
    let other = r#"{"client":{"ip":"192.0.2.1","headers":{"User-Agent":"other"}}}"#;
    let elsewhere = r#"{"client":{"ip":"2001:db8::1","headers":{"user-agent":"one"}}}"#;
    let neighbour = r#"{"client":{"ip":"2001:db8::2","headers":{"user-agent":"one"}}}"#;
    for (body, allowed) in [
        (one, true),
        (one, false),
        (other, true),
        (elsewhere, true),
        (neighbour, false),
        ("{}", true),
        ("{}", false),
    ] {
        assert_eq!(place.check(body).member("/allowed"), allowed, "{body}");
    }
    place.matches("clients.txt");
}

#[test]
fn keys_in_the_headers_of_a_client_are_not_looked_at() {
    let mut place = Place::new(PLANS).caller("free");
    let body = r#"{"client":{"headers":{"Authorization":"Bearer <free>"}}}"#;
    assert_eq!(place.check(body).member("/error"), "missing_key");
}

#[test]
fn a_peek_tells_and_takes_nothing() {
    let mut place = Place::new(PLANS).caller("free");
    for _ in 0..10 {
        let peek = place.ask("POST", "/v1/check", &[], r#"{"key":"<free>","peek":true,"hold":true}"#);
        assert_eq!(peek.member("/allowed"), true);
        assert_eq!(peek.member("/permit"), serde_json::Value::Null);
    }
    assert_eq!(place.used("free"), 0);
    place.check(r#"{"key":"<free>","cost":2}"#);
    assert_eq!(place.check(r#"{"key":"<free>","peek":true}"#).member("/error"), "rate_limited");
    assert_eq!(place.used("free"), 2);
    place.matches("peek.txt");
}

#[test]
fn a_repeat_is_charged_once_and_a_name_used_for_something_else_is_a_conflict() {
    let mut place = Place::new(PLANS).caller("metered");
    let body = r#"{"key":"<metered>","path":"/a","idempotency_key":"order 7"}"#;
    let first = place.check(body);
    let repeat = place.check(body);
    assert_eq!(first.member("/decision_id"), repeat.member("/decision_id"));
    assert_eq!(place.used("metered"), 1);
    let other = r#"{"key":"<metered>","path":"/b","idempotency_key":"order 7"}"#;
    assert_eq!(place.check(other).member("/error"), "idempotency_conflict");
    assert_eq!(place.used("metered"), 1);
    place.matches("repeats.txt");
}

#[test]
fn a_batch_is_decided_one_by_one_in_order() {
    let mut place = Place::new(PLANS).caller("free").caller("metered");
    let check = r#"{"key":"<free>"}"#;
    let body = format!("{{\"checks\":[{check},{check},{check},{{\"key\":\"<metered>\"}},{{}}]}}");
    let answered = place.post("/v1/check/batch", &body);
    let allowed: Vec<_> = (0..5).map(|index| answered.member(&format!("/results/{index}/allowed"))).collect();
    assert_eq!(allowed, [true, true, false, true, false]);
    assert_eq!(place.post("/v1/check/batch", "{\"checks\":[]}").body, "{\"results\":[]}");
    place.matches("batch.txt");
}

#[test]
fn a_batch_of_a_thousand_is_taken_and_one_more_is_not() {
    let place = Place::new(PLANS).caller("metered");
    let batch = |count: usize| {
        let checks = vec![r#"{"key":"<metered>"}"#; count].join(",");
        place.ask("POST", "/v1/check/batch", &[], &format!("{{\"checks\":[{checks}]}}"))
    };
    assert_eq!(batch(1_001).status, 400);
    assert_eq!(place.used("metered"), 0);
    let answered = batch(1_000);
    assert_eq!(answered.member("/results").as_array().unwrap().len(), 1_000);
    assert_eq!(answered.member("/results/99/allowed"), true);
    assert_eq!(answered.member("/results/100/error"), "rate_limited");
}

#[test]
fn strict_durability_answers_the_same() {
    let policy = "{ledger: {durability: strict}, tiers: {free: {rate: 10, burst: 2, quota: 5}}}";
    let place = Place::new(policy).caller("free");
    let body = r#"{"checks":[{"key":"<free>"},{"key":"<free>"},{"key":"<free>"}]}"#;
    let answered = place.ask("POST", "/v1/check/batch", &[], body);
    let allowed: Vec<_> = (0..3).map(|index| answered.member(&format!("/results/{index}/allowed"))).collect();
    assert_eq!(allowed, [true, true, false]);
}
