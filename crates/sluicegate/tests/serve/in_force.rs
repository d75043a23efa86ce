//! A true cost above the reservation is in force when its finish is answered, at every node.

use serde_json::json;
use sluicegate_testkit::http::Caller;

use crate::bed::{Bed, check};
use crate::nodes::Nodes;
use crate::overage::{charge, finish};

const POLICY: &str = "
tiers:
  metered: {rate: 100_000, burst: 100_000, quota: 1_000}
  small: {quota: 1_000}
";

/// How many of these requests pass, asked one right after the other.
fn passing(bed: &Bed, key: &str) -> usize {
    let mut caller = Caller::new(bed.server.decision());
    let asked = check(&json!({"key": key}));
    (0..20).filter(|_| caller.send(&asked).unwrap().json()["allowed"] == true).count()
}

#[test]
fn nothing_passes_a_quota_after_a_finish_has_answered() {
    let nodes = Nodes::start(POLICY, 2);
    for (tier, finisher, asked) in [("metered", 0, 0), ("metered", 0, 1), ("small", 1, 0), ("small", 1, 1)] {
        let account = format!("{tier}-{finisher}-{asked}");
        let key = nodes.nodes[0].customer(&account, tier);
        for node in &nodes.nodes {
            assert_eq!(node.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
        }
        let held = charge(&nodes.nodes[0], &key, 1);
        finish(&nodes.nodes[finisher], &held, 200, 5_000);
        assert_eq!(passing(&nodes.nodes[asked], &key), 0, "{account}");
    }
}
