//! Refusals above 5 % of all traffic over the last minute, from 100 requests on.
//!
//! The minute slides in steps of ten seconds: it is the last six of them. It fires in the first step in which more than
//! 5 % of at least 100 requests were refused. It is resolved when that was so in none of the last six steps: a minute
//! without it.

use std::collections::VecDeque;

use super::counts::Observed;

/// The steps of a minute.
const STEPS: u64 = 6;
/// From how many requests on a share says anything.
const REQUESTS_MIN: u64 = 100;
/// Above one in so many: 5 %.
const ONE_IN: u64 = 20;

/// The rule, with what it remembers.
#[derive(Debug, Default)]
pub(super) struct RefusalsShare {
    /// The last steps, the oldest first.
    steps: VecDeque<(u64, Observed)>,
    firing: Option<Firing>,
}

#[derive(Clone, Copy, Debug)]
struct Firing {
    /// What the minute came to when it began.
    minute: Observed,
    /// The last step that was above, or the one before the first that was looked at after a restart.
    last: Option<u64>,
}

impl RefusalsShare {
    /// Goes on with what was firing when the last process ended.
    pub(super) fn restored() -> Self {
        let firing = Firing { minute: Observed::default(), last: None };
        Self { steps: VecDeque::new(), firing: Some(firing) }
    }

    /// A step has ended, in which this was counted. Steps come in order; those that are left out had nothing.
    pub(super) fn step(&mut self, step: u64, counted: Observed) {
        let last = self.steps.back().map_or(step, |(last, _)| *last);
        // After two empty minutes nothing is left to forget.
        for empty in last + 1..step.min(last + 1 + 2 * STEPS) {
            self.one_step(empty, Observed::default());
        }
        self.one_step(step, counted);
    }

    fn one_step(&mut self, step: u64, counted: Observed) {
        self.steps.push_back((step, counted));
        self.steps.retain(|(at, _)| *at + STEPS > step);
        let minute = self.minute();
        if is_above(minute) {
            let began = self.firing.map_or(minute, |firing| firing.minute);
            self.firing = Some(Firing { minute: began, last: Some(step) });
        } else if let Some(firing) = &mut self.firing {
            let last = *firing.last.get_or_insert(step.saturating_sub(1));
            if step >= last + STEPS {
                self.firing = None;
            }
        }
    }

    fn minute(&self) -> Observed {
        let sum = |of: fn(&Observed) -> u64| self.steps.iter().map(|(_, counted)| of(counted)).sum();
        Observed { admitted: sum(|counted| counted.admitted), refused: sum(|counted| counted.refused) }
    }

    /// Whether it fires, and what the minute came to in which it began.
    pub(super) fn firing(&self) -> Option<Observed> {
        self.firing.map(|firing| firing.minute)
    }
}

fn is_above(minute: Observed) -> bool {
    let requests = minute.admitted.saturating_add(minute.refused);
    requests >= REQUESTS_MIN && u128::from(minute.refused) * u128::from(ONE_IN) > u128::from(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(admitted: u64, refused: u64) -> Observed {
        Observed { admitted, refused }
    }

    fn after(steps: &[(u64, u64)]) -> RefusalsShare {
        let mut share = RefusalsShare::default();
        for (step, (admitted, refused)) in (1..).zip(steps) {
            share.step(step, counted(*admitted, *refused));
        }
        share
    }

    #[test]
    fn it_fires_above_five_percent_and_not_at_exactly_five() {
        assert_eq!(after(&[(95, 5)]).firing(), None);
        assert_eq!(after(&[(94, 6)]).firing(), Some(counted(94, 6)));
        assert_eq!(after(&[(950_000, 50_000)]).firing(), None);
        assert_eq!(after(&[(949_999, 50_001)]).firing(), Some(counted(949_999, 50_001)));
    }

    #[test]
    fn below_a_hundred_requests_no_share_is_too_large() {
        assert_eq!(after(&[(0, 99)]).firing(), None);
        assert_eq!(after(&[(0, 99), (1, 0)]).firing(), Some(counted(1, 99)));
        assert_eq!(after(&[(0, 100)]).firing(), Some(counted(0, 100)));
    }

    #[test]
    fn six_steps_are_the_minute_and_a_seventh_is_not() {
        // 100 requests within a minute, and spread over a little more.
        let spread = [(0, 20), (16, 0), (16, 0), (16, 0), (16, 0), (16, 0)];
        assert!(after(&spread).firing().is_some());
        let longer = [(0, 20), (10, 0), (10, 0), (10, 0), (10, 0), (10, 0), (100, 5)];
        assert_eq!(after(&longer).firing(), None);
    }

    #[test]
    fn it_is_resolved_after_a_minute_without_it_and_fires_again_later() {
        let mut share = RefusalsShare::default();
        share.step(10, counted(0, 100));
        // Its minute holds the refusals until the sixteenth step; then a minute has to pass.
        for step in 11..=15 {
            share.step(step, counted(0, 0));
            assert!(share.firing().is_some(), "step {step}");
        }
        for step in 16..=20 {
            share.step(step, counted(1_000, 0));
            assert!(share.firing().is_some(), "step {step}");
        }
        share.step(21, counted(1_000, 0));
        assert_eq!(share.firing(), None);
        share.step(22, counted(0, 1_000));
        assert!(share.firing().is_some(), "again");
    }

    #[test]
    fn a_relapse_within_the_minute_starts_it_anew_and_is_no_second_alert() {
        let mut share = RefusalsShare::default();
        share.step(10, counted(0, 100));
        share.step(19, counted(0, 300));
        assert_eq!(share.firing(), Some(counted(0, 100)), "it is the first that people have heard of");
        for step in 25..=29 {
            share.step(step, counted(100, 0));
            assert!(share.firing().is_some(), "step {step}");
        }
        share.step(30, counted(100, 0));
        assert_eq!(share.firing(), None);
    }

    #[test]
    fn steps_that_nobody_counted_pass_all_the_same() {
        let mut share = RefusalsShare::default();
        share.step(10, counted(0, 100));
        share.step(500, counted(0, 5));
        assert_eq!(share.firing(), None);
    }

    #[test]
    fn after_a_restart_it_fires_on_until_a_minute_was_seen() {
        let mut share = RefusalsShare::restored();
        for step in 100..=104 {
            share.step(step, counted(10, 0));
            assert!(share.firing().is_some(), "step {step}");
        }
        share.step(105, counted(10, 0));
        assert_eq!(share.firing(), None);
    }
}
