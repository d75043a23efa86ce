//! What is due on refusal, and what is expected of a meter.

use super::*;

const RATE: Rule = Rule::TokenBucket { amount: 1, window_s: 60, burst: 2 };
const POINTS: Rule = Rule::TokenBucket { amount: 1, window_s: 600, burst: 100 };
const STRIKES: Rule = Rule::SlidingWindow { limit: 3, window_s: 60 };
const NOW: u64 = 6_000 * S;

/// A request of this cost, whose refusal costs five points and a strike.
fn watched(cost: u64) -> [Charge; 3] {
    let signal =
        |meter, rule, cost| Charge { meter, axis: Axis::Conduct, due: Due::Refusal, ..charge(rule, cost) };
    [charge(RATE, cost), signal(2, POINTS, 5), signal(3, STRIKES, 1)]
}

fn used(answer: &Answer) -> Vec<u64> {
    answer.readings.iter().map(|reading| reading.used).collect()
}

#[test]
fn what_is_due_on_refusal_is_charged_when_the_rest_is_refused_and_only_then() {
    let mut home = Home::default();
    let answer = home.ask(&watched(2), Mode::Charge, 0, NOW);
    assert_eq!((answer.outcome, used(&answer)), (ADMITTED, vec![2, 0, 0]));
    let alone = home.clone();
    let answer = home.ask(&watched(1), Mode::Charge, 0, NOW);
    assert_eq!((answer.outcome, used(&answer)), (refused(60 * S), vec![2, 5, 1]));
    // It goes on where there is no room for it either.
    (0..50).for_each(|_| assert_eq!(home.ask(&watched(1), Mode::Charge, 0, NOW).outcome, refused(60 * S)));
    assert_eq!(used(&home.ask(&watched(1), Mode::Peek, 0, NOW)), [2, 100, 51]);

    let mut home = alone;
    let before = home.clone();
    assert_eq!(home.ask(&watched(1), Mode::Peek, 0, NOW).outcome, refused(60 * S));
    assert_eq!(home.ask(&watched(3), Mode::Charge, 0, NOW).outcome, Outcome::NeverFits { by: 0 });
    for charge in watched(1) {
        home.refund(&Charge { due: Due::Refusal, ..charge }, 1, 0, NOW, NOW);
    }
    assert_eq!(home, before);
    let answer = home.ask(&watched(1), Mode::Force, 0, NOW);
    assert_eq!((answer.outcome, used(&answer)), (ADMITTED, vec![2, 0, 0]));
}

#[test]
fn where_something_else_is_expected_nothing_happens() {
    let mut home = Home::default();
    let expects = |least, most| Some(Expects { place: 1, least, most });
    home.ask(&watched(2), Mode::Charge, 0, NOW);
    let before = home.clone();
    let elsewhere = Outcome::Elsewhere { remaining: 100 };
    for mode in [Mode::Charge, Mode::Peek, Mode::Force] {
        let answer = home.ask_expecting(&watched(1), expects(0, 99), mode, 0, NOW);
        assert_eq!((answer.outcome, used(&answer)), (elsewhere, vec![2, 0, 0]));
        assert_eq!(home, before);
    }
    assert_eq!(home.ask_expecting(&watched(3), expects(101, 200), Mode::Charge, 0, NOW).outcome, elsewhere);
    let answer = home.ask_expecting(&watched(1), expects(100, 100), Mode::Charge, 0, NOW);
    assert_eq!((answer.outcome, used(&answer)), (refused(60 * S), vec![2, 5, 1]));
    // What is expected is looked at before anything is charged.
    let answer = home.ask_expecting(&watched(1), expects(91, 95), Mode::Charge, 0, NOW);
    assert_eq!((answer.outcome, used(&answer)), (refused(60 * S), vec![2, 10, 2]));
    let answer = home.ask_expecting(&watched(1), expects(91, 95), Mode::Charge, 0, NOW);
    assert_eq!(answer.outcome, Outcome::Elsewhere { remaining: 90 });
    // Of a charge that is not there nothing is expected.
    let nowhere = Some(Expects { place: 3, least: 7, most: 7 });
    assert_eq!(home.ask_expecting(&watched(1), nowhere, Mode::Peek, 0, NOW).outcome, refused(60 * S));
}

#[test]
fn an_edit_is_not_carried_over_where_something_else_is_expected() {
    let mut home = Home::default();
    home.ask(&watched(2), Mode::Charge, 0, NOW);
    let before = home.clone();
    let smaller = Rule::TokenBucket { amount: 1, window_s: 60, burst: 1 };
    let mut charges = watched(1);
    charges[0].rule = smaller;
    let expects = Some(Expects { place: 1, least: 0, most: 50 });
    let answer = home.ask_expecting(&charges, expects, Mode::Charge, 0, NOW);
    assert_eq!((answer.outcome, used(&answer)), (Outcome::Elsewhere { remaining: 100 }, vec![1, 0, 0]));
    assert_eq!(home, before);
}
