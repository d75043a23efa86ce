//! Many at once: a limit of so many is so many, and what was taken comes back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use serde_json::{Value, json};
use sluicegate_testkit::http::{Asked, Caller};

use crate::bed::{Bed, check};

const POLICY: &str = "tiers: {hundred: {quota: 100, quota_window: sliding_day}}";

const THREADS: usize = 20;
const PER_THREAD: usize = 20;

/// What came of requests: how many were admitted, how many refused because the quota is spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Came {
    admitted: usize,
    refused: usize,
}

/// Has threads do this together, and adds up what came of it.
fn together(threads: usize, ask: impl Fn() -> Came + Sync) -> Came {
    let start = Barrier::new(threads);
    let run = || {
        start.wait();
        ask()
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).fold(Came::default(), |sum, came| Came {
            admitted: sum.admitted + came.admitted,
            refused: sum.refused + came.refused,
        })
    })
}

/// Exactly this much came of it, and the meter says so too.
#[track_caller]
fn expect_a_hundred(bed: &Bed, account: &str, came: Came) {
    assert_eq!(came, Came { admitted: 100, refused: 300 });
    assert_eq!(bed.used(account, "quota"), 100);
}

#[test]
fn the_gateway_admits_a_hundred_of_four_hundred() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "hundred");
    let came = together(THREADS, || {
        let mut caller = Caller::new(bed.server.gateway());
        let statuses = (0..PER_THREAD).map(|_| caller.send(&Asked::get("/").key(&key)).unwrap().status);
        statuses.fold(Came::default(), |came, status| match status {
            200 => Came { admitted: came.admitted + 1, ..came },
            402 => Came { refused: came.refused + 1, ..came },
            other => panic!("{other}"),
        })
    });
    expect_a_hundred(&bed, "acme", came);
}

fn count(came: Came, answer: &Value) -> Came {
    match (answer["allowed"].as_bool(), answer["error"].as_str()) {
        (Some(true), None) => Came { admitted: came.admitted + 1, ..came },
        (Some(false), Some("quota_exceeded")) => Came { refused: came.refused + 1, ..came },
        _ => panic!("{answer}"),
    }
}

#[test]
fn the_decision_api_admits_a_hundred_of_four_hundred() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "hundred");
    let came = together(THREADS, || {
        let mut caller = Caller::new(bed.server.decision());
        let answers = (0..PER_THREAD).map(|_| caller.send(&check(&json!({"key": key}))).unwrap().json());
        answers.fold(Came::default(), |came, answer| count(came, &answer))
    });
    expect_a_hundred(&bed, "acme", came);
}

#[test]
fn batches_admit_a_hundred_of_four_hundred() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "hundred");
    let checks = vec![json!({"key": key}); 50];
    let batch = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": checks}));
    let came = together(8, || {
        let answer = Caller::new(bed.server.decision()).send(&batch).unwrap().json();
        let results = answer["results"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(results.len(), 50);
        results.iter().fold(Came::default(), count)
    });
    expect_a_hundred(&bed, "acme", came);
}

#[test]
fn one_idempotency_key_is_charged_once_however_many_bring_it() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "hundred");
    let ids: Vec<Arc<AtomicU64>> = (0..20).map(|_| Arc::default()).collect();
    let came = together(8, || {
        let mut caller = Caller::new(bed.server.decision());
        for (index, seen) in ids.iter().enumerate() {
            let body = json!({"key": key, "idempotency_key": format!("order {index}")});
            let answer = caller.send(&check(&body)).unwrap().json();
            assert_eq!(answer["allowed"], true, "{answer}");
            seen.fetch_add(1, Ordering::Relaxed);
        }
        Came { admitted: ids.len(), refused: 0 }
    });
    assert_eq!(came.admitted, 160);
    assert!(ids.iter().all(|seen| seen.load(Ordering::Relaxed) == 8));
    assert_eq!(bed.used("acme", "quota"), 20);
}
