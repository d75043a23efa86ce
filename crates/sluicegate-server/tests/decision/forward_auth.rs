//! Forward-auth, with the headers that proxies send.

use crate::place::{Answered, Place};

const PLANS: &str = "
tiers:
  free: {rate: 10, burst: 2, quota: 50, quota_window: calendar_day}
  single: {rate: 100, burst: 100, concurrency: 1}
routes:
  write: {match: 'POST /write', scope: 'data:write'}
  search: {match: 'GET /search/**', cost: 2}
";

const URI: &str = "/v1/forward-auth";
const NGINX: &str = "/v1/forward-auth?dialect=nginx";

fn caddy(place: &mut Place, more: &[(&str, &str)]) -> Answered {
    let mut headers = vec![("x-forwarded-method", "GET"), ("x-forwarded-uri", "/search/a?b=c")];
    headers.extend([("x-forwarded-proto", "https"), ("x-forwarded-host", "api.example.com")]);
    headers.extend(more);
    place.told("GET", URI, &headers, "")
}

fn nginx(place: &mut Place, more: &[(&str, &str)]) -> Answered {
    let mut headers = vec![("x-original-method", "GET"), ("x-original-uri", "/search/a?b=c")];
    headers.extend(more);
    place.told("GET", NGINX, &headers, "")
}

#[test]
fn caddy_and_traefik_get_the_real_answer() {
    let mut place = Place::new(PLANS).caller("free");
    let admitted = caddy(&mut place, &[("authorization", "Bearer <free>")]);
    assert_eq!((admitted.status, admitted.body.as_str()), (200, ""));
    assert_eq!(admitted.header("x-sluicegate-account"), Some("acct_free"));
    let refused = caddy(&mut place, &[("x-api-key", "<free>")]);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(caddy(&mut place, &[]).header("www-authenticate"), Some("Bearer"));
    assert_eq!(caddy(&mut place, &[("x-api-key", "junk")]).status, 403);
    let two = [("authorization", "Bearer <free>"), ("x-api-key", "other")];
    assert_eq!(caddy(&mut place, &two).member("/error"), "ambiguous_key");
    place.matches("forward_auth.txt");
}

#[test]
fn nginx_gets_403_and_the_real_status_in_a_header() {
    let mut place = Place::new(PLANS).caller("free");
    assert_eq!(nginx(&mut place, &[("x-api-key", "<free>")]).status, 200);
    let refused = nginx(&mut place, &[("x-api-key", "<free>")]);
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("x-sluicegate-status"), Some("429"));
    assert_eq!(refused.header("x-sluicegate-error"), Some("rate_limited"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(
        refused.header("x-sluicegate-problem"),
        Some(refused.body.as_str()),
        "nginx throws bodies away"
    );
    let missing = nginx(&mut place, &[]);
    assert_eq!((missing.status, missing.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(nginx(&mut place, &[("x-api-key", "junk")]).header("x-sluicegate-status"), Some("403"));
    let hostile = [("x-original-method", "GET"), ("x-original-uri", "/search/../write")];
    let hostile = place.told("GET", NGINX, &hostile, "");
    assert_eq!((hostile.status, hostile.header("x-sluicegate-status")), (403, Some("400")));
    place.matches("forward_auth_nginx.txt");
}

#[test]
fn the_full_url_of_an_ingress_is_read_by_its_path() {
    let place = Place::new(PLANS).caller("free");
    let headers = [
        ("x-original-method", "POST"),
        ("x-original-url", "https://api.example.com/write?a=b"),
        ("x-api-key", "<free>"),
    ];
    assert_eq!(place.ask("GET", URI, &headers, "").member("/error"), "insufficient_scope");
}

#[test]
fn whoever_is_admitted_is_named_and_what_is_not_known_is_empty() {
    let policy = "identity: {anonymous: visitor}\ntiers: {free: {rate: 10}, visitor: {rate: 10}}";
    let mut place = Place::new(policy).caller("free");
    let names = ["x-sluicegate-account", "x-sluicegate-tier", "x-sluicegate-decision"];
    let known = caddy(&mut place, &[("x-api-key", "<free>"), ("x-sluicegate-account", "somebody else")]);
    let [account, tier, decision] = names.map(|name| known.header(name));
    assert_eq!((known.status, account, tier), (200, Some("acct_free"), Some("free")));
    assert!(decision.is_some_and(|it| it.starts_with("dec_")));
    // A proxy that copies these replaces what the caller sent.
    let unknown = caddy(&mut place, &[("x-sluicegate-account", "somebody else")]);
    let [account, tier, _] = names.map(|name| unknown.header(name));
    assert_eq!((unknown.status, account, tier), (200, Some(""), Some("visitor")));
    let refused = caddy(&mut place, &[("x-api-key", "junk")]);
    assert_eq!(
        (refused.status, refused.header(names[0]), refused.header(names[1])),
        (403, Some(""), Some(""))
    );
}

#[test]
fn the_query_of_a_caller_behind_the_address_says_nothing_about_the_proxy() {
    let place = Place::new(PLANS).caller("free");
    let ask = |behind: &str, query: &str| {
        let uri = format!("/search/a?{query}");
        let headers =
            [("x-forwarded-method", "GET"), ("x-forwarded-uri", uri.as_str()), ("x-api-key", "junk")];
        let answer = place.ask("GET", &format!("{URI}?{behind}"), &headers, "");
        (answer.status, answer.header("x-sluicegate-status").is_some())
    };
    for query in ["a=b", "a=b&dialect=nginx", "dialect=apache", "debug=1"] {
        assert_eq!(ask(query, query), (403, false), "{query}");
    }
    // An nginx that asks as it should is understood, whatever its callers do.
    for query in ["dialect=nginx", "dialect=apache", ""] {
        assert_eq!(ask("dialect=nginx", query), (403, true), "{query}");
    }
    assert_eq!(ask("debug=1", "debug=2"), (400, false));
}

#[test]
fn what_the_proxy_must_send_is_said() {
    let mut place = Place::new(PLANS).caller("free");
    assert_eq!(place.told("GET", URI, &[("x-forwarded-uri", "/")], "").status, 400);
    assert_eq!(place.told("GET", URI, &[("x-forwarded-method", "GET")], "").status, 400);
    let both = [("x-original-method", "GET"), ("x-original-uri", "/dear"), ("x-forwarded-uri", "/cheap")];
    assert_eq!(place.told("GET", URI, &both, "").status, 400);
    assert_eq!(place.told("GET", "/v1/forward-auth?dialect=apache", &[], "").status, 400);
    assert_eq!(place.told("GET", "/v1/forward-auth?debug=1", &[], "").status, 400);
    place.matches("forward_auth_wrong.txt");
}

#[test]
fn every_method_asks_and_a_request_is_charged_once_by_its_own_method() {
    let policy =
        "tiers: {wide: {rate: 100, burst: 100, quota: 100}}\nroutes: {all: {match: /**, repeats: free}}";
    let place = Place::new(policy).caller("wide");
    for method in ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PROPFIND"] {
        let headers = [
            ("x-forwarded-method", "POST"),
            ("x-forwarded-uri", "/a"),
            ("x-api-key", "<wide>"),
            ("idempotency-key", "order 7"),
        ];
        assert_eq!(place.ask(method, URI, &headers, "").status, 200, "{method}");
    }
    assert_eq!(place.used("wide"), 1);
    let read = [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/a"), ("x-api-key", "<wide>")];
    for _ in 0..2 {
        let read = [&read[..], &[("idempotency-key", "order 8")]].concat();
        assert_eq!(place.ask("POST", URI, &read, "").status, 200);
    }
    assert_eq!(place.used("wide"), 3, "what only reads has no name");
    let other = [
        ("x-forwarded-method", "POST"),
        ("x-forwarded-uri", "/a?b=c"),
        ("x-api-key", "<wide>"),
        ("idempotency-key", "order 7"),
    ];
    assert_eq!(place.ask("GET", URI, &other, "").member("/error"), "idempotency_conflict");
    let junk = [&other[..3], &[("idempotency-key", "\"")]].concat();
    assert_eq!(place.ask("GET", URI, &junk, "").member("/error"), "invalid_idempotency_key");
}

#[test]
fn no_place_in_flight_is_held() {
    let mut place = Place::new(PLANS).caller("single");
    for _ in 0..5 {
        assert_eq!(caddy(&mut place, &[("x-api-key", "<single>")]).status, 200);
    }
    // One that a check holds is respected.
    place.check(r#"{"key":"<single>"}"#);
    assert_eq!(caddy(&mut place, &[("x-api-key", "<single>")]).member("/error"), "concurrency_limited");
}
