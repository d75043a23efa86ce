//! What callers are told, over real sockets and in both stores: waits that are long enough, and one value per header.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::Nodes;

/// Runs a test on a node alone, and on one whose meters are in a Redis.
fn in_both_stores(policy: &str, test: impl Fn(&Bed)) {
    test(&Bed::start(policy));
    test(&Nodes::start(policy, 1).nodes[0]);
}

fn retry_after_ms(answer: &Value) -> u64 {
    answer["retry_after_ms"].as_u64().unwrap()
}

#[test]
fn whoever_waits_as_told_after_a_refusal_that_cost_it_its_reputation_is_admitted() {
    let policy = "
reputation: {applies_to: all, penalty: 30, recover: 1/10m}
tiers: {free: {rate: 10, burst: 20}}
";
    in_both_stores(policy, |bed| {
        let key = bed.customer("acme", "free");
        let check = |cost: u64| bed.check(&json!({"key": key, "cost": cost})).json();
        assert_eq!(check(20)["allowed"], true);
        let refused = check(5);
        assert_eq!((&refused["allowed"], &refused["error"]), (&json!(false), &json!("rate_limited")));
        wait::pause(Duration::from_millis(retry_after_ms(&refused)));
        let later = check(5);
        assert_eq!(later["allowed"], true, "after {refused}: {later}");
        assert_eq!(later["limits"][0]["limit"], 6, "60 % of 10 per second: {later}");
    });
}

#[test]
fn a_full_house_is_told_a_second_first_and_then_what_requests_take() {
    in_both_stores("tiers: {one: {concurrency: 1}}", |bed| {
        let key = bed.customer("acme", "one");
        let hold = || bed.check(&json!({"key": key, "hold": true})).json();
        let held = hold();
        let refused = hold();
        assert_eq!((&refused["error"], retry_after_ms(&refused)), (&json!("concurrency_limited"), 1_000));
        // All faces say the same.
        let plain = bed.gateway(&Asked::get("/").key(&key));
        assert_eq!((plain.header("retry-after"), retry_after_ms(&plain.json())), (Some("1"), 1_000));
        let grpc = Asked::new("POST", "/echo.Echo/Say").key(&key).header("content-type", "application/grpc");
        assert_eq!(bed.gateway(&grpc).header("grpc-retry-pushback-ms"), Some("1000"));
        wait::pause(Duration::from_millis(300));
        let finish = Asked::new("POST", "/v1/finish").json(&json!({"permit": held["permit"], "status": 200}));
        let finished = sluicegate_testkit::http::Caller::new(bed.server.decision()).send(&finish).unwrap();
        assert_eq!(finished.status, 200, "{}", finished.text());
        // In a Redis the slot is freed in the background.
        wait::until("the slot is free", || hold()["allowed"].as_bool().unwrap().then_some(()));
        let told = retry_after_ms(&hold());
        assert!((300..5_000).contains(&told), "{told} ms after a request of about 300 ms");
    });
}

#[test]
fn an_upstream_that_names_its_limit_only_makes_no_second_header() {
    let upstream = Upstream::start(|_, mut stream| {
        let head =
            "HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
    });
    let bed = Bed::start_with("tiers: {free: {rate: 10, burst: 20}}", |launch| {
        launch.arg("--upstream").arg(upstream.url())
    });
    let key = bed.customer("acme", "free");
    let answer = bed.gateway(&Asked::get("/").key(&key));
    let limits: Vec<&str> = answer
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("x-ratelimit-limit"))
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(limits, ["10"]);
}
