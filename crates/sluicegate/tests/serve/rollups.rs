//! Roll-ups from outside: a changed sum is found, a lost database comes back, and test keys are billed by nobody.

use std::fs;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;

use crate::bed::{Bed, PROGRAM};
use crate::nodes::Nodes;

const POLICY: &str =
    "tiers: {metered: {rate: 100_000, burst: 100_000, quota: 10, on_quota_exceeded: bill_overage}}\n";

fn stop(bed: &mut Bed) {
    bed.server.terminate();
    bed.server.wait();
}

fn verify(bed: &Bed) -> (i32, Value) {
    let mut command = Command::new(PROGRAM);
    command.args(["audit", "verify", "--json", "--data-dir"]).arg(bed.data_dir());
    let ended = command.output().unwrap();
    let said = serde_json::from_slice(&ended.stdout);
    (ended.status.code().unwrap(), said.unwrap_or_else(|_| panic!("{ended:?}")))
}

fn export(bed: &Bed, format: &str) -> String {
    let answer = bed.admin(Asked::get(&format!("/admin/v1/usage/export?format={format}")));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

#[test]
fn a_sum_that_was_changed_in_the_database_is_found_and_set_right_from_the_records() {
    let mut bed = Bed::start(POLICY);
    let key = bed.customer("acme", "metered");
    for _ in 0..7 {
        assert_eq!(bed.check(&json!({"key": key})).json()["allowed"], true);
    }
    // An export rolls everything up first.
    assert!(export(&bed, "csv").lines().count() > 1);
    stop(&mut bed);
    let (status, said) = verify(&bed);
    assert!(status == 0 && said["rollups"].as_u64() >= Some(1), "{said}");
    let database = Connection::open(bed.data_dir().join("ledger/usage.db")).unwrap();
    for table in ["quarters", "account_quarters"] {
        let last = "quarter = (SELECT max(quarter) FROM quarters)";
        let changed = database.execute(&format!("UPDATE {table} SET charged = charged + 5 WHERE {last}"), []);
        assert_eq!(changed.unwrap(), 1);
    }
    drop(database);
    let (status, said) = verify(&bed);
    assert_eq!((status, &said["valid"]), (1, &json!(false)), "{said}");
    assert!(said["problem"].as_str().unwrap().contains("the sums are not what was signed"), "{said}");
    assert!(said["file"].as_str().unwrap().ends_with("usage.db"), "{said}");

    bed.restart();
    assert_eq!(bed.get("/admin/v1/usage?account=acme")["total"], 12);
    let repair = "/admin/v1/usage/reconcile?against=records&repair=true";
    let repaired = bed.admin(Asked::new("POST", repair)).json();
    assert_eq!((&repaired["repaired"], &repaired["drift"]["units"]), (&json!(1), &json!(5)), "{repaired}");
    assert_eq!(bed.get("/admin/v1/usage?account=acme")["total"], 7);
    assert_eq!(bed.get("/admin/v1/audit")["items"][0]["action"], "rollup.repair");
    stop(&mut bed);
    assert_eq!(verify(&bed).0, 0);
}

#[test]
fn a_database_that_is_lost_comes_back_with_the_same_node_and_usage() {
    let mut bed = Bed::start(POLICY);
    let key = bed.customer("acme", "metered");
    for cost in 1..=5 {
        assert_eq!(bed.check(&json!({"key": key, "cost": cost})).json()["allowed"], true);
    }
    let before = bed.get("/admin/v1/usage");
    stop(&mut bed);
    for name in ["usage.db", "usage.db-wal", "usage.db-shm"] {
        let _ = fs::remove_file(bed.data_dir().join("ledger").join(name));
    }
    bed.restart();
    let after = bed.get("/admin/v1/usage");
    assert_eq!(
        (&after["node"], &after["total"], &after["overage"]),
        (&before["node"], &json!(15), &json!(5))
    );
    stop(&mut bed);
    assert_eq!(verify(&bed).0, 0);
}

/// A test key after its pool is spent, a live key beyond its quota, and what the ledger says of both.
fn test_keys_are_apart(bed: &Bed) {
    let live = bed.customer("acme", "metered");
    let test = bed.key_with("acme", &json!({"env": "test"})).key;
    let allowed =
        |key: &str, cost: u64| bed.check(&json!({"key": key, "cost": cost})).json()["allowed"].clone();
    assert_eq!(
        (allowed(&test, 9), allowed(&test, 2), allowed(&test, 1)),
        (json!(true), json!(false), json!(true))
    );
    assert_eq!(allowed(&test, 1), json!(false), "refused even under bill_overage");
    assert_eq!((allowed(&live, 10), allowed(&live, 3)), (json!(true), json!(true)));
    let usage = bed.get("/admin/v1/usage?account=acme");
    assert_eq!(
        (&usage["total"], &usage["test"], &usage["overage"]),
        (&json!(23), &json!(10), &json!(3)),
        "{usage}"
    );
    let limits = bed.get("/admin/v1/accounts/acme/limits");
    let quotas = limits["items"].as_array().unwrap().iter().filter(|item| item["name"] == "quota");
    let said: Vec<_> = quotas.map(|item| (item["env"].clone(), item["used"].clone())).collect();
    assert_eq!(said, [(Value::Null, json!(13)), (json!("test"), json!(10))], "{limits}");
    let csv = export(bed, "csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|it| *it == name).unwrap();
    let (env, unit, total, overage) = (column("env"), column("unit"), column("total"), column("overage"));
    let mut said: Vec<_> =
        rows[1..].iter().map(|row| (row[env], row[unit], row[total], row[overage])).collect();
    said.sort_unstable();
    assert_eq!(said, [("live", "requests", "13", "3"), ("test", "requests", "10", "0")], "{csv}");
    let lines = export(bed, "jsonl");
    let mut said: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| (row["env"].to_string(), row["unit"].to_string(), row["total"].to_string()))
        .collect();
    said.sort_unstable();
    let row = |env: &str, total: &str| (format!("\"{env}\""), "\"requests\"".to_owned(), total.to_owned());
    assert_eq!(said, [row("live", "13"), row("test", "10")], "{lines}");
    let agree = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile?against=meters")).json();
    // The quota of live keys, its overage, and the pool of test keys.
    assert_eq!((&agree["compared"], &agree["differences"]), (&json!(3), &json!([])), "{agree}");
}

#[test]
fn test_keys_have_a_pool_of_their_own_and_are_never_billed() {
    test_keys_are_apart(&Bed::start(POLICY));
}

#[test]
fn test_keys_have_a_pool_of_their_own_in_redis_too() {
    test_keys_are_apart(&Nodes::start(POLICY, 1).nodes[0]);
}
