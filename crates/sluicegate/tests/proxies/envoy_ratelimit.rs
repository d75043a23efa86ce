//! Envoy, with Sluicegate as its rate limit service. Envoy has one status for all that is refused: what it really is,
//! stands in a header.

use serde_json::json;
use sluicegate_testkit::chaos::Mode;
use sluicegate_testkit::http::{Answer, Asked};
use sluicegate_testkit::proxies::ProxyProgram;
use sluicegate_testkit::redis::{Engine, RedisServer};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::place::{Failing, Place};
use crate::recipe::{Limits, Recipe};

pub(crate) const ENVOY_RATE_LIMIT: Recipe = Recipe {
    program: ProxyProgram::Envoy,
    files: &["envoy/ratelimit.yaml"],
    adapt: |text, _| text,
    open: ("failure_mode_deny: true", "failure_mode_deny: false"),
    limits: Limits::ToTheCaller,
    unreachable: &[503],
};

const POLICY: &str = "
tiers:
  quick: {rate: 6/minute, burst: 3}
  capped: {rate: 1000, burst: 1000, quota: 4, quota_window: sliding_day}
routes: {dear: {match: 'POST /dear/**', cost: 3}}
descriptors: {api: [{key: remote_address, name: each-address, limit: 5/day}]}
";

/// A refusal, with the status that it really is.
#[track_caller]
fn refused(answer: &Answer, status: u16, error: &str) {
    assert_eq!(answer.status, 429, "{answer:?}\n{}", answer.text());
    let document = answer.json();
    assert_eq!((&document["status"], &document["error"]), (&json!(status), &json!(error)), "{document}");
    let types = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
    assert_eq!(types.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["application/problem+json"]);
    let real = (status != 429).then_some(u64::from(status));
    assert_eq!(answer.number("X-Sluicegate-Status"), real, "{answer:?}");
}

#[test]
fn the_admitted_learn_what_is_left_and_the_refused_how_long_to_wait() {
    let place = Place::start(&ENVOY_RATE_LIMIT, POLICY);
    let asked = Asked::get("/a?b=c").key(&place.bed.customer("acme", "quick"));
    for left in ["2", "1", "0"] {
        let answer = place.send(&asked);
        assert_eq!((answer.status, answer.header("X-RateLimit-Remaining")), (200, Some(left)), "{answer:?}");
        let own = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("RateLimit-Remaining"));
        assert_eq!(own.count(), 1, "the limits of the API itself are not told: {answer:?}");
    }
    let answer = place.send(&asked);
    refused(&answer, 429, "rate_limited");
    assert!(answer.number("Retry-After").is_some_and(|seconds| (1..=10).contains(&seconds)), "{answer:?}");
    assert_eq!(place.api.asked(), 3);
}

#[test]
fn what_is_refused_takes_nothing_from_any_limit() {
    let place = Place::start(&ENVOY_RATE_LIMIT, POLICY);
    let key = place.bed.customer("acme", "capped");
    let dear = Asked::new("POST", "/dear/a").key(&key);
    assert_eq!(place.send(&dear).status, 200);
    // It costs three, and one is left: nothing of the address is taken either.
    for _ in 0..6 {
        refused(&place.send(&dear), 402, "quota_exceeded");
    }
    assert_eq!(place.send(&Asked::get("/cheap").key(&key)).status, 200);
    assert_eq!(place.bed.used("acme", "quota"), 4);
    let others = place.bed.customer("other", "capped");
    for _ in 0..3 {
        assert_eq!(place.send(&Asked::get("/cheap").key(&others)).status, 200);
    }
    let answer = place.send(&Asked::get("/cheap").key(&others));
    refused(&answer, 429, "rate_limited");
    assert_eq!(answer.json()["limit"], "each-address", "{}", answer.text());
    assert_eq!(
        place.bed.used("other", "quota"),
        3,
        "what the address is refused is not charged to the account"
    );
    let elsewhere = place.send_from([127, 0, 0, 2], &Asked::get("/cheap").key(&others));
    assert_eq!(elsewhere.status, 200, "{elsewhere:?}");
}

#[test]
fn a_key_that_is_none_or_left_out_is_no_way_past_the_limits() {
    let place = Place::start(&ENVOY_RATE_LIMIT, POLICY);
    refused(&place.send(&Asked::get("/").key("junk")), 403, "invalid_key");
    let missing = place.send(&Asked::get("/"));
    refused(&missing, 401, "missing_key");
    assert_eq!(missing.header("WWW-Authenticate"), Some("Bearer"), "{missing:?}");
    refused(&place.send(&Asked::get("/").key("")), 401, "missing_key");
    assert_eq!(place.api.asked(), 0);
}

#[test]
fn while_sluicegate_cannot_be_reached_nobody_passes() {
    let place = Place::start(&ENVOY_RATE_LIMIT, POLICY);
    let asked = Asked::get("/").key(&place.bed.customer("acme", "capped"));
    for mode in [Mode::Cut, Mode::BlackHole] {
        place.way.set(mode);
        assert_eq!(place.send(&asked).status, 503);
    }
    assert_eq!(place.api.asked(), 0);
    place.way.set(Mode::Pass);
    wait::until("Sluicegate is asked again", || (place.send(&asked).status == 200).then_some(()));
}

#[test]
fn told_to_fail_open_everybody_passes() {
    let place = Place::beside(&ENVOY_RATE_LIMIT, Bed::start(POLICY), Failing::Open);
    let asked = Asked::get("/").key("junk");
    place.way.set(Mode::Cut);
    assert_eq!(place.send(&asked).status, 200);
    place.way.set(Mode::Pass);
    wait::until("Sluicegate is asked again", || (place.send(&asked).status == 429).then_some(()));
}

#[test]
fn while_the_store_is_away_the_policy_decides() {
    let policy = format!("{POLICY}degraded: {{rate: local, quota: closed}}\n");
    let mut redis = RedisServer::new(Engine::Redis);
    let bed = Bed::start_with(&policy, |launch| {
        let secret = "a secret that all nodes of this test have";
        launch.arg("--store").arg(redis.url()).variable("SLUICEGATE_SECRET", secret)
    });
    let place = Place::beside(&ENVOY_RATE_LIMIT, bed, Failing::Closed);
    let [quick, capped] =
        ["quick", "capped"].map(|tier| Asked::get("/").key(&place.bed.customer(tier, tier)));
    for asked in [&quick, &capped] {
        assert_eq!(place.send(asked).status, 200);
    }
    redis.kill();
    wait::until("the store is missed", || {
        let _ = place.send(&capped);
        (place.bed.health()["store"]["mode"] == "degraded").then_some(())
    });
    let answer = place.send(&quick);
    assert_eq!((answer.status, answer.header("X-Sluicegate-Mode")), (200, Some("degraded")), "{answer:?}");
    // Nothing can be decided, so the call fails, and Envoy does what it was told to do then.
    assert_eq!(place.send(&capped).status, 503);
}
