//! The books of nodes that share meters: each has its own records, and together they say what the meters should.

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered};

const POLICY: &str = "tiers: {plan: {rate: 100_000, burst: 100_000, quota: 1_000_000}}";
const RECONCILE: &str = "/admin/v1/usage/reconcile";

/// Two nodes, of which one admitted 30 and the other 12 of the same account.
fn nodes() -> Nodes {
    let nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "plan");
    for (node, cost) in nodes.nodes.iter().zip([30, 12]) {
        assert_eq!(node.check(&json!({"key": key, "cost": cost})).json()["allowed"], true);
    }
    nodes
}

fn reconcile(node: &Bed, query: &str, others: &str) -> Value {
    let asked = Asked::new("POST", &format!("{RECONCILE}{query}"));
    let asked = if others.is_empty() { asked } else { asked.header("Content-Type", "text/csv").body(others) };
    let answer = node.admin(asked);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// What a node says that its records come to, as the other is told.
fn told_by(node: &Bed) -> String {
    let all = reconcile(node, "?against=meters&all=true", "");
    let found = all["agreeing"].as_array().into_iter().chain(all["differences"].as_array()).flatten();
    let line = |item: &Value| {
        let (account, limit) = (item["account"].as_str().unwrap(), item["limit"].as_str().unwrap());
        format!("{account},{limit},,{}\n", item["ledger"])
    };
    format!("account,limit,key,total\n{}", found.map(line).collect::<String>())
}

#[test]
fn the_records_of_all_nodes_together_are_what_the_meter_says() {
    let nodes = nodes();
    let [one, other] = [&nodes.nodes[0], &nodes.nodes[1]];
    for (node, used) in [(one, 30), (other, 12)] {
        assert_eq!(node.get("/admin/v1/usage?account=acme")["total"], used);
    }
    // One alone cannot explain it; both can.
    assert_eq!(reconcile(one, "", "")["drift"], json!({"accounts": 1, "units": 12}));
    let together = reconcile(one, "?against=meters", &told_by(other));
    assert_eq!((&together["compared"], &together["differences"]), (&json!(1), &json!([])), "{together}");
}

#[test]
fn a_meter_that_redis_has_lost_is_set_right_from_the_records_of_all_nodes() {
    let nodes = nodes();
    let [one, other] = [&nodes.nodes[0], &nodes.nodes[1]];
    let redis = &nodes.redis;
    let keys = redis.ask(&["KEYS", &format!("sg1:{{{}}}", "?".repeat(32))]);
    let names: Vec<String> = keys.list().iter().map(|key| key.text()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    redis.ask(&["DEL", &names[0]]);
    assert_eq!(metered(one, "acme"), Some(0));

    // Whoever knows of nobody else would set it to what a part of the requests used.
    let refused = one.admin(Asked::new("POST", &format!("{RECONCILE}?repair=true")));
    assert_eq!((refused.status, refused.json()["field"].as_str()), (400, Some("repair")));
    let repaired = reconcile(one, "?against=meters&repair=true", &told_by(other));
    assert_eq!((&repaired["repaired"], &repaired["drift"]["units"]), (&json!(1), &json!(42)), "{repaired}");
    assert_eq!((metered(one, "acme"), metered(other, "acme")), (Some(42), Some(42)));
    assert_eq!(reconcile(other, "?against=meters", &told_by(one))["differences"], json!([]));
    let audit = one.get("/admin/v1/audit");
    assert_eq!(audit["items"][0]["action"], "meter.repair");
    assert_eq!(audit["items"][0]["after"], json!({"limit": "quota", "used": 42}));
}
