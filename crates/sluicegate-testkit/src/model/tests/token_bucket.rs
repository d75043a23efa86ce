//! The token bucket: its burst, its pace, and its refunds.

use super::*;

const TEN_PER_SECOND: Rule = Rule::TokenBucket { amount: 10, window_s: 1, burst: 5 };
const THREE_PER_SECOND: Rule = Rule::TokenBucket { amount: 3, window_s: 1, burst: 1 };
const T: u64 = S / 10;
const NOW: u64 = 1_000 * S;

#[test]
fn a_burst_of_five_admits_exactly_five_at_once() {
    let mut home = Home::default();
    for taken in 1..=5 {
        assert_eq!(home.take(TEN_PER_SECOND, 1, NOW), ADMITTED);
        assert_eq!(home.says(TEN_PER_SECOND, NOW), (taken, 5 - taken, T, taken * T));
    }
    assert_eq!(home.take(TEN_PER_SECOND, 1, NOW), refused(T));
    assert_eq!(home.take(TEN_PER_SECOND, 5, NOW), refused(5 * T));
    assert_eq!(home.take(TEN_PER_SECOND, 1, NOW + T - 1), refused(1));
    assert_eq!(home.take(TEN_PER_SECOND, 1, NOW + T), ADMITTED);
}

#[test]
fn an_untouched_bucket_is_full_and_its_next_unit_is_one_unit_away() {
    assert_eq!(Home::default().says(TEN_PER_SECOND, NOW), (0, 5, T, 0));
}

#[test]
fn a_unit_counts_as_used_until_it_is_wholly_back() {
    let mut home = Home::default();
    home.take(TEN_PER_SECOND, 2, NOW);
    assert_eq!(home.says(TEN_PER_SECOND, NOW + 1), (2, 3, T - 1, 2 * T - 1));
    assert_eq!(home.says(TEN_PER_SECOND, NOW + T), (1, 4, T, T));
    assert_eq!(home.says(TEN_PER_SECOND, NOW + 2 * T), (0, 5, T, 0));
}

#[test]
fn three_per_second_is_exactly_three_per_second() {
    let mut home = Home::default();
    assert_eq!(home.take(THREE_PER_SECOND, 1, NOW), ADMITTED);
    // T = 333,333,333 1/3 ns, rounded up.
    assert_eq!(home.take(THREE_PER_SECOND, 1, NOW), refused(333_333_334));
    assert_eq!(home.take(THREE_PER_SECOND, 1, NOW + 333_333_333), refused(1));

    // With one unit of slack nobody is ever too late, and the thirds never add up to a nanosecond.
    let slack = Rule::TokenBucket { amount: 3, window_s: 1, burst: 2 };
    let mut home = Home::default();
    assert_eq!(home.take(slack, 2, NOW), ADMITTED);
    for turn in 1..3_000u64 {
        let due = NOW + (turn * S).div_ceil(3);
        assert_eq!(home.take(slack, 1, due - 1), refused(1));
        assert_eq!(home.take(slack, 1, due), ADMITTED);
    }
}

#[test]
fn a_cost_above_the_burst_never_fits() {
    let mut home = Home::default();
    assert_eq!(home.take(TEN_PER_SECOND, 6, NOW), Outcome::NeverFits { by: 0 });
    assert_eq!(home.take(TEN_PER_SECOND, u64::MAX, NOW), Outcome::NeverFits { by: 0 });
    assert_eq!(home, Home::default());
}

#[test]
fn a_refund_shortens_the_debt_but_not_below_zero() {
    let mut home = Home::default();
    home.take(TEN_PER_SECOND, 4, NOW);
    home.give_back(TEN_PER_SECOND, 3, NOW, NOW);
    assert_eq!(home.says(TEN_PER_SECOND, NOW), (1, 4, T, T));
    home.give_back(TEN_PER_SECOND, 3, NOW, NOW);
    assert_eq!(home.says(TEN_PER_SECOND, NOW), (0, 5, T, 0));
    home.give_back(TEN_PER_SECOND, u64::MAX, NOW, NOW);
    assert_eq!(home.says(TEN_PER_SECOND, NOW), (0, 5, T, 0));
}

#[test]
fn a_refund_without_debt_changes_nothing() {
    let mut home = Home::default();
    home.take(TEN_PER_SECOND, 1, NOW);
    let before = home.clone();
    home.give_back(TEN_PER_SECOND, 1, NOW, NOW + T);
    assert_eq!(home, before);
}

#[test]
fn a_clock_that_steps_back_by_up_to_a_second_more_than_the_burst_waits_for_all_of_it() {
    let mut home = Home::default();
    home.take(TEN_PER_SECOND, 2, NOW);
    assert_eq!(home.says(TEN_PER_SECOND, NOW - T), (3, 2, T, 3 * T));
    // 1.3 s back, the debt of 1.5 s is exactly b·T + 1 s.
    let back = NOW - 13 * T;
    assert_eq!(home.says(TEN_PER_SECOND, back), (5, 0, 11 * T, 15 * T));
    assert_eq!(home.take(TEN_PER_SECOND, 2, back), refused(12 * T));
    assert_eq!(home.take(TEN_PER_SECOND, 2, back + 12 * T - 1), refused(1));
    home.give_back(TEN_PER_SECOND, 1, NOW, back);
    assert_eq!(home.says(TEN_PER_SECOND, back), (5, 0, 10 * T, 14 * T));
}

#[test]
fn a_clock_that_steps_back_further_finds_an_empty_bucket_and_no_more() {
    let mut home = Home::default();
    home.take(TEN_PER_SECOND, 2, NOW);
    for back in [NOW - 58 * T - 1, NOW - 100 * S] {
        assert_eq!(home.says(TEN_PER_SECOND, back), (5, 0, T, 5 * T));
        assert_eq!(home.clone().take(TEN_PER_SECOND, 2, back), refused(2 * T));
    }
}
