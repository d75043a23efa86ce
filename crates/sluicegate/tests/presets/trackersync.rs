//! `trackersync.yaml`: a script that sends five at once, changes its name, goes on after refusals, and meets an outage.

use sluicegate_testkit::http::Caller;
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::spend::preset;
use crate::story::{five_at_once, four_of_ten, limit, post, rotate};

/// Goes on after a refusal until it is blocked.
fn hammer(bed: &Bed) {
    let mut caller = Caller::new(bed.server.gateway());
    let mut send = || caller.send(&post("/api/upload", "hammer", "203.0.113.4")).unwrap();
    let mut refusals = Vec::new();
    let blocked = loop {
        let answer = send();
        match answer.json()["error"].as_str() {
            None => assert!(refusals.is_empty(), "{answer:?}"),
            Some("rate_limited") => refusals.push(limit(&answer)),
            _ => break answer,
        }
        assert!(refusals.len() <= 10, "{refusals:?}");
    };
    // Ten refusals cost 50 points: less than 75 are left from the sixth on, and less than 50 never.
    assert_eq!(refusals.len(), 10, "{refusals:?}");
    assert_eq!((refusals[0], refusals[9]), (100, 60), "{refusals:?}");
    assert!(refusals.is_sorted_by(|one, next| one >= next), "{refusals:?}");
    assert_eq!((blocked.status, blocked.json()["error"].as_str()), (429, Some("blocked")), "{blocked:?}");
    assert!(blocked.number("Retry-After").is_some_and(|wait| (1..=60).contains(&wait)), "{blocked:?}");
}

#[test]
fn a_script_meets_limits_that_mean_something() {
    let bed = Bed::start(&preset("trackersync.yaml"));
    assert_eq!(five_at_once(&bed), 3);
    rotate(&bed);
    hammer(&bed);
}

#[test]
fn an_outage_of_the_store_leaves_four_of_ten_and_passes_by_itself() {
    let mut redis = RedisLaunch::new(Engine::Redis).start();
    let store = redis.url();
    let bed = Bed::start_with(&preset("trackersync.yaml"), |launch| {
        let secret = "a secret that all nodes of this test have";
        launch.arg("--store").arg(store).variable("SLUICEGATE_SECRET", secret)
    });
    assert_eq!(five_at_once(&bed), 3);
    redis.pause();
    four_of_ten(&bed);
    redis.resume();
    let mut caller = Caller::new(bed.server.gateway());
    wait::until("the store decides again", || {
        let answer = caller.send(&post("/api/upload", "a new visitor", "203.0.113.6")).unwrap();
        answer.header("x-sluicegate-mode").is_none().then_some(())
    });
}
