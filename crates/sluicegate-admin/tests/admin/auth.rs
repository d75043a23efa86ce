//! Who may use the API.

use axum::body::Body;
use http::Request;
use serde_json::json;

use crate::place::{Place, authorized};

fn with(place: &Place, authorization: &str) -> crate::place::Reply {
    let request = Request::builder().uri("/admin/v1/accounts").header("authorization", authorization);
    place.send(request.body(Body::empty()).unwrap())
}

#[test]
fn everything_but_health_ready_and_the_page_needs_the_token() {
    let place = Place::new();
    let status = |path: &str| {
        let reply = place.send(Request::builder().uri(path).body(Body::empty()).unwrap());
        (reply.status, reply.header("www-authenticate").map(str::to_owned))
    };
    for path in ["/health", "/ready", "/"] {
        assert_eq!(status(path), (200, None), "{path}");
    }
    let closed = ["accounts", "accounts/acme", "tiers", "policy", "audit", "openapi.json", "nothing"];
    for path in closed.map(|end| format!("/admin/v1/{end}")).iter().chain(&["/metrics".to_owned()]) {
        assert_eq!(status(path), (401, Some("Bearer".to_owned())), "{path}");
    }
}

#[test]
fn a_missing_or_wrong_token_is_a_problem() {
    let place = Place::new();
    for wrong in ["", "Bearer", "Bearer ", "Bearer wrong", "Basic the-admin-token", "the-admin-token"] {
        with(&place, wrong).problem(401, "unauthorized", None);
    }
    for right in ["Bearer the-admin-token", "bearer the-admin-token", "Bearer  the-admin-token"] {
        with(&place, right).expect(200);
    }
}

#[test]
fn after_twenty_wrong_tokens_in_a_minute_guessing_is_slowed_and_the_right_one_still_works() {
    let place = Place::new();
    for _ in 0..20 {
        with(&place, "Bearer guess").problem(401, "unauthorized", None);
    }
    place.later(10);
    let refused = with(&place, "Bearer guess");
    refused.problem(429, "too_many_attempts", None);
    assert_eq!(refused.header("retry-after"), Some("50"));
    with(&place, "Bearer the-admin-token").expect(200);
    // Whoever sends none guesses nothing.
    with(&place, "").problem(401, "unauthorized", None);
    place.later(60);
    with(&place, "Bearer guess").problem(401, "unauthorized", None);
}

#[test]
fn whoever_holds_the_token_may_say_who_they_are() {
    let place = Place::new();
    let create = |id: &str, actor: &[u8]| {
        let request = authorized("POST", "/admin/v1/accounts").header("content-type", "application/json");
        let body = json!({"id": id, "name": "x", "tier": "free"}).to_string();
        place.send(request.header("x-sluicegate-actor", actor).body(Body::from(body)).unwrap())
    };
    create("one", b"alice").expect(201);
    create("two", "J\u{fc}rgen (ops)".as_bytes()).expect(201);
    create("three", "x".repeat(100).as_bytes()).expect(201);
    for wrong in [b"".as_slice(), b" ", b"\xff\xfe", "x".repeat(101).as_bytes(), b"a\tb"] {
        create("four", wrong).problem(400, "invalid_header", Some("X-Sluicegate-Actor"));
    }
    let audit = place.get("/admin/v1/audit").expect(200);
    let who = |at: usize| audit["items"][at]["who"].as_str().unwrap().to_owned();
    assert_eq!(who(0), format!("admin ({})", "x".repeat(100)));
    assert_eq!([who(1), who(2)], ["admin (J\u{fc}rgen (ops))", "admin (alice)"]);
    assert_eq!(audit["items"].as_array().unwrap().len(), 3);
}
