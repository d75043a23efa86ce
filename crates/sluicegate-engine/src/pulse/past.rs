//! The last hour, in steps of ten seconds, and the last seconds one by one.
//!
//! Nothing is written here with a decision. The counters are looked at whenever a second is over: by the first decision
//! after it, or by whoever wants to know. What has come since the last look belongs to the second that it was in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sluicegate_core::time::Timestamp;

use super::outcome::Outcomes;

/// The length of a step.
pub const STEP_S: u32 = 10;

/// Steps in the hour, and the one that has begun.
const STEPS: usize = 361;

/// How many seconds are known one by one.
const SECONDS: usize = 64;

const NANOS: u64 = 1_000_000_000;

/// What has become of requests between two instants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When it began.
    pub at: Timestamp,
    /// What has become of the requests.
    pub outcomes: Outcomes,
}

/// The last hour.
#[derive(Debug)]
pub(crate) struct Past {
    /// When the second is over that decisions are counted in.
    over_ns: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// The second that decisions are counted in.
    second: u32,
    /// What the counters said when they were last looked at.
    seen: Outcomes,
    seconds: VecDeque<(u32, Outcomes)>,
    /// By the number of the step, modulo their number.
    steps: Box<[(u32, Outcomes)]>,
}

impl Past {
    /// Begins now.
    pub(crate) fn new(now: Timestamp) -> Self {
        let kept = Kept {
            second: now.as_secs(),
            seen: Outcomes::default(),
            seconds: VecDeque::with_capacity(SECONDS),
            steps: (0..STEPS).map(|_| (0, Outcomes::default())).collect(),
        };
        Self { over_ns: AtomicU64::new(end_of(now.as_secs())), kept: Mutex::new(kept) }
    }

    /// Whether a second is over.
    #[inline]
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now.as_nanos() >= self.over_ns.load(Ordering::Relaxed)
    }

    /// Begins another second, if the last one is over. Gives what was counted in that one. It never waits: if somebody
    /// else is at it, nothing is done.
    pub(crate) fn turn(&self, now: Timestamp, counters: impl FnOnce() -> Outcomes) -> Option<Outcomes> {
        let mut kept = self.kept.try_lock()?;
        if now.as_secs() <= kept.second {
            return None;
        }
        let came = kept.look(counters());
        kept.second = now.as_secs();
        self.over_ns.store(end_of(now.as_secs()), Ordering::Relaxed);
        Some(came)
    }

    /// So many steps, the oldest first; the last one is the one that has begun.
    pub(crate) fn steps(
        &self,
        now: Timestamp,
        count: usize,
        counters: impl FnOnce() -> Outcomes,
    ) -> Vec<Step> {
        let mut kept = self.kept.lock();
        kept.look(counters());
        let last = now.as_secs() / STEP_S;
        let first = last.saturating_sub(u32::try_from(count.clamp(1, STEPS - 1) - 1).unwrap_or(0));
        (first..=last).map(|number| kept.step(number)).collect()
    }

    /// The seconds from this one on that are over, the oldest first.
    pub(crate) fn seconds(&self, from: u32, now: Timestamp) -> Vec<Step> {
        let kept = self.kept.lock();
        let first = from.max(now.as_secs().saturating_sub(u32::try_from(SECONDS).unwrap_or(0)));
        let one = |second: u32| {
            let known = kept.seconds.iter().find(|(at, _)| *at == second);
            let outcomes = known.map(|(_, outcomes)| *outcomes).unwrap_or_default();
            Step { at: Timestamp::from_secs(second), outcomes }
        };
        (first..now.as_secs()).map(one).collect()
    }
}

impl Kept {
    /// Puts what has come since the last look where it belongs.
    fn look(&mut self, counters: Outcomes) -> Outcomes {
        let came = counters.since(&self.seen);
        self.seen = counters;
        let number = self.second / STEP_S;
        let step = &mut self.steps[number as usize % STEPS];
        if step.0 != number {
            *step = (number, Outcomes::default());
        }
        step.1 = step.1.plus(&came);
        match self.seconds.back_mut() {
            Some((second, outcomes)) if *second == self.second => *outcomes = outcomes.plus(&came),
            _ => {
                if self.seconds.len() == SECONDS {
                    self.seconds.pop_front();
                }
                self.seconds.push_back((self.second, came));
            }
        }
        self.seconds.back().map_or(came, |(_, outcomes)| *outcomes)
    }

    fn step(&self, number: u32) -> Step {
        let (kept, outcomes) = self.steps[number as usize % STEPS];
        let outcomes = if kept == number { outcomes } else { Outcomes::default() };
        Step { at: Timestamp::from_secs(number.saturating_mul(STEP_S)), outcomes }
    }
}

const fn end_of(second: u32) -> u64 {
    (second as u64 + 1) * NANOS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(1_000_000 + secs)
    }

    /// Counters that say that so many were admitted.
    fn admitted(count: u64) -> Outcomes {
        let mut outcomes = Outcomes::default();
        outcomes.add(0, count);
        outcomes
    }

    fn counts(steps: &[Step]) -> Vec<u64> {
        steps.iter().map(|step| step.outcomes.admitted()).collect()
    }

    #[test]
    fn what_was_counted_belongs_to_the_second_that_it_was_counted_in() {
        let past = Past::new(at(0));
        assert!(!past.is_over(Timestamp::from_nanos(at(1).as_nanos() - 1)));
        assert!(past.is_over(at(1)));
        // Seven in the first second, and nobody asks for a long time.
        assert_eq!(past.turn(at(25), || admitted(7)).map(|came| came.admitted()), Some(7));
        assert_eq!(past.turn(at(25), || admitted(8)), None);
        let steps = past.steps(at(25), 4, || admitted(9));
        assert_eq!(counts(&steps), [0, 7, 0, 2]);
        assert_eq!((steps[1].at, steps[3].at), (at(0), at(20)));
        past.turn(at(26), || admitted(10));
        assert_eq!(counts(&past.seconds(at(23).as_secs(), at(26))), [0, 0, 3]);
        assert_eq!(counts(&past.seconds(at(0).as_secs(), at(26)))[0], 7);
    }

    #[test]
    fn an_hour_is_known_and_nothing_before_it() {
        let past = Past::new(at(0));
        past.turn(at(10), || admitted(1));
        let hour = |now| past.steps(now, 360, || admitted(1));
        assert_eq!(counts(&hour(at(3_599)))[0], 1);
        assert_eq!(hour(at(3_599)).len(), 360);
        assert_eq!(counts(&hour(at(3_609))).iter().sum::<u64>(), 0);
        // The place of a step is another's an hour later.
        past.turn(at(36_100), || admitted(1));
        assert_eq!(counts(&hour(at(36_100))).iter().sum::<u64>(), 0);
    }

    #[test]
    fn a_clock_that_steps_back_changes_no_second() {
        let past = Past::new(at(100));
        assert_eq!(past.turn(at(50), || admitted(3)), None);
        assert_eq!(counts(&past.steps(at(100), 1, || admitted(3))), [3]);
    }
}
