//! Requests that are finished: true costs, refunds, places in flight.

use crate::place::{Answered, Place};

const PLANS: &str = "
tiers:
  free: {rate: 100, burst: 100, quota: 20, quota_window: calendar_day}
  kind: {rate: 100, burst: 100, quota: 20, quota_window: calendar_day, refund_on: 5xx}
  single: {rate: 100, burst: 100, concurrency: 1}
";

fn permit(checked: &Answered) -> String {
    checked.member("/permit").as_str().unwrap().to_owned()
}

fn held(place: &mut Place, name: &str) -> String {
    permit(&place.check(&format!("{{\"key\":\"<{name}>\",\"cost\":4,\"hold\":true}}")))
}

fn finish(place: &mut Place, permit: &str, rest: &str) -> Answered {
    place.post("/v1/finish", &format!("{{\"permit\":\"{permit}\"{rest}}}"))
}

#[test]
fn the_true_cost_is_settled_whether_it_is_more_or_less() {
    let mut place = Place::new(PLANS).caller("free");
    for (rest, used) in [(",\"cost\":7", 7), (",\"status\":200,\"cost\":1", 8), (",\"cost\":0", 8), ("", 12)]
    {
        let permit = held(&mut place, "free");
        assert_eq!(finish(&mut place, &permit, rest).status, 200);
        assert_eq!(place.used("free"), used, "{rest}");
    }
    place.matches("finish.txt");
}

#[test]
fn a_failed_call_is_given_back_where_the_tier_says_so() {
    let mut place = Place::new(PLANS).caller("kind").caller("free");
    let permit = held(&mut place, "kind");
    finish(&mut place, &permit, ",\"status\":502");
    assert_eq!(place.used("kind"), 0);
    let permit = held(&mut place, "free");
    finish(&mut place, &permit, ",\"status\":502");
    assert_eq!(place.used("free"), 4);
    // A permit that nobody asked for and no limit needs is not given, refund or not.
    let unasked = place.check(r#"{"key":"<kind>"}"#);
    assert_eq!(unasked.member("/permit"), serde_json::Value::Null);
    place.matches("refund.txt");
}

#[test]
fn a_permit_is_finished_once_and_ends_by_itself() {
    let mut place = Place::new(PLANS).caller("free");
    let first = held(&mut place, "free");
    let second = held(&mut place, "free");
    assert_eq!(finish(&mut place, &first, "").status, 200);
    assert_eq!(finish(&mut place, &first, ",\"cost\":0").member("/settled"), 4);
    // A day after its lease has ended it is too late.
    place.at(60_000 + 86_400_001);
    let ended = finish(&mut place, &second, ",\"cost\":0");
    assert_eq!((ended.status, ended.member("/error")), (410, "permit_expired".into()));
    for junk in ["", "permit_", "dec_0000000000000000000000000", "permit_zzzzzzzzzzzzzzzzzzzzzzzzzz"] {
        assert_eq!(finish(&mut place, junk, "").status, 404, "{junk}");
    }
    place.matches("unknown_permit.txt");
}

#[test]
fn a_place_in_flight_is_held_until_the_permit_is_finished_or_has_ended() {
    let mut place = Place::new(PLANS).caller("single");
    let check = r#"{"key":"<single>"}"#;
    let first = permit(&place.check(check));
    let refused = place.check(check);
    assert_eq!(refused.member("/error"), "concurrency_limited");
    assert_eq!(finish(&mut place, &first, ",\"status\":200").status, 200);
    assert_eq!(place.check(check).member("/allowed"), true);
    place.at(59_999);
    assert_eq!(place.check(check).member("/allowed"), false);
    place.at(60_000);
    assert_eq!(place.check(check).member("/allowed"), true);
    place.matches("concurrency.txt");
}

#[test]
fn the_repeat_of_a_request_in_flight_has_its_permit_and_is_settled_once() {
    let mut place = Place::new(PLANS).caller("free").caller("single");
    let body = r#"{"key":"<free>","cost":4,"hold":true,"idempotency_key":"a"}"#;
    let first = permit(&place.check(body));
    let repeat = permit(&place.check(body));
    assert_eq!(
        finish(&mut place, &first, ",\"cost\":6").body,
        format!("{{\"permit\":\"{first}\",\"reserved\":4,\"settled\":6}}")
    );
    assert_eq!(place.used("free"), 6);
    assert_eq!(finish(&mut place, &repeat, ",\"cost\":9").member("/settled"), 6);
    assert_eq!(place.used("free"), 6);
}

#[test]
fn the_repeat_of_a_finished_request_is_not_settled_again() {
    let mut place = Place::new(PLANS).caller("free");
    let body = r#"{"key":"<free>","cost":4,"hold":true,"idempotency_key":"a"}"#;
    let first = permit(&place.check(body));
    finish(&mut place, &first, ",\"cost\":6");
    let repeat = permit(&place.check(body));
    assert_eq!(finish(&mut place, &repeat, ",\"cost\":6").status, 200);
    assert_eq!(place.used("free"), 6);
}

#[test]
fn a_permit_is_held_for_as_long_as_the_service_says_and_renewed() {
    let mut place = Place::new(PLANS).caller("single");
    let check = r#"{"key":"<single>"}"#;
    let first = place.check(r#"{"key":"<single>","hold_for":"10m"}"#);
    assert_eq!(first.member("/permit_expires_ms"), 600_000);
    place.at(599_999);
    let renew = |permit: &str| format!("{{\"permit\":\"{permit}\",\"hold_for\":\"90s\"}}");
    let renewed = place.post("/v1/renew", &renew(&permit(&first)));
    assert_eq!(renewed.member("/permit_expires_ms"), 90_000);
    place.at(689_998);
    assert_eq!(place.check(check).member("/error"), "concurrency_limited");
    assert_eq!(finish(&mut place, &permit(&renewed), ",\"status\":200").status, 200);
    assert_eq!(place.post("/v1/renew", &renew(&permit(&renewed))).member("/error"), "permit_finished");
    let last = place.check(check);
    assert_eq!(last.member("/allowed"), true);
    place.at(689_998 + 60_000);
    assert_eq!(place.post("/v1/renew", &renew(&permit(&last))).member("/error"), "permit_expired");
    assert_eq!(place.post("/v1/renew", &renew("junk")).member("/error"), "unknown_permit");
    for body in [r#"{"permit":"a"}"#, r#"{"hold_for":"1m"}"#, r#"{"permit":"a","hold_for":"25h"}"#] {
        assert_eq!(place.post("/v1/renew", body).status, 400, "{body}");
    }
    place.matches("renew.txt");
}
