//! The sliding window of two counts, by the formula of the page.

use super::*;

const FIFTY_PER_HOUR: Rule = Rule::SlidingWindow { limit: 50, window_s: 3600 };
const TEN_PER_TEN_SECONDS: Rule = Rule::SlidingWindow { limit: 10, window_s: 10 };
/// The start of an hour: let it be 3pm.
const THREE_PM: u64 = 480_003 * HOUR;
const THREE_45_PM: u64 = THREE_PM + 45 * 60 * S;

#[test]
fn at_3_45_pm_a_quarter_of_the_hour_from_2_pm_still_counts() {
    let mut home = Home::default();
    assert_eq!(home.take(FIFTY_PER_HOUR, 42, THREE_PM - HOUR / 2), ADMITTED);
    assert_eq!(home.take(FIFTY_PER_HOUR, 8, THREE_PM), ADMITTED);
    assert_eq!(home.take(FIFTY_PER_HOUR, 10, THREE_PM + HOUR / 2), ADMITTED);
    // 18 + floor(42 × 0.25) = 18 + floor(10.5) = 28. The 10.5 falls below 10 right after another 42nd of the hour's
    // half unit: 0.5 / 42 × 3600 s = 42.857142857.. s, one nanosecond later it is below.
    let (used, remaining, next, _) = home.says(FIFTY_PER_HOUR, THREE_45_PM);
    assert_eq!((used, remaining, next), (28, 22, 42_857_142_858));
    assert_eq!(home.take(FIFTY_PER_HOUR, 23, THREE_45_PM), refused(42_857_142_858));
    assert_eq!(home.take(FIFTY_PER_HOUR, 22, THREE_45_PM), ADMITTED);
}

#[test]
fn the_estimate_falls_one_unit_at_a_time_in_the_next_window() {
    let mut home = Home::default();
    home.take(TEN_PER_TEN_SECONDS, 10, 100 * S);
    // All ten count until 110 s; then one is forgotten right after its tenth of the window began.
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 104 * S), (10, 0, 6 * S + 1, 15 * S + 1));
    assert_eq!(home.take(TEN_PER_TEN_SECONDS, 1, 104 * S), refused(6 * S + 1));
    assert_eq!(home.take(TEN_PER_TEN_SECONDS, 2, 104 * S), refused(7 * S + 1));
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 110 * S), (10, 0, 1, 9 * S + 1));
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 110 * S + 1), (9, 1, S, 9 * S));
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 119 * S), (1, 9, 1, 1));
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 119 * S + 1), (0, 10, S - 1, 0));
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 120 * S), (0, 10, 10 * S, 0));
}

#[test]
fn an_untouched_meter_has_nothing_to_reset() {
    assert_eq!(Home::default().says(TEN_PER_TEN_SECONDS, 104 * S), (0, 10, 6 * S, 0));
}

#[test]
fn a_cost_above_the_limit_never_fits() {
    assert_eq!(Home::default().take(TEN_PER_TEN_SECONDS, 11, 0), Outcome::NeverFits { by: 0 });
}

#[test]
fn a_clock_that_steps_back_sees_the_meters_window_at_its_start() {
    let mut home = Home::default();
    home.take(TEN_PER_TEN_SECONDS, 6, 105 * S);
    home.take(TEN_PER_TEN_SECONDS, 3, 115 * S);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 115 * S).0, 6);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 90 * S).0, 9);
    assert_eq!(home.take(TEN_PER_TEN_SECONDS, 1, 90 * S), ADMITTED);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 115 * S).0, 7);
}

#[test]
fn a_refund_is_taken_from_the_window_of_the_charge_if_that_still_counts() {
    let mut home = Home::default();
    home.take(TEN_PER_TEN_SECONDS, 6, 105 * S);
    home.take(TEN_PER_TEN_SECONDS, 3, 110 * S + 1);
    home.give_back(TEN_PER_TEN_SECONDS, 2, 105 * S, 112 * S);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 110 * S).0, 7);
    home.give_back(TEN_PER_TEN_SECONDS, 9, 110 * S + 1, 112 * S);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 110 * S).0, 4);
    home.give_back(TEN_PER_TEN_SECONDS, 9, 99 * S, 112 * S);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 110 * S).0, 4);
}

#[test]
fn a_refund_goes_by_the_instant_of_the_charge_wherever_that_was_counted() {
    let mut home = Home::default();
    home.take(TEN_PER_TEN_SECONDS, 4, 105 * S);
    home.take(TEN_PER_TEN_SECONDS, 3, 85 * S);
    let before = home.clone();
    // Older than both windows; then in the one before, which holds nothing.
    home.give_back(TEN_PER_TEN_SECONDS, 2, 85 * S, 106 * S);
    home.give_back(TEN_PER_TEN_SECONDS, 2, 90 * S, 106 * S);
    assert_eq!(home, before);
    // The clock that refunds may be behind the one that charged.
    home.give_back(TEN_PER_TEN_SECONDS, 2, 125 * S, 106 * S);
    assert_eq!(home.says(TEN_PER_TEN_SECONDS, 106 * S).0, 5);
}

#[test]
fn a_refund_that_gives_back_nothing_does_not_move_the_meter_on() {
    let mut home = Home::default();
    home.take(TEN_PER_TEN_SECONDS, 4, 105 * S);
    let before = home.clone();
    home.give_back(TEN_PER_TEN_SECONDS, 2, 99 * S, 115 * S);
    home.give_back(TEN_PER_TEN_SECONDS, 2, 115 * S, 115 * S);
    home.give_back(TEN_PER_TEN_SECONDS, 2, 105 * S, 125 * S);
    assert_eq!(home, before);
}
