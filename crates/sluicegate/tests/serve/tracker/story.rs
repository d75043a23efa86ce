//! What a script does that has found a free converter, whatever the policy says besides.

use std::sync::Barrier;
use std::thread;

use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::Bed;

pub(crate) fn post(path: &str, agent: &str, address: &str) -> Asked {
    Asked::new("POST", path).header("User-Agent", agent).header("X-Forwarded-For", address).body("x")
}

/// What the limit of an answer is.
pub(crate) fn limit(answer: &Answer) -> u64 {
    answer.number("RateLimit-Limit").unwrap_or_else(|| panic!("no limit: {answer:?}"))
}

/// Five at once, of which three are supposed to succeed.
///
/// A node whose store is late, on a machine that is busy, decides by itself. That is no answer to what is asked here;
/// then five others are sent.
pub(crate) fn five_at_once(bed: &Bed) -> usize {
    let mut script = 0;
    wait::until("the store answers all five in time", || {
        script += 1;
        let answers = five(bed, &format!("script {script}"));
        let is_decided = answers.iter().all(|answer| answer.header("x-sluicegate-mode").is_none());
        is_decided.then(|| answers.iter().filter(|answer| answer.status == 200).count())
    })
}

fn five(bed: &Bed, agent: &str) -> Vec<Answer> {
    let barrier = Barrier::new(5);
    let send = || {
        let mut caller = Caller::new(bed.server.gateway());
        barrier.wait();
        caller.send(&post("/api/convert", agent, "203.0.113.1")).unwrap()
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..5).map(|_| scope.spawn(send)).collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

/// A script that changes its name with every request.
pub(crate) fn rotate(bed: &Bed) {
    let mut caller = Caller::new(bed.server.gateway());
    let household: Vec<u64> = (0..4)
        .map(|number| caller.send(&post("/api/upload", &format!("browser {number}"), "203.0.113.2")).unwrap())
        .map(|answer| limit(&answer))
        .collect();
    assert_eq!(household, [100; 4]);
    let answers: Vec<Answer> = (0..60)
        .map(|number| caller.send(&post("/api/upload", &format!("script {number}"), "203.0.113.2")).unwrap())
        .collect();
    assert_eq!(limit(answers.last().unwrap()), 50);
    assert!(answers.iter().all(|answer| answer.status == 200), "squeezed, not blocked");
    let elsewhere = caller.send(&post("/api/upload", "browser 1", "203.0.113.3")).unwrap();
    assert_eq!(limit(&elsewhere), 100);
}

/// The store is away: four of ten, for whoever it is.
pub(crate) fn four_of_ten(bed: &Bed) {
    let mut caller = Caller::new(bed.server.gateway());
    let mut send = || caller.send(&post("/api/upload", "a visitor", "203.0.113.5")).unwrap();
    let answers: Vec<Answer> = (0..60).map(|_| send()).collect();
    let admitted: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(admitted.len(), 40, "{answers:?}");
    assert_eq!(admitted[39].header("x-sluicegate-mode"), Some("degraded"));
}
