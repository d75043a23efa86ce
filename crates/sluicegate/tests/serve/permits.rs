//! Permits through the real binary: leases that travel between nodes and over restarts, settled once.

use std::io::ErrorKind;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::faketime::WallClock;
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::{Bed, slow};
use crate::nodes::{Nodes, launch, metered};

const POLICY: &str = "
tiers:
  pro: {quota: 1_000_000, concurrency: 3}
  metered: {quota: 1_000_000}
  kind: {quota: 1_000_000, refund_on: 5xx}
";

const FINISH: &str = "/v1/finish";
const RENEW: &str = "/v1/renew";

fn held(bed: &Bed, body: &Value) -> String {
    let answer = bed.check(body).json();
    answer["permit"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn post(bed: &Bed, path: &str, body: &Value) -> Answer {
    Caller::new(bed.server.decision()).send(&Asked::new("POST", path).json(body)).unwrap()
}

fn finish(bed: &Bed, permit: &str, cost: u64) -> Answer {
    post(bed, FINISH, &json!({"permit": permit, "status": 200, "cost": cost}))
}

/// What a finish says was reserved and settled.
#[track_caller]
fn settled(answer: &Answer) -> (u64, u64) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    (answer["reserved"].as_u64().unwrap(), answer["settled"].as_u64().unwrap())
}

/// The status and the word for it.
fn refused(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

/// Waits until the meter says so much, and the ledgers of all nodes together agree.
#[track_caller]
fn expect_used(nodes: &[&Bed], account: &str, used: u64) {
    wait::until("the meter has it", || (metered(nodes[0], account)? == used).then_some(()));
    // One that gives back what another has charged says less than nothing.
    let ledger =
        |node: &&Bed| node.get(&format!("/admin/v1/usage?account={account}"))["total"].as_i64().unwrap();
    assert_eq!(nodes.iter().map(ledger).sum::<i64>(), i64::try_from(used).unwrap());
}

/// Runs a test in memory, and on a node whose meters are in a Redis.
fn in_both_stores(test: impl Fn(Bed)) {
    test(Bed::start(POLICY));
    let redis = RedisLaunch::new(Engine::Redis).start();
    let folder = tempfile::tempdir().unwrap();
    let launch = launch(POLICY, &redis.url(), folder.path());
    test(Bed::launched(launch, folder));
}

#[test]
fn a_permit_of_one_node_is_finished_and_renewed_at_another() {
    let nodes = Nodes::start(POLICY, 2);
    let [one, other] = [&nodes.nodes[0], &nodes.nodes[1]];
    let key = one.customer("acme", "pro");
    let permit = held(one, &json!({"key": key, "cost": 5}));
    let renewed = post(other, RENEW, &json!({"permit": permit, "hold_for": "10m"})).json();
    assert_eq!(renewed["permit_expires_ms"], 600_000, "{renewed}");
    assert_eq!(one.used("acme", "concurrency"), 1);
    assert_eq!(settled(&finish(other, renewed["permit"].as_str().unwrap(), 7)), (5, 7));
    wait::until("the slot is free", || (one.used("acme", "concurrency") == 0).then_some(()));
    // By either text, at either node.
    assert_eq!(settled(&finish(one, &permit, 1)), (5, 7));
    expect_used(&[one, other], "acme", 7);
    let late = post(one, RENEW, &json!({"permit": permit, "hold_for": "10m"}));
    assert_eq!(refused(&late), (409, "permit_finished".to_owned()));
}

#[test]
fn a_permit_outlives_the_process_and_is_settled_once_by_any_of_them() {
    in_both_stores(|mut bed| {
        let key = bed.customer("acme", "metered");
        let permits: Vec<String> =
            (0..4).map(|_| held(&bed, &json!({"key": key, "cost": 5, "hold": true}))).collect();
        assert_eq!(settled(&finish(&bed, &permits[0], 2)), (5, 2));
        bed.server.kill();
        bed.restart();
        assert_eq!(settled(&finish(&bed, &permits[0], 9)), (5, 2));
        assert_eq!(settled(&finish(&bed, &permits[1], 9)), (5, 9));
        assert_eq!(settled(&finish(&bed, &permits[2], 5)), (5, 5));
        bed.server.terminate();
        bed.server.wait();
        bed.restart();
        for (permit, answer) in permits.iter().zip([(5, 2), (5, 9), (5, 5), (5, 0)]) {
            assert_eq!(settled(&finish(&bed, permit, 0)), answer);
        }
        expect_used(&[&bed], "acme", 16);
    });
}

#[test]
fn of_two_finishes_at_two_nodes_at_once_one_settles_and_both_say_the_same() {
    let nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "metered");
    let mut total = 0;
    for _ in 0..20 {
        let permit = held(&nodes.nodes[0], &json!({"key": key, "cost": 5, "hold": true}));
        let barrier = Barrier::new(2);
        let answers: Vec<(u64, u64)> = thread::scope(|scope| {
            let both: Vec<_> = (0..2)
                .map(|place| {
                    let (node, permit, barrier) = (&nodes.nodes[place], &permit, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        settled(&finish(node, permit, 3 + 6 * place as u64))
                    })
                })
                .collect();
            both.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(answers[0], answers[1]);
        total += answers[0].1;
    }
    expect_used(&[&nodes.nodes[0], &nodes.nodes[1]], "acme", total);
}

#[test]
fn a_permit_cannot_be_guessed_forged_or_taken_from_a_server_with_another_secret() {
    let (bed, foreign) = (Bed::start(POLICY), Bed::start(POLICY));
    let key = bed.customer("acme", "metered");
    let answer = bed.check(&json!({"key": key, "cost": 5, "hold": true})).json();
    let permit = answer["permit"].as_str().unwrap().to_owned();
    let theirs = held(&foreign, &json!({"key": foreign.customer("acme", "metered"), "hold": true}));
    let guessed = answer["decision_id"].as_str().unwrap().replace("dec_", "permit_");
    let cut = permit[..permit.len() - 4].to_owned();
    let mut forged: Vec<String> = vec![guessed, cut, theirs, "permit_".to_owned(), format!("{permit}A")];
    for place in (7..permit.len()).step_by(13) {
        let mut bytes = permit.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        forged.push(String::from_utf8(bytes).unwrap());
    }
    for text in &forged {
        assert_eq!(refused(&finish(&bed, text, 0)), (404, "unknown_permit".to_owned()), "{text}");
        let renewed = post(&bed, RENEW, &json!({"permit": text, "hold_for": "1h"}));
        assert_eq!(refused(&renewed), (404, "unknown_permit".to_owned()), "{text}");
    }
    assert_eq!(bed.used("acme", "quota"), 5);
    assert_eq!(settled(&finish(&bed, &permit, 0)), (5, 0));
}

#[test]
fn a_permit_lives_as_long_as_it_is_held_for() {
    in_both_stores(|bed| {
        let key = bed.customer("acme", "pro");
        let long = bed.check(&json!({"key": key, "hold_for": "1h"})).json();
        assert_eq!(long["permit_expires_ms"], 3_600_000, "{long}");
        let batch = json!({"checks": [{"key": key, "hold_for": "1s"}, {"key": key}]});
        let batch = post(&bed, "/v1/check/batch", &batch).json();
        let lives: Vec<u64> =
            (0..2).map(|place| batch["results"][place]["permit_expires_ms"].as_u64().unwrap()).collect();
        assert_eq!(lives, [1_000, 60_000]);
        assert_eq!(bed.check(&json!({"key": key})).json()["error"], "concurrency_limited");
        // A second later the shortest is free.
        wait::until("its lease has ended", || (bed.used("acme", "concurrency") == 2).then_some(()));
        let short = batch["results"][0]["permit"].as_str().unwrap();
        let renewed = post(&bed, RENEW, &json!({"permit": short, "hold_for": "1h"}));
        assert_eq!(refused(&renewed), (410, "permit_expired".to_owned()));
        // Late, and settled all the same.
        assert_eq!(settled(&finish(&bed, short, 4)), (1, 4));
        for body in [json!({"hold_for": "25h"}), json!({"hold_for": "0s"}), json!({"hold_for": 60})] {
            let mut check = json!({"key": key});
            check.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
            assert_eq!(bed.check(&check).json()["field"], "hold_for", "{body}");
        }
    });
}

#[test]
fn a_finish_is_settled_up_to_a_day_after_the_lease_and_not_later() {
    let folder = tempfile::tempdir().unwrap();
    let wall = WallClock::new(folder.path());
    let mut bed = Bed::start_with(POLICY, |launch| launch.wall_clock(&wall));
    let key = bed.customer("acme", "metered");
    let permits: Vec<String> =
        (0..2).map(|_| held(&bed, &json!({"key": key, "cost": 5, "hold": true}))).collect();
    for (hours, permit, answer) in [(23, &permits[0], 200), (25, &permits[1], 410)] {
        bed.server.terminate();
        bed.server.wait();
        wall.step_to(hours * 3_600);
        bed.restart();
        assert_eq!(finish(&bed, permit, 8).status, answer);
    }
    let total = bed.get("/admin/v1/usage?account=acme&from=2020-01-01T00:00:00Z&to=2050-01-01T00:00:00Z");
    assert_eq!(total["total"], 13, "{total}");
    // The answer to the first is known as long as a permit of its time may be.
    assert_eq!(refused(&finish(&bed, &permits[1], 8)), (410, "permit_expired".to_owned()));
}

#[test]
fn after_a_restart_the_slots_of_services_still_count() {
    in_both_stores(|mut bed| {
        let key = bed.customer("acme", "pro");
        let permits: Vec<String> =
            (0..3).map(|_| held(&bed, &json!({"key": key, "hold_for": "1h"}))).collect();
        assert_eq!(settled(&finish(&bed, &permits[0], 1)), (1, 1));
        wait::until("the slot is free", || (bed.used("acme", "concurrency") == 2).then_some(()));
        bed.server.kill();
        bed.restart();
        assert_eq!(bed.used("acme", "concurrency"), 2);
        bed.server.terminate();
        bed.server.wait();
        bed.restart();
        assert_eq!(bed.used("acme", "concurrency"), 2);
        let last = held(&bed, &json!({"key": key}));
        assert_eq!(bed.check(&json!({"key": key})).json()["error"], "concurrency_limited");
        for permit in permits.iter().chain([&last]) {
            assert_eq!(settled(&finish(&bed, permit, 1)), (1, 1));
        }
        wait::until("all slots are free", || (bed.used("acme", "concurrency") == 0).then_some(()));
    });
}

/// Sends it, unless the server is killed meanwhile.
fn try_send(caller: &mut Caller, asked: &Asked) -> Option<Answer> {
    match caller.send(asked) {
        Ok(answer) => Some(answer),
        Err(error) if error.kind() == ErrorKind::InvalidData => panic!("{error}"),
        Err(_) => None,
    }
}

#[test]
fn a_server_that_is_killed_while_permits_are_finished_loses_and_doubles_nothing() {
    in_both_stores(|mut bed| {
        let key = bed.customer("acme", "kind");
        let (mut dice, mut total) = (Dice::new(17), 0);
        for round in 0..if slow() { 60 } else { 8 } {
            let permits: Vec<String> =
                (0..40).map(|_| held(&bed, &json!({"key": key, "cost": 5, "hold": true}))).collect();
            let bodies: Vec<Value> = permits
                .iter()
                .map(|permit| {
                    let status = if dice.below(4) == 0 { 503 } else { 200 };
                    json!({"permit": permit, "status": status, "cost": dice.below(10)})
                })
                .collect();
            let asked = |body: &Value| Asked::new("POST", FINISH).json(body);
            let (decision, about) = (bed.server.decision(), Duration::from_millis(dice.below(30)));
            let answers: Vec<Option<Answer>> = thread::scope(|scope| {
                let sending = scope.spawn(|| {
                    let mut caller = Caller::new(decision);
                    bodies.iter().map(|body| try_send(&mut caller, &asked(body))).collect()
                });
                wait::pause(about);
                bed.server.kill();
                sending.join().unwrap()
            });
            bed.restart();
            let mut caller = Caller::new(bed.server.decision());
            for (body, before) in bodies.iter().zip(answers) {
                // Whatever it says now, what was answered stands.
                let other = json!({"permit": body["permit"], "status": 200, "cost": 77});
                let again = if before.is_some() { &other } else { body };
                let after = settled(&caller.send(&asked(again)).unwrap());
                if let Some(before) = before.filter(|answer| answer.status == 200) {
                    assert_eq!(settled(&before), after, "in round {round}");
                }
                total += after.1;
            }
        }
        expect_used(&[&bed], "acme", total);
        let compared = bed.admin(Asked::new("POST", "/admin/v1/usage/reconcile")).json();
        assert_eq!(compared["differences"], json!([]), "{compared}");
    });
}

#[test]
fn while_redis_is_unreachable_a_finish_says_when_to_try_again_unless_it_was_charged_locally() {
    let mut nodes = Nodes::start(&format!("{POLICY}degraded: {{quota: reconcile}}\n"), 2);
    let key = nodes.nodes[0].customer("acme", "metered");
    let ask = json!({"key": key, "cost": 5, "hold": true});
    // Both know the caller.
    let permits = [held(&nodes.nodes[0], &ask), held(&nodes.nodes[1], &ask)];
    nodes.redis.kill();
    let local = wait::until("the node decides alone", || {
        let answer = nodes.nodes[0].check(&ask).json();
        (answer["mode"] == "degraded").then(|| answer["permit"].as_str().unwrap().to_owned())
    });
    let away = finish(&nodes.nodes[0], &permits[0], 9);
    assert_eq!((refused(&away), away.header("retry-after")), ((503, "unavailable".to_owned()), Some("1")));
    assert_eq!(settled(&finish(&nodes.nodes[0], &local, 2)), (5, 2));
    assert_eq!(settled(&finish(&nodes.nodes[0], &local, 9)), (5, 2));
    assert_eq!(finish(&nodes.nodes[1], &local, 9).status, 503);
    nodes.redis.restart();
    for permit in &permits {
        let answer = wait::within(Duration::from_secs(20), "it is reachable again", || {
            Some(finish(&nodes.nodes[0], permit, 9)).filter(|answer| answer.status != 503)
        });
        assert_eq!(settled(&answer), (5, 9));
    }
}

#[test]
fn the_same_check_under_one_name_has_one_permit_at_every_node() {
    let nodes = Nodes::start(POLICY, 2);
    let key = nodes.nodes[0].customer("acme", "pro");
    let ask = json!({"key": key, "cost": 5, "idempotency_key": "order-17"});
    let first = held(&nodes.nodes[0], &ask);
    // The answer was lost, and the service asks again, at another node.
    let second = held(&nodes.nodes[1], &ask);
    wait::until("one slot", || (nodes.nodes[0].used("acme", "concurrency") == 1).then_some(()));
    assert_eq!(settled(&finish(&nodes.nodes[1], &second, 3)), (5, 3));
    assert_eq!(settled(&finish(&nodes.nodes[0], &first, 9)), (5, 3));
    expect_used(&[&nodes.nodes[0], &nodes.nodes[1]], "acme", 3);
    wait::until("no slot", || (nodes.nodes[0].used("acme", "concurrency") == 0).then_some(()));
}
