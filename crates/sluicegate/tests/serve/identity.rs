//! Accounts are who they are: usage and meters belong to an account, not to its name or to its place in a store.

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer, Sentinels};
use sluicegate_testkit::server::{ADMIN_TOKEN, Launch};
use sluicegate_testkit::wait;

use crate::bed::{Bed, PROGRAM};
use crate::nodes::{launch, metered, node};

const POLICY: &str = "tiers: {plan: {rate: 100_000, burst: 100_000, quota: 1_000}}";

/// Uses this much, once. A store that is too busy to answer in time has charged nothing.
fn use_up(bed: &Bed, key: &str, cost: u64) {
    wait::within(Duration::from_secs(20), "it is admitted", || {
        let answer = bed.check(&json!({"key": key, "cost": cost})).json();
        assert!(answer["allowed"] == true || answer["mode"] == "degraded", "{answer}");
        (answer["allowed"] == true).then_some(())
    });
}

fn total(bed: &Bed, account: &str) -> Value {
    bed.get(&format!("/admin/v1/usage?account={account}"))["total"].clone()
}

/// Runs `sluicegate directory adopt` beside this server.
fn adopt(bed: &Bed) -> Output {
    Command::new(PROGRAM)
        .args(["directory", "adopt", "--yes", "--data-dir"])
        .arg(bed.data_dir())
        .args(["--admin-url", &format!("http://{}", bed.server.admin())])
        .env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN)
        .output()
        .unwrap()
}

fn made(bed: &Bed, id: &str) -> sluicegate_testkit::http::Answer {
    bed.post("/admin/v1/accounts", &json!({"id": id, "name": id, "tier": "plan"}))
}

/// Whatever happened to the store: the next customer has used nothing, and what was used before stays what it was.
fn expect_no_inheritance(bed: &Bed, uid: &str) {
    let refused = made(bed, "newco");
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (409, &json!("store_not_adopted")),
        "{}",
        refused.text()
    );
    assert!(refused.text().contains("sluicegate directory adopt"), "{}", refused.text());
    let health = bed.health();
    assert_eq!(
        (&health["status"], &health["store"]["directory"]),
        (&json!("degraded"), &json!("emptied")),
        "{health}"
    );
    let adopted = adopt(bed);
    assert!(adopted.status.success(), "{adopted:?}");
    assert_eq!(
        String::from_utf8_lossy(&adopted.stdout),
        "The store is adopted. It has 0 accounts and 0 keys.\n"
    );
    assert_eq!(bed.health()["store"]["directory"], "known");
    let key = bed.customer("newco", "plan");
    assert_eq!((total(bed, "newco"), metered(bed, "newco")), (json!(0), Some(0)));
    use_up(bed, &key, 2);
    assert_eq!((total(bed, "newco"), metered(bed, "newco")), (json!(2), Some(2)));
    let old = bed.get(&format!("/admin/v1/usage?account=~{uid}"));
    assert_eq!(
        (&old["total"], &old["account"]["name"]),
        (&json!(7), &json!(format!("unknown-account-{uid}")))
    );
    let exported = bed.admin(Asked::get("/admin/v1/usage/export")).text();
    assert!(exported.contains(&format!(",unknown-account-{uid},")), "{exported}");
}

/// An account that has used 7, and its unique id.
fn customer(bed: &Bed) -> (String, String) {
    let key = bed.customer("acme", "plan");
    use_up(bed, &key, 7);
    let uid = bed.get("/admin/v1/accounts/acme")["uid"].as_str().unwrap().to_owned();
    (key, uid)
}

#[test]
fn after_a_store_was_emptied_the_first_new_customer_inherits_nothing() {
    let redis = RedisServer::new(Engine::Redis);
    let bed = node(POLICY, &redis.url());
    let (key, uid) = customer(&bed);
    redis.ask(&["FLUSHALL"]);
    // Who was seen is served.
    assert_eq!(bed.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
    expect_no_inheritance(&bed, &uid);
}

#[test]
fn after_a_restart_on_an_emptied_store_the_first_new_customer_inherits_nothing() {
    let redis = RedisServer::new(Engine::Redis);
    let mut bed = node(POLICY, &redis.url());
    let (key, uid) = customer(&bed);
    bed.server.terminate();
    bed.server.wait();
    redis.ask(&["FLUSHALL"]);
    bed.restart();
    // A customer whom this process never saw cannot be told from a stranger: nobody is told that the key is invalid.
    assert_eq!(bed.check(&json!({"key": key})).json()["error"], "unavailable");
    expect_no_inheritance(&bed, &uid);
}

#[test]
fn after_a_failover_that_lost_everything_the_first_new_customer_inherits_nothing() {
    let mut sentinels = Sentinels::start_with(&RedisLaunch::new(Engine::Redis));
    let bed = node(POLICY, &sentinels.url());
    let (_, uid) = customer(&bed);
    // The replicas never had what the primary had.
    let primary = sentinels.primary();
    let replicas: Vec<_> =
        sentinels.servers().iter().map(RedisServer::address).filter(|it| *it != primary).collect();
    for replica in replicas {
        let server = sentinels.server(replica);
        server.ask(&["CONFIG", "SET", "replica-read-only", "no"]);
        server.ask(&["FLUSHALL"]);
    }
    let old = sentinels.kill_primary();
    sentinels.wait_for_failover(old);
    wait::within(Duration::from_secs(20), "the store is seen empty", || {
        (bed.health()["store"]["directory"] == "emptied").then_some(())
    });
    expect_no_inheritance(&bed, &uid);
}

#[test]
fn after_a_failover_that_lost_the_last_writes_the_next_customer_inherits_nothing() {
    let redis = RedisServer::new(Engine::Redis);
    let bed = node(POLICY, &redis.url());
    bed.account("first", "plan");
    // What a replica has that takes over: everything but the last writes.
    let keys: Vec<String> = redis.ask(&["KEYS", "sg1:*"]).list().iter().map(|key| key.text()).collect();
    for key in &keys {
        redis.ask(&["COPY", key, key, "DB", "1"]);
    }
    let (_, uid) = customer(&bed);
    redis.ask(&["FLUSHDB"]);
    redis.ask(&["SWAPDB", "0", "1"]);
    let key = bed.customer("newco", "plan");
    assert_eq!((total(&bed, "newco"), metered(&bed, "newco")), (json!(0), Some(0)));
    use_up(&bed, &key, 2);
    assert_eq!((total(&bed, "newco"), total(&bed, &format!("~{uid}"))), (json!(2), json!(7)));
}

fn deleted_and_made_again(bed: &Bed) {
    let (key, uid) = customer(bed);
    assert_eq!(bed.admin(Asked::new("DELETE", "/admin/v1/accounts/acme")).status, 204);
    // As long as nobody else has the name, it means the one that had it.
    let alone = bed.get("/admin/v1/usage?account=acme");
    assert_eq!((&alone["total"], &alone["account"]["uid"]), (&json!(7), &json!(uid)), "{alone}");
    assert_eq!(alone["account"]["name"], json!(format!("acme~{uid}")));
    assert!(alone["account"]["deleted_at"].is_string(), "{alone}");
    let second = bed.customer("acme", "plan");
    assert_eq!(bed.check(&json!({"key": key})).json()["error"], "invalid_key");
    let now = bed.get("/admin/v1/usage?account=acme");
    assert_eq!((&now["total"], &now["account"]["deleted_at"]), (&json!(0), &Value::Null), "{now}");
    assert_eq!(now["account"]["earlier"], json!([format!("acme~{uid}")]));
    assert_eq!(metered(bed, "acme"), Some(0), "its meters are its own");
    use_up(bed, &second, 4);
    for (name, used) in [("acme".to_owned(), 4), (format!("acme~{uid}"), 7), (format!("~{uid}"), 7)] {
        assert_eq!(total(bed, &name), used, "{name}");
    }
    let unknown = bed.admin(Asked::get(&format!("/admin/v1/usage?account=other~{uid}")));
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    let exported = bed.admin(Asked::get("/admin/v1/usage/export")).text();
    let of = |name: &str| exported.lines().filter(|line| line.split(',').nth(1) == Some(name)).count();
    assert_eq!((of("acme"), of(&format!("acme~{uid}"))), (1, 1), "{exported}");
    let compared = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile")).json();
    assert_eq!(compared["differences"], json!([]), "{compared}");
}

#[test]
fn an_account_that_is_deleted_and_made_again_is_another_customer() {
    let mut bed = Bed::start(POLICY);
    deleted_and_made_again(&bed);
    bed.server.terminate();
    bed.server.wait();
    bed.restart();
    assert_eq!((total(&bed, "acme"), metered(&bed, "acme")), (json!(4), Some(4)));
}

#[test]
fn an_account_that_is_deleted_and_made_again_in_redis_is_another_customer() {
    let redis = RedisServer::new(Engine::Redis);
    deleted_and_made_again(&node(POLICY, &redis.url()));
}

/// How a server ends that does not start on this store.
fn refusal(launch: &Launch) -> String {
    let ended = launch.run();
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.said.contains("was used with another store"), "{}", ended.said);
    assert!(ended.said.contains("sluicegate directory adopt --data-dir"), "{}", ended.said);
    ended.said
}

#[test]
fn a_data_directory_is_not_used_with_another_store_until_that_is_adopted() {
    let (here, there) = (RedisServer::new(Engine::Redis), RedisServer::new(Engine::Redis));
    let other = node(POLICY, &there.url());
    other.account("theirs", "plan");
    let mut bed = node(POLICY, &here.url());
    let (key, uid) = customer(&bed);
    bed.server.terminate();
    bed.server.wait();
    let moved = launch(POLICY, &there.url(), bed.folder.path());
    refusal(&moved);
    let alone = Launch::new(PROGRAM, bed.folder.path()).policy(POLICY);
    let said = refusal(&alone);
    assert!(said.contains("(redis, and this is embedded)"), "{said}");
    bed.restart();
    assert_eq!(bed.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
    bed.server.terminate();
    bed.server.wait();
    let adopted = adopt(&bed);
    assert!(adopted.status.success(), "{adopted:?}");
    assert!(String::from_utf8_lossy(&adopted.stdout).contains("The next start"), "{adopted:?}");
    bed.launch = moved;
    bed.restart();
    assert_eq!(total(&bed, "theirs"), 0);
    assert_eq!(total(&bed, &format!("~{uid}")), 7);
}
