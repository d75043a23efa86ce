//! What is refused before anything is decided, and how it is said.

use std::fmt::Write as _;

use crate::place::Place;

const PLANS: &str = "tiers: {free: {rate: 100, burst: 100, quota: 10}}";

const CHECKS: [&str; 50] = [
    "",
    "{",
    "{\"key\":\"a\",}",
    "{\"key\":\"a\"} x",
    "{\"key\":\"a\"\n\"path\":\"/\"}",
    "{'key':'a'}",
    "{\"key\":\"\\ud800\"}",
    "[]",
    "null",
    "5",
    "\"text\"",
    "{\"kye\":\"a\"}",
    "{\"idempotencyKey\":\"a\"}",
    "{\"url\":\"/\"}",
    "{\"key\":\"a\",\"key\":\"a\"}",
    "{\"key\":5}",
    "{\"key\":[\"a\"]}",
    "{\"key\":\"a\",\"service_token\":\"b\"}",
    "{\"client\":{\"headers\":{\"a\":\"b\"}},\"key\":\"a\"}",
    "{\"service_token\":\"a\",\"client\":{\"cookie\":\"b\"}}",
    "{\"client\":\"192.0.2.1\"}",
    "{\"client\":[]}",
    "{\"client\":{\"ip\":\"192.0.2.1:80\"}}",
    "{\"client\":{\"ip\":\"localhost\"}}",
    "{\"client\":{\"ip\":7}}",
    "{\"client\":{\"address\":\"192.0.2.1\"}}",
    "{\"client\":{\"headers\":{\"User Agent\":\"a\"}}}",
    "{\"client\":{\"headers\":{\"User-Agent\":\"a\",\"user-agent\":\"b\"}}}",
    "{\"client\":{\"headers\":{\"User-Agent\":[\"a\"]}}}",
    "{\"client\":{\"headers\":{\"User-Agent\":\"a\\r\\nb\"}}}",
    "{\"client\":{\"cookie\":\"a=b\",\"headers\":{\"Cookie\":\"a=c\"}}}",
    "{\"method\":\"\"}",
    "{\"method\":\"GET /\"}",
    "{\"method\":true}",
    "{\"path\":\"a\"}",
    "{\"path\":\"/a/../b\"}",
    "{\"path\":\"/a//b\"}",
    "{\"path\":\"/a%2Fb\"}",
    "{\"path\":\"/\\u00e9\"}",
    "{\"cost\":0}",
    "{\"cost\":-1}",
    "{\"cost\":1.5}",
    "{\"cost\":1e3}",
    "{\"cost\":9007199254740992}",
    "{\"cost\":99999999999999999999}",
    "{\"cost\":\"5\"}",
    "{\"idempotency_key\":\"\"}",
    "{\"idempotency_key\":\"a\\nb\"}",
    "{\"hold\":1}",
    "{\"peek\":\"yes\"}",
];

const BATCHES: [&str; 8] = [
    "{}",
    "{\"checks\":null}",
    "{\"checks\":{}}",
    "{\"checks\":7}",
    "{\"checks\":[7]}",
    "{\"checks\":[{},null]}",
    "{\"checks\":[{\"key\":\"<free>\"},{\"key\":\"<free>\"},{\"key\":\"<free>\",\"cost\":0}]}",
    "{\"checks\":[{\"client\":{\"ip\":\"x\"}}]}",
];

const FINISHES: [&str; 6] = [
    "{}",
    "{\"permit\":null}",
    "{\"permit\":7}",
    "{\"permit\":\"a\",\"status\":99}",
    "{\"permit\":\"a\",\"cost\":-1}",
    "{\"permit\":\"a\",\"costs\":1}",
];

#[test]
fn what_is_wrong_with_a_body_is_said_by_field() {
    let place = Place::new(PLANS).caller("free");
    let mut told = String::new();
    let all = [("/v1/check", &CHECKS[..]), ("/v1/check/batch", &BATCHES), ("/v1/finish", &FINISHES)];
    for (uri, bodies) in all {
        writeln!(told, "{uri}\n").unwrap();
        for body in bodies {
            let answered = place.ask("POST", uri, &[], body);
            assert_eq!(answered.status, 400, "{body}");
            assert_eq!(answered.header("content-type"), Some("application/problem+json"));
            assert_eq!(answered.header("cache-control"), Some("no-store"));
            assert_eq!(answered.member("/error"), "invalid_request");
            let field = answered.member("/field");
            let field = field.as_str().unwrap_or("-");
            writeln!(told, "{body}\n  {field}: {}\n", answered.member("/detail").as_str().unwrap()).unwrap();
        }
    }
    assert_eq!(place.used("free"), 0);
    crate::golden::check("bodies.txt", &told);
}

#[test]
fn what_is_refused_is_not_shown_again() {
    let place = Place::new(PLANS);
    for body in [r#"{"key":"secret","cost":0}"#, r#"{"key":{"secret":1}}"#, r#"{"key":"secret" 5}"#] {
        let answered = place.ask("POST", "/v1/check", &[], body);
        assert_eq!(answered.status, 400);
        assert!(!answered.body.contains("secret"), "{}", answered.body);
    }
}

#[test]
fn fields_that_are_null_are_as_if_they_were_not_there() {
    let place = Place::new(PLANS).caller("free");
    let body = r#"{"key":"<free>","service_token":null,"client":null,"method":null,"path":null,"cost":null,
        "idempotency_key":null,"hold":null,"peek":null}"#;
    assert_eq!(place.ask("POST", "/v1/check", &[], body).member("/allowed"), true);
    let body = r#"{"key":null,"client":{"ip":null,"cookie":null,"headers":null}}"#;
    assert_eq!(place.ask("POST", "/v1/check", &[], body).member("/error"), "missing_key");
}

#[test]
fn a_client_may_have_a_hundred_headers() {
    let place = Place::new(PLANS);
    let client = |count: usize| {
        let headers: Vec<_> = (0..count).map(|index| format!("\"x-{index}\":\"a\"")).collect();
        let body = format!("{{\"client\":{{\"headers\":{{{}}}}}}}", headers.join(","));
        place.ask("POST", "/v1/check", &[], &body)
    };
    assert_eq!(client(100).status, 200);
    assert_eq!(client(101).member("/field"), "client.headers.x-100");
}

#[test]
fn deep_nesting_and_other_encodings_are_refused_and_do_no_harm() {
    let place = Place::new(PLANS);
    let deep = format!("{{\"key\":{}", "[".repeat(500_000));
    assert_eq!(place.ask("POST", "/v1/check", &[], &deep).status, 400);
    assert_eq!(place.ask("POST", "/v1/check", &[], "\u{feff}{}").status, 400);
}

#[test]
fn other_paths_methods_and_media_types_are_refused() {
    let mut place = Place::new(PLANS).caller("free");
    place.told("GET", "/", &[], "");
    place.told("POST", "/v1/check/", &[], "{}");
    assert_eq!(place.told("GET", "/v1/check", &[], "").header("allow"), Some("POST"));
    place.told("PUT", "/v1/check/batch", &[], "");
    place.told("DELETE", "/health", &[], "");
    place.told("POST", "/v1/check", &[("content-type", "text/plain")], "{}");
    place.told("POST", "/v1/sessions", &[], "{}");
    place.told("GET", "/health", &[], "");
    for media_type in ["application/json", "Application/JSON; charset=utf-8"] {
        let body = r#"{"key":"<free>"}"#;
        let answered = place.ask("POST", "/v1/check", &[("content-type", media_type)], body);
        assert_eq!(answered.status, 200);
    }
    place.matches("elsewhere.txt");
}
