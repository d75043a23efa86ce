//! The story of a free converter that a script has found: one limit that means something, for callers without a key.

mod story;

use sluicegate_testkit::http::Caller;
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use story::{five_at_once, four_of_ten, limit, post, rotate};

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
            .variable("SLUICEGATE_SECRET", "a secret that all nodes of this test have")
    });
    assert_eq!(five_at_once(&bed), 3);
    rotate(&bed);
    hammer(&bed);
    redis.kill();
    four_of_ten(&bed);
}
