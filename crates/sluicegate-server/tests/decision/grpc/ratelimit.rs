//! The rate limit service: one descriptor at a time.

use super::client::{Client, RATE_LIMIT, descriptor};
use crate::place::{Place, wait};

const PLANS: &str = "
tiers:
  free: {rate: 10, burst: 2, quota: 50, quota_window: calendar_day}
  small: {rate: 1_000, burst: 1_000, quota: 2, quota_window: calendar_day}
  single: {rate: 100, burst: 100, concurrency: 1}
routes:
  write: {match: 'POST /write', scope: 'data:write'}
  search: {match: 'GET /search/**', cost: 2}
";

const PEEK: &str = "hits_addend { value: 0 }";

fn key(name: &str) -> String {
    descriptor(&[("api_key", &format!("<{name}>"))], "")
}

#[test]
fn a_caller_is_named_by_its_key_and_told_what_a_gateway_tells() {
    let mut place = Place::new(PLANS).caller("free").caller("small");
    wait(async {
        let mut client = Client::of(&place).await;
        for _ in 0..2 {
            client.limit(&place, &key("free")).await.has(&["overall_code: OK"]);
        }
        let refused = client.limit(&place, &key("free")).await;
        refused.has(&["overall_code: OVER_LIMIT", "retry-after", "rate_limited", "name: \"rate\""]);
        assert!(!refused.text.contains("x-sluicegate-status"), "429 is what a proxy answers by itself");
        for _ in 0..2 {
            client.limit(&place, &key("small")).await.has(&["overall_code: OK"]);
        }
        let spent = client.limit(&place, &key("small")).await;
        spent.has(&["OVER_LIMIT", "quota_exceeded", "x-sluicegate-status", "402", "unit: DAY"]);
        crate::golden::check("grpc_ratelimit.txt", &client.transcript);
    });
    place.at(1_000);
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &key("free")).await.has(&["overall_code: OK"]);
    });
    assert_eq!(place.used("free"), 3);
    assert_eq!(place.used("small"), 2);
}

#[test]
fn denials_that_no_limit_makes_are_told_by_their_status() {
    let place = Place::new(PLANS).caller("free");
    wait(async {
        let mut client = Client::of(&place).await;
        for (entries, status, error) in [
            (&[("api_key", "junk")][..], "403", "invalid_key"),
            (&[("api_key", "")], "401", "missing_key"),
            (&[("service_token", "junk")], "403", "invalid_key"),
            (&[("account", "nobody")], "403", "invalid_key"),
            (&[("api_key", "<free>"), ("api_key", "other")], "400", "ambiguous_key"),
            (&[("api_key", "<free>"), ("path", "/a/../b")], "400", "invalid_request"),
            (&[("api_key", "<free>"), ("path", "/write"), ("method", "post")], "403", "insufficient_scope"),
        ] {
            let denied = client.limit(&place, &descriptor(entries, "")).await;
            denied.has(&["overall_code: OVER_LIMIT", "x-sluicegate-status", status, error]);
        }
        crate::golden::check("grpc_ratelimit_denied.txt", &client.transcript);
    });
    assert_eq!(place.used("free"), 0);
}

#[test]
fn what_nothing_limits_is_ok() {
    let place = Place::new(PLANS);
    wait(async {
        let mut client = Client::of(&place).await;
        for entries in [
            &[("generic_key", "a")][..],
            &[("remote_address", "192.0.2.1")],
            &[("path", "/a"), ("method", "GET")],
        ] {
            let free = client.limit(&place, &descriptor(entries, "")).await;
            free.has(&["overall_code: OK"]);
            assert!(!free.text.contains("current_limit"), "{}", free.text);
            assert!(!free.text.contains("response_headers_to_add"), "{}", free.text);
        }
    });
}

#[test]
fn a_descriptor_brings_its_own_limit() {
    let mut place = Place::new(PLANS);
    let two = |value: &str| descriptor(&[("user", value)], "limit { requests_per_unit: 2 unit: MINUTE }");
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &two("a")).await.has(&["OK", "unit: MINUTE", "limit_remaining: 1"]);
        client.limit(&place, &two("a")).await.has(&["overall_code: OK"]);
        let refused = client.limit(&place, &two("a")).await;
        refused.has(&["overall_code: OVER_LIMIT", "duration_until_reset", "retry-after", "rate_limited"]);
        client.limit(&place, &two("b")).await.has(&["overall_code: OK"]);
        crate::golden::check("grpc_ratelimit_override.txt", &client.transcript);
    });
    place.at(60_000);
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &two("a")).await.has(&["overall_code: OK", "limit_remaining: 1"]);
        let nothing = descriptor(&[("user", "c")], "limit { requests_per_unit: 0 unit: DAY }");
        client.limit(&place, &nothing).await.has(&["overall_code: OVER_LIMIT", "rate_limited"]);
        let unit = descriptor(&[("user", "c")], "limit { requests_per_unit: 1 }");
        client.limit(&place, &unit).await.failed(3, "unit");
        let large = descriptor(
            &[("user", "a")],
            "limit { requests_per_unit: 2 unit: MINUTE } hits_addend { value: 3 }",
        );
        client.limit(&place, &large).await.has(&["OVER_LIMIT", "cost_exceeds_limit", "400"]);
    });
}

#[test]
fn the_policy_has_limits_for_descriptors() {
    let place = Place::new(
        "
tiers: {free: {rate: 100}}
descriptors:
  api:
    - {key: remote_address, limit: 2/minute}
    - {key: remote_address, value: 192.0.2.7, rate_limit: {unlimited: true}}
    - {key: plan, limit: 1/hour, shadow_mode: true, name: tried}
    - key: generic_key
      value: login
      name: login
      limit: 5/10s
      descriptors:
        - {key: user, limit: 1/hour, algorithm: token_bucket, burst: 1, name: per-user}
",
    );
    wait(async {
        let mut client = Client::of(&place).await;
        let address = |address| descriptor(&[("remote_address", address)], "");
        for said in ["overall_code: OK", "overall_code: OK", "overall_code: OVER_LIMIT"] {
            client.limit(&place, &address("192.0.2.1")).await.has(&[said, "unit: MINUTE"]);
        }
        client.limit(&place, &address("192.0.2.2")).await.has(&["overall_code: OK"]);
        for _ in 0..3 {
            let free = client.limit(&place, &address("192.0.2.7")).await;
            free.has(&["overall_code: OK", "limit_remaining: 4294967295"]);
            let tried = client.limit(&place, &descriptor(&[("plan", "a")], "")).await;
            tried.has(&["overall_code: OK", "name: \"tried\""]);
            assert!(!tried.text.contains("response_headers_to_add"), "{}", tried.text);
        }
        let login = [("generic_key", "login"), ("user", "alice")];
        client.limit(&place, &descriptor(&login, "")).await.has(&["overall_code: OK", "name: \"per-user\""]);
        client.limit(&place, &descriptor(&login, "")).await.has(&["overall_code: OVER_LIMIT"]);
        client
            .limit(&place, &descriptor(&login[..1], ""))
            .await
            .has(&["overall_code: OK", "name: \"login\""]);
        client.limit(&place, &descriptor(&login[1..], "")).await.has(&["overall_code: OK"]);
        let own = descriptor(&[("remote_address", "192.0.2.1")], "limit { requests_per_unit: 9 unit: DAY }");
        client.limit(&place, &own).await.has(&["overall_code: OK", "name: \"override\""]);
    });
}

#[test]
fn descriptors_that_would_look_alike_when_joined_are_not_one() {
    let place = Place::new(PLANS);
    let limit = "limit { requests_per_unit: 1 unit: DAY }";
    wait(async {
        let mut client = Client::of(&place).await;
        for entries in [
            &[("a", "b_c_d")][..],
            &[("a", "b"), ("c", "d")],
            &[("a_b", "c_d")],
            &[("a", ""), ("b", "c_d")],
            &[("a", "b_c"), ("d", "")],
        ] {
            client.limit(&place, &descriptor(entries, limit)).await.has(&["overall_code: OK"]);
        }
        let other = format!("domain: 'other' {}", descriptor(&[("a", "b_c_d")], limit));
        client.call(RATE_LIMIT, &other).await.has(&["overall_code: OK"]);
        let again = descriptor(&[("a", "b_c_d")], limit);
        client.limit(&place, &again).await.has(&["overall_code: OVER_LIMIT"]);
    });
}

#[test]
fn hits_are_counted_asked_about_and_given_back() {
    let place = Place::new(PLANS).caller("small").caller("free");
    let ten = |more: &str| {
        descriptor(&[("user", "a")], &format!("limit {{ requests_per_unit: 10 unit: DAY }} {more}"))
    };
    wait(async {
        let mut client = Client::of(&place).await;
        client.limit(&place, &format!("hits_addend: 3 {}", ten(""))).await.has(&["limit_remaining: 7"]);
        let five = format!("hits_addend: 3 {}", ten("hits_addend { value: 5 }"));
        client.limit(&place, &five).await.has(&["limit_remaining: 2"]);
        client.limit(&place, &ten(PEEK)).await.has(&["overall_code: OK", "limit_remaining: 2"]);
        client
            .limit(&place, &ten("hits_addend { value: 3 }"))
            .await
            .has(&["OVER_LIMIT", "limit_remaining: 2"]);
        let back = ten("hits_addend { value: 4 } is_negative_hits: true");
        client.limit(&place, &back).await.has(&["overall_code: OK", "limit_remaining: 6"]);
        client.limit(&place, &ten("is_negative_hits: true")).await.has(&["limit_remaining: 7"]);
        let caller = |more: &str| descriptor(&[("api_key", "<small>")], more);
        client.limit(&place, &caller("hits_addend { value: 2 }")).await.has(&["overall_code: OK"]);
        client.limit(&place, &caller(PEEK)).await.has(&["overall_code: OVER_LIMIT"]);
        client.limit(&place, &caller("is_negative_hits: true")).await.has(&["overall_code: OK"]);
        client.limit(&place, &caller(PEEK)).await.has(&["overall_code: OK"]);
        let dear = descriptor(&[("api_key", "<free>"), ("path", "/search/a?b=c")], "");
        client.limit(&place, &dear).await.has(&["overall_code: OK"]);
    });
    assert_eq!(place.used("small"), 1);
    assert_eq!(place.used("free"), 2, "without hits a request costs what its route does");
}

#[test]
fn callers_are_named_by_their_account_tier_or_address() {
    let plans = "{identity: {anonymous: free}, tiers: {free: {rate: 1, burst: 1}, pro: {rate: 5, burst: 5}}}";
    let place = Place::new(plans).caller("pro");
    wait(async {
        let mut client = Client::of(&place).await;
        let mut remaining = async |entries: &[(&str, &str)], expected: &str| {
            client.limit(&place, &descriptor(entries, "")).await.has(&[expected]);
        };
        remaining(&[("account", "acct_pro")], "limit_remaining: 4").await;
        remaining(&[("account", "acct_pro")], "limit_remaining: 3").await;
        remaining(&[("api_key", "<pro>")], "limit_remaining: 4").await;
        remaining(&[("account", "stranger"), ("tier", "pro")], "limit_remaining: 4").await;
        remaining(&[("account", "other"), ("tier", "pro")], "limit_remaining: 4").await;
        remaining(&[("remote_address", "192.0.2.1")], "overall_code: OK").await;
        remaining(&[("remote_address", "192.0.2.1")], "overall_code: OVER_LIMIT").await;
        remaining(&[("remote_address", "192.0.2.2")], "overall_code: OK").await;
        remaining(&[("remote_address", "198.51.100.1"), ("tier", "pro")], "limit_remaining: 4").await;
    });
}

#[test]
fn no_place_in_flight_is_held() {
    let place = Place::new(PLANS).caller("single");
    wait(async {
        let mut client = Client::of(&place).await;
        for _ in 0..3 {
            client.limit(&place, &key("single")).await.has(&["overall_code: OK"]);
            let twice = format!("{} {}", key("single"), descriptor(&[("generic_key", "a")], ""));
            client.limit(&place, &twice).await.has(&["overall_code: OK"]);
        }
    });
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let place = Place::new(PLANS);
    wait(async {
        let mut client = Client::of(&place).await;
        client.call(RATE_LIMIT, "").await.failed(3, "domain");
        client.call(RATE_LIMIT, "domain: 'a'").await.failed(3, "descriptor");
        client.call(RATE_LIMIT, "domain: 'a' descriptors {}").await.failed(3, "entry");
        client.call(RATE_LIMIT, "domain: 'a' descriptors { entries {} }").await.failed(3, "key");
        let many = descriptor(&[("a", "b")], "").repeat(101);
        client.limit(&place, &many).await.failed(3, "100");
        client.limit(&place, &descriptor(&[("a", "b")], "").repeat(100)).await.has(&["overall_code: OK"]);
        client.limit(&place, &descriptor(&[("a", "b"); 21], "")).await.failed(3, "20");
        client.limit(&place, &descriptor(&[("a", "b"); 20], "")).await.has(&["overall_code: OK"]);
        let huge = descriptor(&[("a", "b")], "hits_addend { value: 18446744073709551615 }");
        client.limit(&place, &huge).await.failed(3, "hits_addend");
    });
}
