//! `ledger: {durability: strict}`: what is answered is on disk.

use std::thread;

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};

use crate::bed::{Bed, check, spool};
use crate::tally::{Tally, ledger, reconcile};

const POLICY: &str = "
tiers: {wide: {rate: 1_000_000, quota: 1_000_000, concurrency: 100}}
ledger: {durability: strict}
";

#[test]
fn strict_answers_come_from_the_disk_and_survive_a_kill() {
    let mut bed = Bed::start(POLICY);
    let key = bed.customer("acme", "wide");
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(&bed, &key))).collect();
        clients.into_iter().for_each(|client| tally.add(client.join().unwrap()));
    });
    assert_eq!(tally.0["acme"].admitted.len(), 4 * 60);
    bed.server.kill();
    let costs = reconcile(&tally, &ledger(&spool(&bed.data_dir())));
    assert_eq!(costs["acme"], 4 * 60);
    bed.restart();
    assert_eq!(bed.used("acme", "quota"), 4 * 60);
}

fn ask(bed: &Bed, key: &str) -> Tally {
    let mut tally = Tally::default();
    let (mut gateway, mut decision) = (Caller::new(bed.server.gateway()), Caller::new(bed.server.decision()));
    for _ in 0..20 {
        let answer = gateway.send(&Asked::get("/").key(key)).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        tally.admit("acme", answer.json()["headers"]["x-sluicegate-decision"].as_str().unwrap());
        let answer = decision.send(&check(&json!({"key": key}))).unwrap().json();
        assert_eq!(answer["allowed"], true, "{answer}");
        tally.admit("acme", answer["decision_id"].as_str().unwrap());
        let forwarded = Asked::get("/v1/forward-auth").key(key).header("X-Forwarded-Method", "GET");
        let answer = decision.send(&forwarded.header("X-Forwarded-Uri", "/")).unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        tally.admit("acme", answer.header("x-sluicegate-decision").unwrap());
    }
    tally
}
