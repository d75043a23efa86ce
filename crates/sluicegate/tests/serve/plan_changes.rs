//! Another tier in the middle of a period, where the meters are in a Redis.

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::Nodes;

const POLICY: &str = "
tiers:
  small: {rate: 20/day, quota: 10, quota_window: sliding_day}
  large: {rate: 50/day, quota: 100}
  billed: {quota: 5, on_quota_exceeded: bill_overage}
";

fn put(bed: &Bed, path: &str, body: &Value) -> Value {
    let answer = bed.admin(Asked::new("PUT", &format!("/admin/v1/accounts/acme/{path}")).json(body));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// What each limit says, but for the time, which goes on.
fn said(limits: &Value) -> Vec<(String, u64, u64, u64)> {
    let number = |item: &Value, name: &str| item[name].as_u64().unwrap();
    let of = |item: &Value| {
        let name = item["name"].as_str().unwrap().to_owned();
        (name, number(item, "limit"), number(item, "used"), number(item, "remaining"))
    };
    limits["items"].as_array().unwrap().iter().map(of).collect()
}

fn limits(bed: &Bed) -> Vec<(String, u64, u64, u64)> {
    said(&bed.get("/admin/v1/accounts/acme/limits"))
}

#[test]
fn what_nodes_share_is_kept_and_previewed_without_a_change() {
    let nodes = Nodes::start(POLICY, 2);
    let (one, other) = (&nodes.nodes[0], &nodes.nodes[1]);
    let key = one.customer("acme", "small");
    assert_eq!(one.check(&json!({"key": key, "cost": 7})).json()["allowed"], true);
    let before = (limits(one), one.get("/admin/v1/accounts/acme"), one.get("/admin/v1/audit"));
    let body = json!({"tier": "large"});
    let preview = put(other, "tier?preview=true", &body);
    assert_eq!((&preview["preview"], &preview["tier"]), (&json!(true), &json!("large")));
    let quota = ("quota".to_owned(), 100, 7, 93);
    assert!(said(&preview["limits"]).contains(&quota), "{preview}");
    assert_eq!((limits(one), one.get("/admin/v1/accounts/acme"), one.get("/admin/v1/audit")), before);
    let changed = put(other, "tier", &body);
    assert_eq!(said(&changed["limits"]), said(&preview["limits"]));
    assert_eq!(changed.get("preview"), None);
    let billed = put(one, "tier", &json!({"tier": "billed"}));
    assert_eq!(said(&billed["limits"]), [("quota".to_owned(), 5, 7, 0)]);
    let custom = json!({"quota": 12});
    let preview = put(one, "custom?preview=true", &custom);
    assert_eq!(said(&preview["limits"]), [("quota".to_owned(), 12, 7, 5)]);
    assert_eq!(said(&put(one, "custom", &custom)["limits"]), said(&preview["limits"]));
}

#[test]
fn negotiated_quotas_must_not_count_for_longer_than_records_are_kept() {
    let bed = Bed::start(&format!("{POLICY}ledger: {{raw: 40d}}\n"));
    bed.account("acme", "small");
    let set = |body: &Value| bed.admin(Asked::new("PUT", "/admin/v1/accounts/acme/custom").json(body));
    let quota = |limit: &str| json!({"limits": {"x": {"algorithm": "fixed_window", "limit": limit, "axis": "quota"}}});
    let refused = set(&quota("9/38d"));
    assert_eq!(refused.status, 422, "{}", refused.text());
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("`ledger.raw` of the policy is 40 days, and must be at least 41 days"),
        "{detail}"
    );
    let accepted = set(&quota("9/37d"));
    assert_eq!(accepted.status, 200, "{}", accepted.text());
    // A policy that keeps them for less says whose quota needs more, and keeps them all the same.
    std::fs::write(bed.policy_path(), format!("{POLICY}ledger: {{raw: 35d}}\n")).unwrap();
    wait::until("the policy is loaded", || (bed.health()["policy"]["version"] == 2).then_some(()));
    wait::until("it is said", || {
        bed.server.said().contains("too short for the negotiated quota").then_some(())
    });
}

/// Nothing that was negotiated depends on it.
#[test]
fn what_to_do_while_redis_is_away_can_be_changed_while_it_is() {
    let mut nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "small");
    assert_eq!(bed.check(&json!({"key": key})).json()["allowed"], true);
    nodes.redis.kill();
    let bed = &nodes.nodes[0];
    let check = || bed.check(&json!({"key": key})).json();
    wait::until("it is away", || (check()["mode"] == "degraded").then_some(()));
    assert_eq!(check()["allowed"], false);
    std::fs::write(bed.policy_path(), format!("{POLICY}degraded: {{rate: open, quota: open}}\n")).unwrap();
    wait::until("the policy is loaded", || (bed.health()["policy"]["version"] == 2).then_some(()));
    assert_eq!(check()["allowed"], true);
}
