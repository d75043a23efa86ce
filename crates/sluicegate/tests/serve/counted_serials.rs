//! What versions before unique ids have left behind: data directories and Redis are read, and go on as they were.
//!
//! `tests/fixtures/counted-serials/make.py` has made them.

use std::process::Command;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::{Engine, RedisServer};
use sluicegate_testkit::server::Launch;

use crate::bed::{Bed, PROGRAM};
use crate::fixtures::Fixtures;
use crate::nodes::{launch, metered};

const POLICY: &str = "
tiers: {plan: {rate: 100_000, burst: 100_000, quota: 1_000}}
ledger: {retain: 3650d}
";
const CLOCK: &str = "2026-11-10 12:00:00";

const FIXTURES: Fixtures = Fixtures("counted-serials");

/// A Redis that holds what it held.
fn redis() -> RedisServer {
    let server = RedisServer::new(Engine::Redis);
    FIXTURES.load_into(&server);
    server
}

fn used(bed: &Bed, account: &str) -> Value {
    bed.get(&format!("/admin/v1/usage?account={account}"))["total"].clone()
}

/// Keys, accounts and usage are what they were, and go on.
fn goes_on(bed: &Bed, store: &str) {
    for (account, uid, total) in [("acme", "1", 7), ("other", "3", 3)] {
        assert_eq!(bed.get(&format!("/admin/v1/accounts/{account}"))["uid"], uid);
        assert_eq!(used(bed, account), total, "{account}");
        let answer = bed.check(&json!({"key": FIXTURES.key(store, account), "cost": 10}));
        assert_eq!(answer.json()["allowed"], true, "{}", answer.text());
        assert_eq!(used(bed, account), total + 10, "{account}");
    }
    assert_eq!(bed.check(&json!({"key": FIXTURES.key(store, "gone")})).json()["error"], "invalid_key");
    assert_eq!(used(bed, "~2"), 5);
}

/// What is new is new.
fn makes_others(bed: &Bed) {
    // Whoever has one of the names next has neither the serial nor the meters.
    assert_eq!(bed.admin(Asked::new("DELETE", "/admin/v1/accounts/acme")).status, 204);
    bed.customer("acme", "plan");
    let uid: u64 = bed.get("/admin/v1/accounts/acme")["uid"].as_str().unwrap().parse().unwrap();
    assert!(uid > 1 << 32, "{uid}");
    assert_eq!((used(bed, "acme"), metered(bed, "acme")), (json!(0), Some(0)));
    assert_eq!(used(bed, "acme~1"), 17);
    let listed = bed.get("/admin/v1/accounts");
    let ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["other", "acme"]);
}

/// The meters say what the records of both versions say.
fn agrees(bed: &Bed) {
    let compared = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile")).json();
    assert_eq!(compared["differences"], json!([]), "{compared}");
}

/// The proof of what was recorded holds, over both versions.
fn verify(bed: &mut Bed) {
    bed.server.terminate();
    bed.server.wait();
    let verified =
        Command::new(PROGRAM).args(["audit", "verify", "--data-dir"]).arg(bed.data_dir()).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn a_data_directory_of_before_is_read_and_goes_on() {
    let folder = FIXTURES.unpacked("embedded.tar.gz");
    let launch = Launch::new(PROGRAM, folder.path())
        .policy(POLICY)
        .variable("SLUICEGATE_SECRET", "a secret that all nodes of this test have")
        .clock(CLOCK);
    let mut bed = Bed::launched(launch, folder);
    assert_eq!((metered(&bed, "acme"), metered(&bed, "other")), (Some(7), Some(3)));
    goes_on(&bed, "embedded");
    assert_eq!((metered(&bed, "acme"), metered(&bed, "other")), (Some(17), Some(13)));
    makes_others(&bed);
    agrees(&bed);
    verify(&mut bed);
}

/// The meters in a Redis, by the homes they belong to.
fn homes(redis: &RedisServer) -> Vec<String> {
    let pattern = format!("sg1:{{{}}}", "?".repeat(32));
    let mut homes: Vec<String> = redis.ask(&["KEYS", &pattern]).list().iter().map(|key| key.text()).collect();
    homes.sort_unstable();
    homes
}

#[test]
fn a_redis_of_before_and_its_node_are_read_and_go_on() {
    let (redis, folder) = (redis(), FIXTURES.unpacked("node.tar.gz"));
    let mut bed = Bed::launched(launch(POLICY, &redis.url(), folder.path()), folder);
    let before = homes(&redis);
    assert_eq!(before.len(), 3, "{before:?}");
    goes_on(&bed, "redis");
    assert_eq!(homes(&redis), before, "the same meters count on");
    makes_others(&bed);
    agrees(&bed);
    verify(&mut bed);
}

#[test]
fn a_data_directory_of_before_is_not_used_with_another_kind_of_store() {
    let (redis, folder) = (redis(), FIXTURES.unpacked("embedded.tar.gz"));
    let ended = launch(POLICY, &redis.url(), folder.path()).run();
    assert!(ended.said.contains("(embedded, and this is redis)"), "{}", ended.said);
    let folder = FIXTURES.unpacked("node.tar.gz");
    let ended = Launch::new(PROGRAM, folder.path()).policy(POLICY).run();
    assert!(ended.said.contains("(redis, and this is embedded)"), "{}", ended.said);
}
