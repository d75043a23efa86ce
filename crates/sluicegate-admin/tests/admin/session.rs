//! Signing in to the dashboard: what the cookie opens, and to whom.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::place::{NOW, Place, Reply, TOKEN};

const HOST: &str = "sluicegate.example:9090";
const ORIGIN: &str = "http://sluicegate.example:9090";

/// Somebody who is signed in.
struct Browser<'p> {
    place: &'p Place,
    cookie: String,
    csrf: String,
}

fn sign_in_with(place: &Place, kind: &str, body: impl Into<Body>, more: &[(&str, &str)]) -> Reply {
    let request = Request::post("/admin/session").header("host", HOST).header("content-type", kind);
    let request = more.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    place.send(request.body(body.into()).unwrap())
}

fn guess(place: &Place, token: &str) -> Reply {
    sign_in_with(place, "application/json", json!({"token": token}).to_string(), &[("origin", ORIGIN)])
}

impl<'p> Browser<'p> {
    fn sign_in(place: &'p Place) -> Self {
        let reply = guess(place, TOKEN);
        let csrf = reply.expect(200)["csrf"].as_str().unwrap().to_owned();
        let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { place, cookie, csrf }
    }

    /// Sends what a page of ours would, but for these headers: an empty one is left out.
    fn send_with(&self, method: &str, path: &str, body: Option<Value>, instead: &[(&str, &str)]) -> Reply {
        let mut headers = vec![
            ("host", HOST),
            ("cookie", &self.cookie),
            ("origin", ORIGIN),
            ("sec-fetch-site", "same-origin"),
            ("x-sluicegate-csrf", &self.csrf),
        ];
        headers.retain(|(name, _)| !instead.iter().any(|(other, _)| name == other));
        headers.extend(instead.iter().filter(|(_, value)| !value.is_empty()));
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.header("content-type", "application/json");
        self.place.send(request.body(body.map_or_else(Body::empty, |body| body.to_string().into())).unwrap())
    }

    fn send(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.send_with(method, path, body, &[])
    }

    /// Makes an account, but for these headers.
    fn create(&self, id: &str, instead: &[(&str, &str)]) -> Reply {
        let body = json!({"id": id, "name": id, "tier": "free"});
        self.send_with("POST", "/admin/v1/accounts", Some(body), instead)
    }
}

#[test]
fn the_token_gives_a_cookie_that_no_script_reads_and_no_other_site_sends() {
    let place = Place::new();
    let bodies = [
        ("application/json", json!({"token": TOKEN}).to_string()),
        ("application/x-www-form-urlencoded", format!("token={TOKEN}")),
        ("application/x-www-form-urlencoded", json!({"token": TOKEN}).to_string()),
    ];
    let mut ids = Vec::new();
    for (kind, body) in bodies {
        let reply = sign_in_with(&place, kind, body, &[]);
        let session = reply.expect(200);
        assert_eq!((&session["signed_in"], session["csrf"].as_str().unwrap().len()), (&json!(true), 64));
        let cookie = reply.header("set-cookie").unwrap();
        let (id, flags) = cookie.split_once("; ").unwrap();
        assert_eq!(flags, "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict");
        assert_eq!(id.strip_prefix("sluicegate_session=").unwrap().len(), 64);
        assert!(!reply.text.contains(id.split_once('=').unwrap().1));
        ids.push(id.to_owned());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn what_is_no_token_is_refused_and_guessing_is_slowed() {
    let place = Place::new();
    sign_in_with(&place, "application/json", "{", &[]).problem(400, "malformed_body", None);
    sign_in_with(&place, "application/json", "{}", &[]).problem(422, "invalid_field", Some("token"));
    sign_in_with(&place, "application/json", r#"{"tokn": "x"}"#, &[]).problem(
        422,
        "invalid_field",
        Some("tokn"),
    );
    sign_in_with(&place, "text/csv", "x", &[]).problem(415, "unsupported_media_type", Some("Content-Type"));
    sign_in_with(&place, "application/json", "x".repeat(5_000), &[]).problem(413, "body_too_large", None);
    for body in ["", "tokn=x", "\u{fc}"] {
        let kind = "application/x-www-form-urlencoded";
        sign_in_with(&place, kind, body, &[]).problem(422, "invalid_field", Some("token"));
    }
    for _ in 0..3 {
        let wrong = guess(&place, "guess");
        wrong.problem(401, "unauthorized", None);
        assert_eq!(wrong.header("set-cookie"), None);
    }
    guess(&place, TOKEN).expect(200);
}

#[test]
fn nobody_is_signed_in_by_a_page_of_somebody_elses() {
    let place = Place::new();
    let body = || json!({"token": TOKEN}).to_string();
    for elsewhere in [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    {
        let reply = sign_in_with(&place, "application/json", body(), &[elsewhere]);
        reply.problem(403, "cross_site", None);
        assert_eq!(reply.header("set-cookie"), None);
    }
}

#[test]
fn the_cookie_opens_the_api_and_the_audit_log_says_so() {
    let place = Place::new();
    let browser = Browser::sign_in(&place);
    let session = browser.send("GET", "/admin/session", None).expect(200);
    assert_eq!(session["csrf"].as_str(), Some(browser.csrf.as_str()));
    browser.create("acme", &[]).expect(201);
    browser.send("GET", "/admin/v1/accounts/acme", None).expect(200);
    // Whoever reads needs neither header: an EventSource cannot send any.
    let bare = [("origin", ""), ("sec-fetch-site", ""), ("x-sluicegate-csrf", "")];
    browser.send_with("GET", "/admin/v1/accounts", None, &bare).expect(200);
    let audit = place.get("/admin/v1/audit").expect(200);
    assert_eq!(audit["items"][0]["who"], "admin (dashboard)");
}

#[test]
fn a_change_without_the_sessions_own_word_is_refused() {
    let place = Place::new();
    let browser = Browser::sign_in(&place);
    let other = Browser::sign_in(&place);
    let field = Some("X-Sluicegate-CSRF");
    for forged in ["", "guess", &other.csrf, &"0".repeat(64)] {
        browser.create("acme", &[("x-sluicegate-csrf", forged)]).problem(403, "cross_site", field);
    }
    place.get("/admin/v1/accounts/acme").problem(404, "not_found", None);
    for method in ["PUT", "DELETE", "POST"] {
        let reply =
            browser.send_with(method, "/admin/v1/accounts/acme/tier", None, &[("x-sluicegate-csrf", "")]);
        reply.problem(403, "cross_site", field);
    }
}

#[test]
fn what_another_origin_sends_is_refused_even_with_the_word() {
    let place = Place::new();
    let browser = Browser::sign_in(&place);
    for instead in [
        vec![("origin", "http://evil.example")],
        vec![("origin", "http://sluicegate.example:9091")],
        vec![("origin", "null")],
        vec![("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "same-site")],
        vec![("origin", ""), ("sec-fetch-site", "")],
    ] {
        browser.create("acme", &instead).problem(403, "cross_site", None);
    }
    for enough in [("origin", ""), ("sec-fetch-site", "")] {
        browser.create(&format!("by-{}", enough.0), &[enough]).expect(201);
    }
    let reply = browser.send_with("GET", "/admin/v1/accounts", None, &[("sec-fetch-site", "cross-site")]);
    reply.problem(403, "cross_site", None);
}

#[test]
fn a_session_ends_when_it_is_idle_for_an_hour_and_after_twelve() {
    let place = Place::new();
    let browser = Browser::sign_in(&place);
    let status = || browser.send("GET", "/admin/v1/tiers", None).status;
    place.later(3_599);
    assert_eq!(status(), 200);
    place.later(7_198);
    assert_eq!(status(), 200);
    place.later(10_798);
    browser.send("GET", "/admin/v1/tiers", None).problem(401, "unauthorized", None);
    assert_eq!(browser.send("GET", "/admin/session", None).expect(200)["signed_in"], false);

    let browser = Browser::sign_in(&place);
    for hour in 1..13 {
        place.later(10_798 + hour * 3_590);
        browser.send("GET", "/admin/v1/tiers", None).expect(200);
    }
    place.later(10_798 + 43_200);
    browser.send("GET", "/admin/v1/tiers", None).problem(401, "unauthorized", None);
    assert_eq!(NOW.as_secs(), 1_791_201_600);
}

#[test]
fn who_signs_out_is_out_and_others_are_not() {
    let place = Place::new();
    let (one, other) = (Browser::sign_in(&place), Browser::sign_in(&place));
    one.send_with("DELETE", "/admin/session", None, &[("x-sluicegate-csrf", "")]).expect(403);
    one.send("GET", "/admin/v1/tiers", None).expect(200);
    let out = one.send("DELETE", "/admin/session", None);
    out.expect_nothing();
    assert!(
        out.header("set-cookie").unwrap().starts_with("sluicegate_session=; Path=/; Max-Age=0; HttpOnly")
    );
    one.send("GET", "/admin/v1/tiers", None).problem(401, "unauthorized", None);
    other.send("GET", "/admin/v1/tiers", None).expect(200);
    // Once more changes nothing.
    one.send("DELETE", "/admin/session", None).expect_nothing();
}

#[test]
fn the_bearer_of_the_token_needs_no_cookie_and_none_of_the_rest() {
    let place = Place::new();
    place.account("acme", "free");
    let browser = Browser::sign_in(&place);
    let bearer = format!("Bearer {TOKEN}");
    let bare = [
        ("authorization", bearer.as_str()),
        ("origin", ""),
        ("sec-fetch-site", ""),
        ("x-sluicegate-csrf", ""),
    ];
    browser.create("one", &bare).expect(201);
    assert_eq!(place.get("/admin/v1/audit").expect(200)["items"][0]["who"], "admin");
    // A wrong token is wrong, whatever the cookie is.
    let wrong = browser.send_with("GET", "/admin/v1/accounts", None, &[("authorization", "Bearer guess")]);
    wrong.problem(401, "unauthorized", None);
    let made_up = format!("sluicegate_session={}", "0".repeat(64));
    browser.send_with("GET", "/admin/v1/tiers", None, &[("cookie", &made_up)]).problem(
        401,
        "unauthorized",
        None,
    );
}
