//! What holds for every proxy: one function for each test, and the list of them that the file of a proxy names.

use std::thread;

use serde_json::json;
use sluicegate_testkit::chaos::Mode;
use sluicegate_testkit::http::{Answer, Asked};
use sluicegate_testkit::proxies::ProxyProgram;
use sluicegate_testkit::redis::{Engine, RedisServer};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::place::{Failing, Place, told};
use crate::recipe::{Limits, Recipe};

/// A test for each expectation.
macro_rules! expectations {
    ($recipe:ident) => {
        $crate::expectations::expectations!($recipe;
            the_admitted_reach_the_api_with_who_is_calling_and_learn_what_is_left,
            beyond_the_burst_is_429_until_retry_after,
            a_spent_quota_is_402,
            of_many_at_once_as_many_pass_as_the_quota_has,
            without_a_key_401_with_an_unknown_one_403_with_two_400,
            callers_are_charged_for_the_request_that_the_api_gets,
            callers_without_a_key_are_told_apart_by_where_they_call_from,
            while_sluicegate_cannot_be_reached_nobody_passes_and_nobody_waits,
            told_to_fail_open_everybody_passes_and_nobody_is_named,
            while_the_store_is_away_the_policy_decides,
        );
    };
    ($recipe:ident; $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::expectations::$name(&$recipe);
            }
        )*
    };
}
pub(crate) use expectations;

/// What every policy of a server beside a proxy has.
pub(crate) const TRUSTING: &str = "server: {trusted_proxies: [127.0.0.1/32]}";

const TIERS: &str = "
tiers:
  quick: {rate: 6/minute, burst: 3}
  capped: {rate: 1000, burst: 1000, quota: 2, quota_window: sliding_day}
";

fn policy() -> String {
    format!("{TRUSTING}{TIERS}")
}

/// What only Sluicegate says to the API.
const IDENTITY: [&str; 4] =
    ["x-sluicegate-account", "x-sluicegate-tier", "x-sluicegate-decision", "x-sluicegate-mode"];

fn spoofed(recipe: &Recipe, asked: Asked) -> Asked {
    let asked = IDENTITY.iter().fold(asked, |asked, name| asked.header(name, "spoofed"));
    let asked = asked.header("X_Sluicegate_Account", "spoofed").header("X-Forwarded-For", "203.0.113.9");
    // What is named there is for the next one only, and may be removed.
    let mut ours = "x-sluicegate-account, x-sluicegate-tier, x-forwarded-method, x-forwarded-uri".to_owned();
    if recipe.program != ProxyProgram::Envoy {
        // It refuses whoever names that.
        ours.push_str(", x-forwarded-for");
    }
    asked.header("Connection", &format!("close, {ours}"))
}

/// The document of a refusal, with what stands around it.
#[track_caller]
fn refused(answer: &Answer, status: u16, error: &str) {
    assert_eq!(answer.status, status, "{answer:?}\n{}", answer.text());
    let document = answer.json();
    assert_eq!((&document["status"], &document["error"]), (&json!(status), &json!(error)), "{document}");
    assert_eq!(answer.header("Content-Type"), Some("application/problem+json"), "{answer:?}");
    assert_eq!(answer.header("Cache-Control"), Some("no-store"), "{answer:?}");
    for name in &IDENTITY[..3] {
        assert_eq!(answer.header(name), None, "who is calling is for the API: {answer:?}");
    }
}

/// One header of the limits, as whoever learns of them does.
fn limit(recipe: &Recipe, answer: &Answer, name: &str) -> Vec<String> {
    match recipe.limits {
        Limits::ToTheApi => told(answer, &name.to_ascii_lowercase()),
        Limits::ToTheCaller => {
            let named = answer.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.clone()).collect()
        }
    }
}

pub(crate) fn the_admitted_reach_the_api_with_who_is_calling_and_learn_what_is_left(recipe: &Recipe) {
    let place = Place::start(recipe, &policy());
    let key = place.bed.customer("acme", "quick");
    let asked = Asked::new("POST", "/orders?page=2").key(&key).body("the body");
    let answer = place.send(&spoofed(recipe, asked));
    assert_eq!((answer.status, place.api.asked()), (200, 1), "{answer:?}");
    let asked = answer.json();
    assert_eq!(
        asked["line"].as_str().unwrap().replace("HTTP/1.0", "HTTP/1.1"),
        "POST /orders?page=2 HTTP/1.1"
    );
    assert_eq!(asked["body"], "the body", "{asked}");
    assert_eq!(told(&answer, "x-sluicegate-account"), ["acme"], "{asked}");
    assert_eq!(told(&answer, "x-sluicegate-tier"), ["quick"], "{asked}");
    let decision = told(&answer, "x-sluicegate-decision");
    assert!(decision.len() == 1 && decision[0].starts_with("dec_"), "{asked}");
    assert_eq!(told(&answer, "x-forwarded-for"), ["127.0.0.1"], "{asked}");
    assert!(!asked.to_string().contains("spoofed"), "{asked}");
    assert!(!told(&answer, "connection").concat().contains("x-sluicegate"), "{asked}");
    assert_eq!(told(&answer, "x-api-key"), [key], "{asked}");
    // The limits of the API itself are not what callers of Sluicegate are told.
    for (name, value) in
        [("RateLimit-Limit", "6"), ("RateLimit-Remaining", "2"), ("X-RateLimit-Remaining", "2")]
    {
        assert_eq!(limit(recipe, &answer, name), [value], "{name}: {answer:?}");
    }
    assert_eq!(limit(recipe, &answer, "RateLimit-Policy"), ["\"rate\";q=3;w=30"], "{answer:?}");
    assert_eq!(limit(recipe, &answer, "RateLimit").len(), 1, "{answer:?}");
    assert!(limit(recipe, &answer, "X-Quota-Limit").is_empty(), "what was not said is not there: {answer:?}");
}

pub(crate) fn beyond_the_burst_is_429_until_retry_after(recipe: &Recipe) {
    let place = Place::start(recipe, &policy());
    let asked = Asked::get("/").key(&place.bed.customer("acme", "quick"));
    let statuses = [0; 3].map(|_| place.send(&asked).status);
    assert_eq!(statuses, [200; 3]);
    let answer = place.send(&asked);
    refused(&answer, 429, "rate_limited");
    assert!(answer.number("Retry-After").is_some_and(|seconds| (1..=10).contains(&seconds)), "{answer:?}");
    assert_eq!(answer.number("RateLimit-Remaining"), Some(0), "{answer:?}");
    assert_eq!(answer.header("RateLimit-Policy"), Some("\"rate\";q=3;w=30"), "{answer:?}");
    assert_eq!((answer.json()["tier"].as_str(), place.api.asked()), (Some("quick"), 3), "{answer:?}");
}

pub(crate) fn a_spent_quota_is_402(recipe: &Recipe) {
    let place = Place::start(recipe, &policy());
    let key = place.bed.customer("acme", "capped");
    let asked = Asked::get("/reports").header("Authorization", &format!("Bearer {key}"));
    for left in ["1", "0"] {
        let answer = place.send(&asked);
        assert_eq!(
            (answer.status, limit(recipe, &answer, "X-Quota-Remaining")),
            (200, vec![left.to_owned()])
        );
    }
    let answer = place.send(&asked);
    refused(&answer, 402, "quota_exceeded");
    assert_eq!(
        (answer.number("X-Quota-Remaining"), answer.number("X-Quota-Used")),
        (Some(0), Some(2)),
        "{answer:?}"
    );
    assert_eq!(answer.header("Retry-After"), None, "there is nothing to wait for: {answer:?}");
    assert_eq!((place.api.asked(), place.bed.used("acme", "quota")), (2, 2));
}

pub(crate) fn of_many_at_once_as_many_pass_as_the_quota_has(recipe: &Recipe) {
    let tiers = "\ntiers: {wide: {quota: 100, quota_window: sliding_day}}\n";
    let place = Place::start(recipe, &format!("{TRUSTING}{tiers}"));
    let asked = Asked::get("/").key(&place.bed.customer("acme", "wide"));
    let statuses: Vec<u16> = thread::scope(|scope| {
        let caller = || (0..20).map(|_| place.send(&asked).status).collect::<Vec<_>>();
        let callers: Vec<_> = (0..10).map(|_| scope.spawn(caller)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let with = |status| statuses.iter().filter(|it| **it == status).count();
    assert_eq!((with(200), with(402)), (100, 100), "{statuses:?}");
    assert_eq!((place.api.asked(), place.bed.used("acme", "quota")), (100, 100));
}

pub(crate) fn without_a_key_401_with_an_unknown_one_403_with_two_400(recipe: &Recipe) {
    let place = Place::start(recipe, &policy());
    let answer = place.send(&spoofed(recipe, Asked::get("/")));
    refused(&answer, 401, "missing_key");
    let challenges = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("WWW-Authenticate"));
    assert_eq!(challenges.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["Bearer"], "{answer:?}");
    refused(&place.send(&Asked::get("/").key("sg_live_unknown")), 403, "invalid_key");
    let two = Asked::get("/").key("one").header("Authorization", "Bearer another");
    refused(&place.send(&two), 400, "ambiguous_key");
    assert_eq!(place.api.asked(), 0);
}

pub(crate) fn callers_are_charged_for_the_request_that_the_api_gets(recipe: &Recipe) {
    let routes = "routes: {dear: {match: 'GET /dear/**', cost: 5}}\n";
    let tiers = "\ntiers: {wide: {quota: 100, quota_window: sliding_day}}\n";
    let place = Place::start(recipe, &format!("{TRUSTING}{tiers}{routes}"));
    let key = place.bed.customer("acme", "wide");
    // They cannot ask for another request than the one they send, nor for answers in another dialect.
    let mut asked = Asked::get("/dear/?dialect=nginx&a=%2f..%2f").key(&key);
    for name in ["X-Original-URI", "X-Original-URL", "X-Forwarded-Uri"] {
        asked = asked.header(name, "/cheap");
    }
    for name in ["X-Original-Method", "X-Forwarded-Method"] {
        asked = asked.header(name, "OPTIONS");
    }
    let answer = place.send(&asked);
    assert_eq!((answer.status, place.bed.used("acme", "quota")), (200, 5), "{answer:?}");
    assert!(
        answer.json()["line"].as_str().unwrap().contains("/dear/?dialect=nginx&a=%2f..%2f"),
        "{answer:?}"
    );
    // What could be read in two ways is refused, or reaches the API and Sluicegate as what it means.
    let mut charged = 5;
    for path in
        ["/cheap/../dear/", "/cheap/%2e%2e/dear/", "//dear/", "/cheap/..%2fdear/", "/cheap\\..\\dear/"]
    {
        let answer = place.send(&Asked::get(path).key(&key));
        if answer.status == 200 {
            assert_eq!(answer.json()["line"], "GET /dear/ HTTP/1.1", "{path}: {answer:?}");
            charged += 5;
        } else {
            assert_eq!(answer.status, 400, "{path}: {answer:?}");
        }
        assert_eq!(place.bed.used("acme", "quota"), charged, "{path}");
    }
}

pub(crate) fn callers_without_a_key_are_told_apart_by_where_they_call_from(recipe: &Recipe) {
    let visitors = "\nidentity: {anonymous: visitor}\ntiers: {visitor: {rate: 6/minute, burst: 2}}\n";
    let place = Place::start(recipe, &format!("{TRUSTING}{visitors}"));
    let asked = |spoofed: u8| Asked::get("/").header("X-Forwarded-For", &format!("203.0.113.{spoofed}"));
    for (address, spoofed, status) in
        [(2, 1, 200), (2, 2, 200), (2, 3, 429), (3, 4, 200), (3, 5, 200), (3, 6, 429), (2, 7, 429)]
    {
        let answer = place.send_from([127, 0, 0, address], &asked(spoofed));
        assert_eq!(answer.status, status, "127.0.0.{address}: {answer:?}");
        if status == 200 {
            assert_eq!(told(&answer, "x-forwarded-for"), [format!("127.0.0.{address}")], "{answer:?}");
            assert!(told(&answer, "x-sluicegate-account").concat().is_empty(), "{answer:?}");
        }
    }
}

pub(crate) fn while_sluicegate_cannot_be_reached_nobody_passes_and_nobody_waits(recipe: &Recipe) {
    let mut place = Place::start(recipe, &policy());
    let asked = spoofed(recipe, Asked::get("/").key(&place.bed.customer("acme", "capped")));
    let expect_closed = |place: &Place| {
        let answer = place.send(&asked);
        assert!(recipe.unreachable.contains(&answer.status), "{answer:?}");
        if answer.header("Content-Type") == Some("application/problem+json") {
            refused(&answer, 503, "unavailable");
            assert_eq!(answer.number("Retry-After"), Some(1), "{answer:?}");
        }
    };
    for mode in [Mode::Cut, Mode::BlackHole, Mode::HalfCut] {
        place.way.set(mode);
        expect_closed(&place);
    }
    assert_eq!(place.api.asked(), 0);
    // It comes back by itself.
    place.way.set(Mode::Pass);
    wait::until("Sluicegate is asked again", || (place.send(&asked).status == 200).then_some(()));
    assert_eq!(place.api.asked(), 1);
    place.bed.server.terminate();
    place.bed.server.wait();
    expect_closed(&place);
    assert_eq!(place.api.asked(), 1);
}

pub(crate) fn told_to_fail_open_everybody_passes_and_nobody_is_named(recipe: &Recipe) {
    let place = Place::beside(recipe, Bed::start(&policy()), Failing::Open);
    let asked = spoofed(recipe, Asked::get("/").key(&place.bed.customer("acme", "quick")));
    for mode in [Mode::Cut, Mode::BlackHole] {
        place.way.set(mode);
        let answer = place.send(&asked);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.text().contains("spoofed"), "{}", answer.text());
        for name in IDENTITY {
            assert!(told(&answer, name).concat().is_empty(), "{name}: {answer:?}");
        }
    }
    // A refusal is still one, when Sluicegate is there.
    place.way.set(Mode::Pass);
    let answer = wait::until("Sluicegate is asked again", || {
        Some(place.send(&asked)).filter(|answer| answer.status == 429)
    });
    refused(&answer, 429, "rate_limited");
    refused(&place.send(&Asked::get("/")), 401, "missing_key");
}

pub(crate) fn while_the_store_is_away_the_policy_decides(recipe: &Recipe) {
    let tiers = "\ntiers: {quick: {rate: 100}, capped: {quota: 1_000_000}}\n";
    let policy = format!("{TRUSTING}{tiers}degraded: {{rate: local, quota: closed}}\n");
    let mut redis = RedisServer::new(Engine::Redis);
    let bed = Bed::start_with(&policy, |launch| {
        let secret = "a secret that all nodes of this test have";
        launch.arg("--store").arg(redis.url()).variable("SLUICEGATE_SECRET", secret)
    });
    let place = Place::beside(recipe, bed, Failing::Closed);
    let [quick, capped] =
        ["quick", "capped"].map(|tier| Asked::get("/").key(&place.bed.customer(tier, tier)));
    for asked in [&quick, &capped] {
        // On a busy machine the store may take longer than it has.
        wait::until("the store decides", || {
            let answer = place.send(asked);
            (answer.status == 200 && limit(recipe, &answer, "X-Sluicegate-Mode").is_empty()).then_some(())
        });
    }
    redis.kill();
    wait::until("the store is missed", || {
        let _ = place.send(&capped);
        (place.bed.health()["store"]["mode"] == "degraded").then_some(())
    });
    let answer = place.send(&quick);
    assert_eq!(
        (answer.status, limit(recipe, &answer, "X-Sluicegate-Mode")),
        (200, vec!["degraded".to_owned()])
    );
    let answer = place.send(&capped);
    refused(&answer, 503, "unavailable");
    assert!(answer.number("Retry-After").is_some(), "{answer:?}");
    assert_eq!(answer.header("X-Sluicegate-Mode"), Some("degraded"), "{answer:?}");
}
