//! Whether somebody waited too long, on a machine that may itself stand still for a while.
//!
//! A witness asks each server all the time for what needs no store, and sleeps for a moment in between. Whatever of
//! that takes too long is a stall: of the machine, or of the server as a whole. A request that took longer than it may
//! is excused only by stalls while it waited, and only for as long as they took. A request that waits for the store
//! twice has no such excuse: the witness is answered meanwhile.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::wait;

use crate::traffic::Call;

/// The deadline of a call of the store, and what may come on top of it.
const WAIT_MAX: Duration = Duration::from_millis(50 + 20);
/// What takes no longer is no stall.
const STALL_MIN: Duration = Duration::from_millis(2);
/// How long the witness sleeps.
const NAP: Duration = Duration::from_millis(1);

/// When nothing went on that should have.
#[derive(Default)]
pub(crate) struct Stalls(Mutex<Vec<(Instant, Instant)>>);

impl Stalls {
    pub(crate) fn witness(&self, decision: SocketAddr, over: &AtomicBool) {
        let mut caller = Caller::new(decision);
        while !over.load(Ordering::Relaxed) {
            let asked = now();
            let answer = caller.send(&Asked::get("/health")).unwrap();
            assert_eq!(answer.status, 200);
            self.note(asked, now());
            let napping = now();
            wait::pause(NAP);
            self.note(napping + NAP, now());
        }
    }

    fn note(&self, from: Instant, until: Instant) {
        if until.saturating_duration_since(from) > STALL_MIN {
            self.0.lock().unwrap().push((from, until));
        }
    }

    /// For how much of this time at least one witness was held up.
    fn within(&self, from: Instant, until: Instant) -> Duration {
        let stalls = self.0.lock().unwrap();
        let mut clipped: Vec<(Instant, Instant)> = stalls
            .iter()
            .map(|(start, end)| ((*start).max(from), (*end).min(until)))
            .filter(|(start, end)| start < end)
            .collect();
        clipped.sort();
        let (mut sum, mut seen) = (Duration::ZERO, from);
        for (start, end) in clipped {
            sum += end.saturating_duration_since(start.max(seen));
            seen = seen.max(end);
        }
        sum
    }

    /// Nobody waited longer than the deadline and what may come on top, but for the time in which nothing went on.
    #[track_caller]
    pub(crate) fn expect_nobody_waited(&self, calls: &[Call]) {
        let took = |call: &Call| call.ended.saturating_duration_since(call.began);
        let late: Vec<&Call> = calls.iter().filter(|call| took(call) > WAIT_MAX).collect();
        let unexplained =
            late.iter().filter(|call| took(call) > WAIT_MAX + self.within(call.began, call.ended));
        let unexplained: Vec<String> = unexplained
            .map(|call| {
                format!("{:?} of {call:?}, stalls {:?}", took(call), self.within(call.began, call.ended))
            })
            .collect();
        let slowest = calls.iter().map(took).max().unwrap_or_default();
        println!("{} requests, {} late, the slowest took {slowest:?}", calls.len(), late.len());
        assert!(unexplained.is_empty(), "{} waited too long: {unexplained:#?}", unexplained.len());
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
