//! Making the server work for nothing.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller, connect};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use super::THREE;
use crate::bed::Bed;

#[test]
fn attack_13_a_request_that_is_taken_back_has_cost_what_it_costs() {
    let upstream = Upstream::start(|_, stream| {
        // It never answers; the connection ends with the caller's.
        let _ = (&stream).read(&mut [0; 1]);
    });
    let tier = "pro: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}";
    let policy = format!("server: {{upstream: \"{}\"}}\ntiers: {{{tier}}}\n", upstream.url());
    let bed = Bed::start(&policy);
    let key = bed.customer("acme", "pro");
    for number in 1..=3 {
        let mut caller = Caller::new(bed.server.gateway());
        caller.begin(&Asked::get("/").key(&key)).unwrap();
        wait::until("it is charged", || (bed.used("acme", "daily") == number).then_some(()));
        drop(caller);
    }
    assert_eq!(bed.gateway(&Asked::get("/").key(&key)).status, 429);
}

#[test]
fn attack_14_whoever_sends_a_head_byte_by_byte_is_not_waited_for() {
    let bed = Bed::start(&format!(
        "server: {{timeouts: {{header: 1s}}}}\n{}",
        THREE.trim_start().split_once('\n').unwrap().1
    ));
    let mut stream = connect(bed.server.gateway()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut rest = Vec::new();
    // It is closed, with or without a word; a read that times out would be an error.
    stream.read_to_end(&mut rest).unwrap();
    let mut huge = connect(bed.server.gateway()).unwrap();
    huge.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").unwrap();
    let line = format!("X-Large: {}\r\n", "a".repeat(8_000));
    let sent = (0..100).take_while(|_| huge.write_all(line.as_bytes()).is_ok()).count();
    let mut answer = Vec::new();
    let _ = huge.read_to_end(&mut answer);
    assert!(sent < 100 || answer.starts_with(b"HTTP/1.1 431"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn attack_15_finishing_twice_or_with_junk_changes_nothing() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    let held = bed.check(&json!({"key": key, "hold": true})).json();
    let mut caller = Caller::new(bed.server.decision());
    let mut finish = |permit: &serde_json::Value, cost: i64| {
        let body = json!({"permit": permit, "status": 200, "cost": cost});
        caller.send(&Asked::new("POST", "/v1/finish").json(&body)).unwrap()
    };
    for cost in [2, 100, 0] {
        // The first answer stands.
        assert_eq!(finish(&held["permit"], cost).json()["settled"], 2);
    }
    for junk in [json!("junk"), json!(""), json!(7), json!(null), json!("a".repeat(10_000))] {
        assert!((400..=422).contains(&finish(&junk, 1).status), "{junk}");
    }
    assert!((400..=422).contains(&finish(&held["permit"], -1).status));
    assert_eq!(bed.used("acme", "daily"), 2);
}

#[test]
fn attack_21_a_flood_of_junk_keys_is_stopped_by_its_address() {
    let bed = Bed::start(&format!("edge: {{rate: 1/minute, burst: 20}}\n{THREE}"));
    let mut caller = Caller::new(bed.server.gateway());
    let junk = |number: u32| Asked::get("/").key(&format!("sg_live_{number:08}_{}", "a".repeat(38)));
    let statuses: Vec<u16> = (0..30).map(|number| caller.send(&junk(number)).unwrap().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 20);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 10);
    let refused = caller.send(&junk(99)).unwrap();
    assert_eq!(
        (refused.json()["error"].as_str(), refused.json()["limit"].as_str()),
        (Some("rate_limited"), Some("edge"))
    );
    assert!(refused.number("retry-after").is_some_and(|wait| (1..=60).contains(&wait)));
}
