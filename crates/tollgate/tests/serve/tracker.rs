//! The story of a free converter that a script has found: one limit that means something, for callers without a key.

use std::sync::Barrier;
use std::thread;

use tollgate_testkit::http::{Answer, Asked, Caller};
use tollgate_testkit::redis::{Engine, RedisLaunch};
use tollgate_testkit::wait;

use crate::bed::Bed;

const POLICY: &str = "
server: {trusted_proxies: [127.0.0.1/32]}
identity: {anonymous: free}
routes:
  convert: {match: \"POST /api/convert\"}
  upload: {match: \"POST /api/upload\"}
reputation: {penalty: 5, recover: 100/2s}
pressure: {fingerprints: 20, window: 10m, squeeze_to: 50%, for: 1h}
degraded: {cap: 40%, quota: local}
tiers:
  free:
    limits:
      conversions: {algorithm: sliding_window, limit: 3/day, routes: [convert], per: client}
      uploads: {algorithm: fixed_window, limit: 100/day, routes: [upload], per: client}
";

fn post(path: &str, agent: &str, address: &str) -> Asked {
    Asked::new("POST", path).header("User-Agent", agent).header("X-Forwarded-For", address).body("x")
}

/// What the limit of an answer is.
fn limit(answer: &Answer) -> u64 {
    answer.number("RateLimit-Limit").unwrap_or_else(|| panic!("no limit: {answer:?}"))
}

/// Five at once, of which three are supposed to succeed.
fn five_at_once(bed: &Bed) -> usize {
    let barrier = Barrier::new(5);
    thread::scope(|scope| {
        let running: Vec<_> = (0..5)
            .map(|_| {
                scope.spawn(|| {
                    let mut caller = Caller::new(bed.server.gateway());
                    barrier.wait();
                    caller.send(&post("/api/convert", "script", "203.0.113.1")).unwrap().status
                })
            })
            .collect();
        running
            .into_iter()
            .filter(|_| true)
            .map(|it| it.join().unwrap())
            .filter(|status| *status == 200)
            .count()
    })
}

/// A script that changes its name with every request.
fn rotate(bed: &Bed) {
    let mut caller = Caller::new(bed.server.gateway());
    let household: Vec<u64> = (0..4)
        .map(|number| caller.send(&post("/api/upload", &format!("browser {number}"), "203.0.113.2")).unwrap())
        .map(|answer| limit(&answer))
        .collect();
    assert_eq!(household, [100; 4]);
    let answers: Vec<Answer> = (0..60)
        .map(|number| caller.send(&post("/api/upload", &format!("script {number}"), "203.0.113.2")).unwrap())
        .collect();
    assert_eq!(limit(answers.last().unwrap()), 50);
    assert!(answers.iter().all(|answer| answer.status == 200), "squeezed, not blocked");
    let elsewhere = caller.send(&post("/api/upload", "browser 1", "203.0.113.3")).unwrap();
    assert_eq!(limit(&elsewhere), 100);
}

/// Goes on after a refusal, again and again.
fn hammer(bed: &Bed) {
    let mut caller = Caller::new(bed.server.gateway());
    let mut seen = Vec::new();
    let mut send = || caller.send(&post("/api/upload", "hammer", "203.0.113.4")).unwrap();
    for _ in 0..200 {
        let answer = send();
        if answer.status == 429 && seen.last() != Some(&limit(&answer)) {
            seen.push(limit(&answer));
        }
        if seen.last() == Some(&10) {
            break;
        }
    }
    // 50 points come back in a second here, so what a slow machine sees may be a step more; never one less.
    assert!(seen.starts_with(&[100, 60]) && seen.contains(&30) && seen.contains(&10), "{seen:?}");
    wait::until("it has its limits again", || {
        (limit(&send()) == 100).then_some(()).or_else(|| {
            wait::pause(std::time::Duration::from_millis(1_600));
            None
        })
    });
}

#[test]
fn a_script_meets_a_limit_that_means_something_on_one_node() {
    let bed = Bed::start(POLICY);
    assert_eq!(five_at_once(&bed), 3);
    rotate(&bed);
    hammer(&bed);
}

#[test]
fn a_script_meets_a_limit_that_means_something_on_nodes_that_share_a_store() {
    let mut redis = RedisLaunch::new(Engine::Redis).start();
    let store = redis.url();
    let bed = Bed::start_with(POLICY, |launch| {
        launch
            .arg("--store")
            .arg(store)
            .variable("TOLLGATE_SECRET", "a secret that all nodes of this test have")
    });
    assert_eq!(five_at_once(&bed), 3);
    rotate(&bed);
    hammer(&bed);
    // The store goes away: four of ten, for whoever it is.
    redis.kill();
    let mut caller = Caller::new(bed.server.gateway());
    let mut send = || caller.send(&post("/api/upload", "a visitor", "203.0.113.5")).unwrap();
    let statuses: Vec<u16> = (0..60).map(|_| send().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 40, "{statuses:?}");
    assert_eq!(send().header("x-tollgate-mode"), Some("degraded"));
}
