//! What the page promises of every algorithm, on random calls with a clock that runs forward.

use super::*;

/// A small linear congruential generator: the calls must be the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn rule(&mut self) -> Rule {
        let (limit, window_s) = (1 + self.below(20), 1 + self.below(20));
        match self.below(6) {
            0 => Rule::TokenBucket { amount: limit, window_s, burst: 1 + self.below(10) },
            1 => Rule::FixedWindow { limit, window_s },
            2 => Rule::SlidingWindow { limit, window_s },
            3 => Rule::SlidingBuckets { limit, window_s },
            4 => Rule::SlidingLog { limit, window_s },
            _ => Rule::Concurrency { limit: 1 + self.below(4), lease_ns: 1 + self.below(20 * S) },
        }
    }
}

#[test]
fn whoever_is_refused_is_admitted_exactly_after_the_wait_and_not_one_nanosecond_earlier() {
    let mut random = Random(1);
    let mut refusals = 0;
    for _ in 0..2_000 {
        let mut home = Home::default();
        let rules = [random.rule(), random.rule()];
        let mut now = 1_000 * S;
        for slot in 0..50 {
            now += random.below(S);
            let charges = [0, 1].map(|i| Charge { meter: i as u64, ..charge(rules[i], 1 + random.below(6)) });
            let answer = home.ask(&charges, Mode::Charge, slot, now);
            if let Outcome::Refused { retry_after, .. } = answer.outcome {
                refusals += 1;
                let mut outcome_at = |at| home.ask(&charges, Mode::Peek, slot, at).outcome;
                assert!(matches!(outcome_at(now + retry_after - 1), Outcome::Refused { retry_after: 1, .. }));
                assert_eq!(outcome_at(now + retry_after), ADMITTED);
            }
        }
    }
    assert!(refusals > 10_000);
}

#[test]
fn remaining_is_the_largest_cost_that_is_admitted_and_next_and_reset_say_when_it_grows() {
    let mut random = Random(2);
    for _ in 0..2_000 {
        let mut home = Home::default();
        let rule = random.rule();
        let mut now = 1_000 * S;
        for _ in 0..50 {
            now += random.below(S);
            let cost = 1 + random.below(6);
            home.ask(&[charge(rule, cost)], Mode::Charge, now, now);
            let (used, remaining, next, reset) = home.says(rule, now);
            let mut outcome = |cost| home.ask(&[charge(rule, cost)], Mode::Peek, 0, now).outcome;
            if !matches!(rule, Rule::Concurrency { .. }) {
                assert!(remaining == 0 || outcome(remaining) == ADMITTED);
                assert_ne!(outcome(remaining + 1), ADMITTED);
            }
            if used > 0 {
                assert_eq!(home.says(rule, now + next - 1).1, remaining);
                assert!(home.says(rule, now + next).1 > remaining);
                assert!(home.says(rule, now + reset - 1).3 == 1);
                assert_eq!((home.says(rule, now + reset).0, home.says(rule, now + reset).3), (0, 0));
            }
        }
    }
}
