//! Shares of quotas are announced by a real server, once, also across kills and nodes.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::Nodes;

const POLICY: &str = "
tiers:
  metered: {quota: 10, on_quota_exceeded: bill_overage, overage_cap: 5}
";

fn alerts(bed: &Bed) -> Vec<Value> {
    bed.get("/admin/v1/alerts")["items"].as_array().unwrap().clone()
}

/// What was announced, once there are so many, the oldest first.
fn announced(bed: &Bed, count: usize) -> Vec<(String, u64)> {
    let patience = Duration::from_secs(20);
    let mut alerts = wait::within(patience, "alerts", || Some(alerts(bed)).filter(|all| all.len() >= count));
    alerts.reverse();
    let said =
        |alert: &Value| (alert["type"].as_str().unwrap().to_owned(), alert["percent"].as_u64().unwrap());
    alerts.iter().map(said).collect()
}

fn spend(bed: &Bed, key: &str, cost: u64) -> bool {
    bed.check(&json!({"key": key, "cost": cost})).json()["allowed"].as_bool().unwrap()
}

fn five() -> Vec<(String, u64)> {
    let shares = [50, 80, 90, 100].map(|percent| ("quota.threshold".to_owned(), percent));
    shares.into_iter().chain([("quota.overage".to_owned(), 100)]).collect()
}

#[test]
fn each_share_is_listed_once_also_after_a_kill() {
    let mut bed = Bed::start_apart(POLICY);
    let key = bed.customer("acme", "metered");
    assert!(spend(&bed, &key, 8));
    assert_eq!(announced(&bed, 2), five()[..2]);
    bed.server.kill();
    bed.restart();
    for _ in 0..3 {
        assert!(spend(&bed, &key, 1));
    }
    assert_eq!(announced(&bed, 5), five());
    assert!(spend(&bed, &key, 4) && !spend(&bed, &key, 1));
    let listed = alerts(&bed);
    assert_eq!(listed.len(), 5);
    let newest = &listed[0];
    assert_eq!((&newest["account"], &newest["limit"]), (&json!("acme"), &json!("quota")));
    assert_eq!((&newest["used"], &newest["limit_amount"], newest.get("key")), (&json!(11), &json!(10), None));
    assert!(newest["id"].as_str().unwrap().starts_with("alr_"), "{newest}");
    assert!(newest["period_end"].as_str().unwrap().ends_with("-01T00:00:00.000Z"), "{newest}");
    let page = bed.get("/admin/v1/alerts?limit=2");
    assert_eq!(page["items"].as_array().unwrap()[..], listed[..2]);
    let next = page["next"].as_str().unwrap();
    let rest = bed.get(&format!("/admin/v1/alerts?cursor={next}"));
    assert_eq!((&rest["items"].as_array().unwrap()[..], &rest["next"]), (&listed[2..], &Value::Null));
}

#[test]
fn every_node_shows_the_same_alerts() {
    let nodes = Nodes::start(POLICY, 2);
    let (one, other) = (&nodes.nodes[0], &nodes.nodes[1]);
    let key = one.customer("acme", "metered");
    for node in [one, other].repeat(6) {
        assert!(spend(node, &key, 1));
    }
    assert_eq!(announced(one, 5), five());
    assert_eq!(alerts(one), alerts(other));
}
