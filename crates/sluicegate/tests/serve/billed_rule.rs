//! Recorded overage beside the rule: what was billed because a meter in Redis was wrong is put right by a repair, and
//! never on a guess.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::{Nodes, metered};
use crate::overage::{charge, expect, ledger};
use crate::reconciled_nodes::{lose_meters, repair_alone};
use crate::settling::{reconcile, url};

const POLICY: &str = "
tiers:
  fifty: {quota: 50, on_quota_exceeded: bill_overage}
  hundred: {quota: 100, on_quota_exceeded: bill_overage}
";
/// How long a call is under way before the node is killed.
const UNDER_WAY: Duration = Duration::from_millis(20);
const KILLS_MAX: usize = 12;

/// Sends a check and does not wait for the answer.
fn send_check(bed: &Bed, key: &str, cost: u64) -> TcpStream {
    let body = json!({"key": key, "cost": cost}).to_string();
    let mut stream = TcpStream::connect(bed.server.decision()).unwrap();
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

/// The label, the ledger's side and the other side of each difference.
fn differences(said: &Value) -> Vec<(String, i64, i64)> {
    let differences = said["differences"].as_array().unwrap().iter();
    let side = |it: &Value, name: &str| it[name].as_i64().unwrap();
    differences
        .map(|it| (it["limit"].as_str().unwrap().to_owned(), side(it, "ledger"), side(it, "other")))
        .collect()
}

/// What all ledgers say of the account together.
fn ledgers(nodes: &Nodes) -> (u64, i64) {
    let usage = nodes.nodes.iter().map(|node| node.get("/admin/v1/usage?account=acme"));
    usage.fold((0, 0), |(total, overage), usage| {
        (total + usage["total"].as_u64().unwrap(), overage + usage["overage"].as_i64().unwrap())
    })
}

/// Compares the first node and the others.
fn compare_all(nodes: &Nodes, more: &[&str]) -> Value {
    let others: Vec<String> = nodes.nodes[1..].iter().map(url).collect();
    let mut args: Vec<&str> = others.iter().flat_map(|other| ["--node", other.as_str()]).collect();
    args.extend(more);
    let (output, said) = reconcile(&nodes.nodes[0], &args);
    assert!(said.is_object(), "{output:?}");
    said
}

#[test]
fn overage_billed_because_of_calls_of_a_killed_node_is_given_back_by_a_repair() {
    let mut nodes = Nodes::start(POLICY, 1);
    let key = nodes.nodes[0].customer("acme", "fifty");
    for _ in 0..KILLS_MAX {
        let bed = &mut nodes.nodes[0];
        assert_eq!(bed.check(&json!({"key": key, "peek": true})).json()["allowed"], true);
        nodes.redis.pause();
        let stream = send_check(bed, &key, 5);
        wait::pause(UNDER_WAY);
        bed.server.kill();
        drop(stream);
        nodes.redis.resume();
        bed.restart();
        if metered(bed, "acme").is_some_and(|used| used >= 20) {
            break;
        }
    }
    let bed = &nodes.nodes[0];
    let above = wait::until("the meter", || metered(bed, "acme"));
    assert!(above >= 20, "the meter counts what nobody was answered: {above}");
    charge(bed, &key, 40);
    assert_eq!(ledger(bed, "acme"), (40, above - 10), "billed by the meter");

    let said = repair_alone(bed);
    let billed = ("quota:billed".to_owned(), i64::try_from(above).unwrap() - 10, 0);
    assert!(differences(&said).contains(&billed), "{said}");
    assert_eq!(said["repaired"].as_u64().unwrap(), differences(&said).len() as u64, "{said}");
    expect(bed, "acme", &key, 40, 0);
    charge(bed, &key, 11);
    expect(bed, "acme", &key, 51, 1);
    let audit = bed.get("/admin/v1/audit").to_string();
    assert!(audit.contains("quota:billed"), "{audit}");
}

#[test]
fn overage_that_a_lost_meter_did_not_bill_is_recorded_by_a_repair() {
    let nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "fifty");
    charge(bed, &key, 80);
    expect(bed, "acme", &key, 80, 30);
    lose_meters(&nodes);
    charge(bed, &key, 40);
    assert_eq!(ledger(bed, "acme"), (120, 30), "the meter was lost");
    repair_alone(bed);
    expect(bed, "acme", &key, 120, 70);
    charge(bed, &key, 1);
    expect(bed, "acme", &key, 121, 71);
}

/// A meter that says what was used, and a ledger whose overage is not the rule's.
#[test]
fn reconcile_shows_recorded_overage_that_is_not_what_the_rule_says() {
    let nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "fifty");
    charge(bed, &key, 60);
    lose_meters(&nodes);
    charge(bed, &key, 60);
    lose_meters(&nodes);
    // Nobody has charged since: the meter is empty, and says less than the records.
    let (output, said) = reconcile(bed, &[]);
    assert!(!output.status.success(), "{said}");
    let shown = differences(&said);
    assert!(!shown.iter().any(|(label, ..)| label == "quota:billed"), "the meter is wrong yet: {said}");
    let (output, said) = reconcile(bed, &["--repair", "--alone", "--yes"]);
    assert!(output.status.success(), "{output:?}");
    assert!(differences(&said).contains(&("quota:billed".to_owned(), 20, 70)), "{said}");
    expect(bed, "acme", &key, 120, 70);
}

#[test]
fn the_rule_holds_over_the_records_of_all_nodes() {
    let nodes = Nodes::start(POLICY, 2);
    let [one, other] = &nodes.nodes[..] else { panic!("two") };
    let key = one.customer("acme", "fifty");
    charge(one, &key, 40);
    charge(other, &key, 40);
    lose_meters(&nodes);
    charge(one, &key, 20);
    assert_eq!(ledgers(&nodes), (100, 30));
    let said = compare_all(&nodes, &["--repair", "--yes"]);
    assert!(differences(&said).contains(&("quota:billed".to_owned(), 30, 50)), "{said}");
    assert_eq!(ledgers(&nodes), (100, 50));
    let said = compare_all(&nodes, &[]);
    assert_eq!(said["differences"], json!([]), "{said}");
    charge(other, &key, 5);
    assert_eq!(ledgers(&nodes), (105, 55));
}

#[test]
fn nothing_is_billed_where_nodes_have_recorded_under_different_plans() {
    let nodes = Nodes::start(POLICY, 2);
    let [one, other] = &nodes.nodes[..] else { panic!("two") };
    let key = one.customer("acme", "fifty");
    charge(one, &key, 60);
    let moved = Asked::new("PUT", "/admin/v1/accounts/acme/tier").json(&json!({"tier": "hundred"}));
    assert_eq!(one.admin(moved).status, 200);
    wait::until("the other knows", || {
        let limits = other.get("/admin/v1/accounts/acme/limits");
        let quota = limits["items"].as_array()?.iter().find(|item| item["name"] == "quota")?.clone();
        (quota["limit"] == 100).then_some(())
    });
    lose_meters(&nodes);
    charge(other, &key, 90);
    assert_eq!(ledgers(&nodes), (150, 10));
    let said = compare_all(&nodes, &["--repair", "--yes"]);
    assert!(!said.to_string().contains("quota:billed"), "{said}");
    assert_eq!(ledgers(&nodes), (150, 10));
}

#[test]
fn a_single_node_on_redis_is_repaired_with_alone_as_its_refusal_says() {
    let nodes = Nodes::start(POLICY, 1);
    let bed = &nodes.nodes[0];
    let key = bed.customer("acme", "fifty");
    charge(bed, &key, 7);
    lose_meters(&nodes);
    let (output, _) = reconcile(bed, &["--repair", "--yes"]);
    let refused = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!output.status.success() && refused.contains("--alone"), "{refused}");
    let (output, said) = reconcile(bed, &["--repair", "--alone", "--yes"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said["repaired"], 1, "{said}");
    expect(bed, "acme", &key, 7, 0);
}
