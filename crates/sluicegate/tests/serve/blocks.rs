//! Blocks: what one of several nodes blocks, all of them do; and what a node alone blocks outlives it.

use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, node};

const POLICY: &str = "
identity: {anonymous: free}
tiers:
  free: {rate: 1/day, burst: 2}
blocks: {applies_to: clients, after: 5, within: 1m, for: 10m, max: 1h}
reputation: {applies_to: clients}
";

const BLOCKS: &str = "/admin/v1/blocks";

/// What a client is answered. A peek is held against nobody.
fn answer(node: &Bed, peek: bool) -> String {
    let client = json!({"ip": "203.0.113.9", "headers": {"user-agent": "scraper"}});
    let answer = node.check(&json!({"client": client, "peek": peek})).json();
    answer["error"].as_str().unwrap_or("none").to_owned()
}

fn soon(node: &Bed, expected: &str) {
    wait::within(Duration::from_secs(5), expected, || (answer(node, true) == expected).then_some(()));
}

fn listed(node: &Bed) -> Vec<Value> {
    node.admin(Asked::get(BLOCKS)).json()["items"].as_array().unwrap().clone()
}

#[test]
fn what_one_node_blocks_all_of_them_do_until_one_lifts_it() {
    let nodes = Nodes::start(POLICY, 2);
    let [one, two] = &nodes.nodes[..] else { panic!("two nodes") };
    let answers: Vec<String> = (0..8).map(|_| answer(one, false)).collect();
    let refused = ["rate_limited"; 5];
    assert_eq!(answers, [&["none"; 2][..], &refused, &["blocked"]].concat());
    soon(two, "blocked");
    let block = &listed(two)[0];
    assert_eq!((&block["origin"], &block["kind"]), (&json!("automatic"), &json!("client")));

    // One that starts now knows it from its first request on.
    let three = node(POLICY, &nodes.redis.url());
    soon(&three, "blocked");

    let path = format!("{BLOCKS}/{}", block["id"].as_str().unwrap());
    assert_eq!(three.admin(Asked::new("DELETE", &path)).status, 204);
    for node in [one, two, &three] {
        soon(node, "rate_limited");
        assert_eq!(listed(node), Vec::<Value>::new());
    }
}

#[test]
fn an_administrator_blocks_and_pardons_on_every_node() {
    let nodes = Nodes::start(POLICY, 2);
    let [one, two] = &nodes.nodes[..] else { panic!("two nodes") };
    assert_eq!(
        [answer(one, false), answer(one, false), answer(two, false)],
        ["none", "none", "rate_limited"]
    );
    (0..4).for_each(|_| drop(answer(two, false)));
    soon(one, "blocked");
    let id = listed(one)[0]["id"].as_str().unwrap().to_owned();
    let client = one.admin(Asked::get(&format!("/admin/v1/clients/{id}"))).json();
    assert_eq!(client["strikes"], json!({"count": 5, "limit": 5}));
    assert_eq!(client["reputation"]["score"], 75);
    let reset = Asked::new("DELETE", &format!("/admin/v1/clients/{id}/reputation"));
    assert_eq!(two.admin(reset).status, 204);
    soon(one, "rate_limited");
    let client = one.admin(Asked::get(&format!("/admin/v1/clients/{id}"))).json();
    assert_eq!((&client["strikes"]["count"], &client["reputation"]["score"]), (&json!(0), &json!(100)));

    let block = Asked::new("POST", BLOCKS).json(&json!({"client": id, "for": "1d", "reason": "by hand"}));
    assert_eq!(one.admin(block).status, 201);
    soon(two, "blocked");
    assert_eq!(listed(two)[0]["reason"], "by hand");
}

#[test]
fn nobody_is_blocked_by_hand_while_the_other_nodes_cannot_be_told() {
    let mut nodes = Nodes::start(POLICY, 1);
    nodes.redis.kill();
    let block = json!({"client": "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0"});
    let answer = nodes.nodes[0].admin(Asked::new("POST", BLOCKS).json(&block));
    assert_eq!(answer.status, 503);
    assert_eq!(listed(&nodes.nodes[0]), Vec::<Value>::new());
}

#[test]
fn a_node_alone_that_is_killed_still_blocks_whom_it_blocked() {
    let mut bed = Bed::start(POLICY);
    (0..7).for_each(|_| drop(answer(&bed, false)));
    assert_eq!(answer(&bed, true), "blocked");
    let automatic = listed(&bed);
    // Automatic blocks are on disk a moment later, what an administrator does when it is answered.
    wait::pause(Duration::from_secs(1));
    let by_hand = json!({"client": "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0", "for": "1d", "reason": "by hand"});
    assert_eq!(bed.post(BLOCKS, &by_hand).status, 201);
    let before = listed(&bed);
    assert_eq!((automatic.len(), before.len()), (1, 2));
    bed.server.kill();
    bed.restart();
    assert_eq!(listed(&bed), before);
    assert_eq!(answer(&bed, true), "blocked");

    let path = format!("{BLOCKS}/{}", automatic[0]["id"].as_str().unwrap());
    assert_eq!(bed.admin(Asked::new("DELETE", &path)).status, 204);
    bed.server.kill();
    bed.restart();
    assert_eq!(answer(&bed, true), "rate_limited");
    assert_eq!(listed(&bed).len(), 1);
}
