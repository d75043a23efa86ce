//! How a server ends and changes its mind: SIGTERM and SIGHUP.

use std::fs;
use std::io::Write as _;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller, connect};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::{Bed, check};

#[test]
fn sigterm_lets_requests_in_flight_finish() {
    let (arrived_in, arrived) = channel();
    let (go_in, go) = channel::<()>();
    let (arrived_in, go) = (Mutex::new(arrived_in), Mutex::new(go));
    let upstream = Upstream::start(move |_, mut stream| {
        arrived_in.lock().unwrap_or_else(PoisonError::into_inner).send(()).unwrap();
        go.lock().unwrap_or_else(PoisonError::into_inner).recv().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone");
    });
    let policy = "tiers: {pro: {concurrency: 9, quota: 100, quota_window: sliding_day}}";
    let mut bed = Bed::start_with(policy, |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("acme", "pro");
    let mut idle = Caller::new(bed.server.decision());
    assert_eq!(idle.send(&Asked::get("/health")).unwrap().status, 200);
    let mut caller = Caller::new(bed.server.gateway());
    caller.begin(&Asked::get("/slow").key(&key)).unwrap();
    arrived.recv().unwrap();

    bed.server.terminate();
    wait::until("it accepts nothing new", || connect(bed.server.gateway()).is_err().then_some(()));
    assert!(bed.server.is_running(), "{}", bed.server.said());
    go_in.send(()).unwrap();
    let answer = caller.finish().unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "done"));
    assert_eq!(bed.server.wait().code(), Some(0), "{}", bed.server.said());

    // The next one has nothing to count again, and knows what was used.
    bed.restart();
    assert_eq!((bed.used("acme", "quota"), bed.used("acme", "concurrency")), (1, 0));
    let said = bed.server.said();
    assert!(said.contains("records=0"), "{said}");
}

#[test]
fn signals_are_heard_from_the_moment_it_is_ready() {
    let mut bed = Bed::start("tiers: {pro: {rate: 10}}");
    for _ in 0..5 {
        bed.server.hang_up();
        bed.server.terminate();
        assert_eq!(bed.server.wait().code(), Some(0), "{}", bed.server.said());
        bed.restart();
    }
}

#[test]
fn sighup_reads_the_policy_again() {
    let bed = Bed::start("tiers: {pro: {rate: 10, burst: 20}}");
    let key = bed.customer("acme", "pro");
    fs::write(bed.policy_path(), "tiers: {pro: {rate: 11, burst: 22}}").unwrap();
    bed.server.hang_up();
    wait::until("the new policy is in force", || {
        let answer = bed.gateway(&Asked::get("/").key(&key));
        (answer.header("x-ratelimit-limit") == Some("11")).then_some(())
    });
    assert_eq!(bed.health()["policy"]["version"], 2);
}

#[test]
fn a_change_of_what_needs_a_restart_is_said_and_nothing_else_is() {
    let policy = "tiers: {pro: {rate: 10, burst: 20}}";
    let bed = Bed::start(policy);
    let key = bed.customer("acme", "pro");
    let reload = |text: &str, rate: &str| {
        fs::write(bed.policy_path(), text).unwrap();
        wait::until("the new policy is in force", || {
            let answer = bed.gateway(&Asked::get("/").key(&key));
            (answer.header("x-ratelimit-limit") == Some(rate)).then_some(())
        });
    };
    // The addresses come from the command line, which the file does not change.
    reload("tiers: {pro: {rate: 11, burst: 22}}", "11");
    assert!(!bed.server.said().contains("restart to apply"), "{}", bed.server.said());
    reload("server: {timeouts: {read: 7s}}\ntiers: {pro: {rate: 12, burst: 24}}", "12");
    wait::until("it says so", || bed.server.said().contains("restart to apply").then_some(()));
}

#[test]
fn permits_of_the_decision_api_end_with_their_finish() {
    let bed = Bed::start("tiers: {pro: {concurrency: 1, quota: 100, quota_window: sliding_day}}");
    let key = bed.customer("acme", "pro");
    let mut caller = Caller::new(bed.server.decision());
    let held = caller.send(&check(&json!({"key": key, "cost": 5}))).unwrap().json();
    let permit = held["permit"].as_str().unwrap_or_else(|| panic!("{held}")).to_owned();
    let refused = caller.send(&check(&json!({"key": key}))).unwrap().json();
    assert_eq!(refused["error"], "concurrency_limited");
    assert_eq!((bed.used("acme", "quota"), bed.used("acme", "concurrency")), (5, 1));
    let finish = Asked::new("POST", "/v1/finish").json(&json!({"permit": permit, "status": 200, "cost": 7}));
    assert_eq!(caller.send(&finish).unwrap().status, 200);
    assert_eq!((bed.used("acme", "quota"), bed.used("acme", "concurrency")), (7, 0));
    // Once.
    let again = caller.send(&finish).unwrap().json();
    assert_eq!((&again["reserved"], &again["settled"]), (&5.into(), &7.into()));
    assert_eq!(bed.used("acme", "quota"), 7);
}
