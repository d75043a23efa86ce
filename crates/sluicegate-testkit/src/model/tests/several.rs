//! Several meters asked together: all are charged, or none.

use super::*;

const RATE: Rule = Rule::TokenBucket { amount: 1, window_s: 1, burst: 2 };
const SLOTS: Rule = Rule::Concurrency { limit: 2, lease_ns: 5 * S };
const QUOTA: Rule = Rule::FixedWindow { limit: 5, window_s: 60 };
const NOW: u64 = 6_000 * S;

fn three(cost: u64) -> [Charge; 3] {
    [
        Charge { meter: 1, ..charge(RATE, 1) },
        Charge { meter: 2, ..charge(SLOTS, 1) },
        Charge { meter: 3, axis: Axis::Quota, ..charge(QUOTA, cost) },
    ]
}

fn used(answer: &Answer) -> Vec<u64> {
    answer.readings.iter().map(|reading| reading.used).collect()
}

#[test]
fn three_meters_are_charged_all_or_none() {
    let mut home = Home::default();
    let answer = home.ask(&three(4), Mode::Charge, 1, NOW);
    assert_eq!((answer.outcome, used(&answer)), (ADMITTED, vec![1, 1, 4]));

    // Only the last one refuses; the first two stay as they are.
    let before = home.clone();
    let answer = home.ask(&three(2), Mode::Charge, 2, NOW);
    assert_eq!(answer.outcome, Outcome::Refused { by: 2, retry_after: 60 * S });
    assert_eq!(used(&answer), [1, 1, 4]);
    assert_eq!(home, before);
}

#[test]
fn the_first_in_order_names_the_reason_and_the_longest_wait_the_time() {
    let mut home = Home::default();
    home.ask(&three(2), Mode::Charge, 1, NOW);
    home.ask(&three(2), Mode::Charge, 2, NOW);
    assert_eq!(
        home.ask(&three(1), Mode::Charge, 3, NOW).outcome,
        Outcome::Refused { by: 0, retry_after: 5 * S }
    );
    assert_eq!(
        home.ask(&three(1), Mode::Charge, 3, NOW + S).outcome,
        Outcome::Refused { by: 1, retry_after: 4 * S }
    );
    assert_eq!(home.ask(&three(1), Mode::Charge, 3, NOW + 5 * S).outcome, ADMITTED);
}

#[test]
fn what_can_never_fit_is_the_answer_even_when_an_earlier_limit_refuses() {
    let mut home = Home::default();
    home.ask(&three(2), Mode::Charge, 1, NOW);
    home.ask(&three(2), Mode::Charge, 2, NOW);
    let answer = home.ask(&three(6), Mode::Charge, 3, NOW);
    assert_eq!((answer.outcome, used(&answer)), (Outcome::NeverFits { by: 2 }, vec![2, 2, 4]));
}

#[test]
fn a_peek_changes_nothing_and_reads_the_uncharged_meters() {
    let mut home = Home::default();
    let answer = home.ask(&three(4), Mode::Peek, 1, NOW);
    assert_eq!((answer.outcome, used(&answer)), (ADMITTED, vec![0, 0, 0]));
    assert_eq!(home, Home::default());
}

#[test]
fn a_refund_to_a_meter_that_was_never_charged_does_nothing() {
    let mut home = Home::default();
    home.give_back(RATE, 1, NOW, NOW);
    assert_eq!(home, Home::default());
}
