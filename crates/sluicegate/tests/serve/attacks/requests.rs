//! Requests that mean to cost nothing, or to look like others.

use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use super::{THREE, admitted};
use crate::bed::Bed;

#[test]
fn attack_04_variants_of_a_path_are_refused_or_counted_as_what_they_mean() {
    let bed = Bed::start(
        "
routes: {login: {match: \"POST /login\"}}
tiers: {pro: {limits: {logins: {algorithm: fixed_window, limit: 3/day, routes: [login]}}}}
",
    );
    let key = bed.customer("acme", "pro");
    let post = |path: &str| bed.gateway(&Asked::new("POST", path).key(&key).body("")).status;
    assert_eq!([(); 4].map(|()| post("/login")), [200, 200, 200, 429]);
    // What another reader of the path may take for `/login` is no way around it.
    for path in
        ["//login", "/./login", "/x/../login", "/%2e/login", "/login%2f", "/log%69n", "/\\login", "/login%00"]
    {
        assert!(matches!(post(path), 400 | 429), "{path}");
    }
    // It means something else to every reader, and no upstream takes it for `/login`.
    assert_eq!(post("/login.json"), 200);
    assert_eq!(post("/LOGIN"), 429, "many frameworks match paths without regard to case");
    assert!(matches!(post("/login/"), 400 | 429), "a slash at the end");
    assert!(matches!(post("/login;x=1"), 400 | 429), "a parameter of a segment");
}

#[test]
fn attack_17_no_clock_but_our_own_counts() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    let dated = |year: u16| {
        let date = format!("Tue, 01 Jan {year} 00:00:00 GMT");
        Asked::get("/").key(&key).header("Date", &date).header("X-Request-Start", &format!("t={year}"))
    };
    assert_eq!(admitted(&bed, (2020..2040).map(dated)), 3);
}

#[test]
fn attack_22_no_method_is_free() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    // Not HEAD, whose answer has no body that this caller could wait for; the decision API knows it too.
    let check = |method: &str| bed.check(&json!({"key": key, "method": method, "path": "/"})).json();
    let answers = ["OPTIONS", "HEAD", "GET", "OPTIONS"].map(|method| check(method)["allowed"].clone());
    assert_eq!(answers, [true, true, true, false].map(serde_json::Value::from));
    assert_eq!(bed.gateway(&Asked::new("OPTIONS", "/").key(&key)).status, 429);
}

#[test]
fn attack_23_a_batch_costs_what_its_parts_cost() {
    let bed = Bed::start(
        "
routes: {search: {match: \"GET /search\", cost: 5}}
tiers: {pro: {limits: {daily: {algorithm: fixed_window, limit: 12/day}}}}
",
    );
    let key = bed.customer("acme", "pro");
    let one = json!({"key": key, "method": "GET", "path": "/search"});
    let batch = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": [one, one, one, one]}));
    let answer = sluicegate_testkit::http::Caller::new(bed.server.decision()).send(&batch).unwrap().json();
    let list = answer["results"].as_array().or(answer["decisions"].as_array()).unwrap().clone();
    assert_eq!(list.iter().filter(|decision| decision["allowed"] == true).count(), 2, "{answer}");
    assert_eq!(bed.used("acme", "daily"), 10);
    // What turns out to have cost more is charged when it is known.
    let held = bed.check(&json!({"key": key, "cost": 1, "hold": true})).json();
    let finish = json!({"permit": held["permit"], "status": 200, "cost": 40});
    let finish = Asked::new("POST", "/v1/finish").json(&finish);
    sluicegate_testkit::http::Caller::new(bed.server.decision()).send(&finish).unwrap();
    assert_eq!(bed.used("acme", "daily"), 50);
}

#[test]
fn attack_24_an_edit_of_the_policy_hands_out_nothing_anew() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    assert_eq!(admitted(&bed, (0..4).map(|_| Asked::get("/").key(&key))), 3);
    let edited = THREE.replace(
        "pro: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}",
        "pro: {limits: {daily: {algorithm: fixed_window, limit: 4/day}}}",
    );
    std::fs::write(bed.policy_path(), edited).unwrap();
    wait::until("the policy is reloaded", || {
        let limits = bed.get("/admin/v1/accounts/acme/limits");
        (limits["items"][0]["limit"] == 4).then_some(())
    });
    assert_eq!(admitted(&bed, (0..4).map(|_| Asked::get("/").key(&key))), 1);
}

#[test]
fn attack_25_one_name_for_any_number_of_requests_gets_no_further_than_the_rate() {
    let bed = Bed::start(
        "tiers: {pro: {rate: 1/hour, burst: 5, quota: 100}}\nroutes: {all: {match: /**, repeats: free}}",
    );
    let key = bed.customer("acme", "pro");
    let named = || Asked::new("POST", "/").key(&key).header("Idempotency-Key", "the same").body("{}");
    assert_eq!(admitted(&bed, (0..20).map(|_| named())), 5);
    let check = json!({"key": key, "method": "POST", "idempotency_key": "the same"});
    assert_eq!(bed.check(&check).json()["error"], "rate_limited");
    assert_eq!(bed.used("acme", "quota"), 1);
    // What only reads gets something new each time, so that its name says nothing.
    let other = bed.customer("other", "pro");
    let read = || Asked::get("/").key(&other).header("Idempotency-Key", "the same");
    assert_eq!(admitted(&bed, (0..3).map(|_| read())), 3);
    assert_eq!(bed.used("other", "quota"), 3);
}
