//! Conditions of a real server: fired, delivered and resolved, across kills, nodes and a store that goes away.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::receiver::{Reaction, Received, Receiver};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::node;

const GOOD: &str = "tiers: {free: {rate: 10}}";
const BAD: &str = "tiers: {free: {rate: -10}, other: {rte: 1}}";

fn policy(tiers: &str, receiver: &Receiver) -> String {
    format!("{tiers}\nalerts: {{webhook: \"{}\"}}\n", receiver.url())
}

/// The type and the state of messages that were accepted, without repeats.
fn told(receiver: &Receiver) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let mut all = Vec::new();
    for Received { headers, body, .. } in receiver.accepted() {
        let id = headers["webhook-id"].clone();
        if !seen.contains(&id) {
            let body: Value = serde_json::from_str(&body).unwrap();
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            all.push((word(&body["type"]), word(&body["data"]["state"])));
            seen.push(id);
        }
    }
    all
}

/// Waits until this was told, in this order.
fn expect_told(receiver: &Receiver, expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> =
        expected.iter().map(|(kind, state)| ((*kind).to_owned(), (*state).to_owned())).collect();
    wait::within(Duration::from_secs(30), &format!("{expected:?}"), || {
        (told(receiver) == expected).then_some(())
    });
}

/// The lines of the log that have this in them.
fn lines(bed: &Bed, what: &str) -> Vec<String> {
    bed.server.said().lines().filter(|line| line.contains(what)).map(str::to_owned).collect()
}

#[test]
fn a_rejected_policy_is_told_once_and_told_to_be_over_also_across_kills() {
    let receiver = Receiver::start([Reaction::Answer(500), Reaction::Reset]);
    let mut bed = Bed::start_apart(&policy(GOOD, &receiver));
    fs::write(bed.policy_path(), policy(BAD, &receiver)).unwrap();
    wait::until("the first try", || (!receiver.received().is_empty()).then_some(()));
    // What was not delivered is delivered by the next process, and what is told again has the id that it had.
    fs::write(bed.policy_path(), policy(GOOD, &receiver)).unwrap();
    wait::until("both are kept", || (bed.get("/admin/v1/webhook")["pending"] == 2).then_some(()));
    bed.server.kill();
    receiver.react([Reaction::Reset]);
    bed.restart();
    wait::until("the second try", || (receiver.received().len() >= 2).then_some(()));
    bed.server.kill();
    bed.restart();
    expect_told(&receiver, &[("reload.rejected", "firing"), ("reload.rejected", "resolved")]);
    let received = receiver.received();
    assert_eq!(received[0].headers["webhook-id"], received[2].headers["webhook-id"]);
    wait::until("nothing waits", || (bed.get("/admin/v1/webhook")["pending"] == 0).then_some(()));
    let state = bed.get("/admin/v1/webhook");
    assert_eq!(
        (&state["delivered"], &state["last_error"], &state["dropped"]),
        (&json!(2), &Value::Null, &json!(0))
    );
    let items = bed.get("/admin/v1/alerts")["items"].clone();
    assert_eq!((items.as_array().unwrap().len(), &items[0]["state"]), (1, &json!("resolved")));
    let first = items[0]["first_problem"].as_str().unwrap();
    assert!(first.contains("policy.yaml:1:"), "{first}");
    assert_eq!(items[0]["problems"], 2);
}

#[test]
fn a_server_says_in_one_line_each_what_happens_to_it_for_people_and_for_programs() {
    for format in ["text", "json"] {
        let bed = Bed::start_with(GOOD, |launch| launch.arg("--log-format").arg(format));
        let key = bed.customer("acme", "free");
        for _ in 0..30 {
            bed.check(&json!({"key": key}));
        }
        fs::write(bed.policy_path(), BAD).unwrap();
        wait::until("the alert", || (lines(&bed, "alert fired").len() == 1).then_some(()));
        fs::write(bed.policy_path(), GOOD).unwrap();
        wait::until("its end", || (lines(&bed, "alert resolved").len() == 1).then_some(()));
        let all: Vec<String> = bed.server.said().lines().map(str::to_owned).collect();
        assert!(all.len() < 15, "no line for each request:\n{}", all.join("\n"));
        let rejected = &lines(&bed, "was not reloaded")[..];
        let [rejected] = rejected else { panic!("{rejected:?}") };
        assert_eq!(lines(&bed, "also wrong with the policy").len(), 1);
        let ready = &lines(&bed, "ready")[0];
        if format == "json" {
            let fields = |line: &str| serde_json::from_str::<Value>(line).unwrap()["fields"].clone();
            all.iter().for_each(|line| drop(fields(line)));
            let rejected = fields(rejected);
            assert_eq!((&rejected["line"], &rejected["problems"]), (&json!(1), &json!(2)));
            assert!(rejected["file"].as_str().unwrap().ends_with("policy.yaml"), "{rejected}");
            let ready = fields(ready);
            assert_eq!(
                (&ready["store"], &ready["policy"], &ready["accounts"]),
                (&json!("embedded"), &json!(1), &json!(0))
            );
            assert!(ready["recovery_ms"].is_u64() && ready["version"].is_string(), "{ready}");
            assert_eq!(ready["admin"], bed.server.admin().to_string());
            assert_eq!(fields(&lines(&bed, "alert fired")[0])["alert"], "reload.rejected");
        } else {
            assert!(rejected.contains("policy.yaml:1:") && rejected.contains("line=1"), "{rejected}");
            assert!(ready.contains("store=\"embedded\"") && ready.contains("recovery_ms="), "{ready}");
        }
    }
}

#[test]
fn refusals_of_real_requests_fire_and_are_delivered() {
    let receiver = Receiver::start([]);
    let bed = Bed::start(&policy(GOOD, &receiver));
    for _ in 0..120 {
        assert_eq!(bed.check(&json!({"key": "sg_live_nobody"})).json()["allowed"], false);
    }
    expect_told(&receiver, &[("refusals.share", "firing")]);
    let firing = bed.get("/admin/v1/alerts?state=firing")["items"].clone();
    assert_eq!((&firing[0]["type"], &firing[0]["resolved_at"]), (&json!("refusals.share"), &Value::Null));
    assert!(firing[0]["refused"].as_u64().unwrap() >= 100, "{firing}");
}

/// Stops the store, and tells whether the node gives it up. Meters are asked for callers that the node knows; where it
/// hears only then that the key is new, it has to ask for that first, and everything is once more as it was before.
fn is_given_up(node: &Bed, redis: &mut RedisServer, key: &str) -> bool {
    wait::until("the key is known", || {
        (node.check(&json!({"key": key})).json()["tier"] == "free").then_some(())
    });
    redis.pause();
    for _ in 0..60 {
        node.check(&json!({"key": key}));
        if node.health()["store"]["mode"] == "degraded" {
            return true;
        }
        wait::pause(Duration::from_millis(20));
    }
    redis.resume();
    false
}

#[test]
fn a_store_that_goes_away_is_told_by_the_node_itself_and_shown_by_all_when_it_is_back() {
    let receiver = Receiver::start([]);
    let mut redis = RedisLaunch::new(Engine::Redis).start();
    let text = policy(GOOD, &receiver);
    let nodes = [node(&text, &redis.url()), node(&text, &redis.url())];
    let key = nodes[0].customer("acme", "free");
    assert!((0..5).any(|_| is_given_up(&nodes[0], &mut redis, &key)), "the store is never given up");
    // Only one of them has asked, and noticed.
    let mine = wait::within(Duration::from_secs(30), "a message", || {
        let told = told(&receiver);
        told.contains(&("store.degraded".to_owned(), "firing".to_owned())).then_some(told.len())
    });
    assert!(mine <= 2, "once for each node");
    let listed = nodes[0].get("/admin/v1/alerts")["items"].clone();
    assert_eq!((&listed[0]["type"], &listed[0]["state"]), (&json!("store.degraded"), &json!("firing")));
    redis.resume();
    wait::within(Duration::from_secs(60), "its end", || {
        nodes[0].check(&json!({"key": key}));
        told(&receiver).contains(&("store.degraded".to_owned(), "resolved".to_owned())).then_some(())
    });
    let node = listed[0]["node"].as_str().unwrap();
    wait::within(Duration::from_secs(30), "the other node shows it", || {
        let listed = nodes[1].get("/admin/v1/alerts")["items"].clone();
        let is_it = |item: &&Value| item["node"] == node && item["state"] == "resolved";
        listed.as_array().unwrap().iter().find(is_it).map(drop)
    });
    assert_eq!(lines(&nodes[0], "the store is away: this node decides alone").len(), 1);
    assert_eq!(lines(&nodes[0], "the store is back").len(), 1);
}
