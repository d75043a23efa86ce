//! Windows that start over: fixed ones, and the periods of calendars.

use super::*;

const FIXED: Rule = Rule::FixedWindow { limit: 10, window_s: 60 };
const MONTH: Rule = Rule::Calendar { limit: 10, calendar: 7 };
/// The start of a minute.
const MINUTE: u64 = 6_000 * S;

fn in_period(cost: u64, period: (u64, u64)) -> Charge {
    Charge { period: Some(period), ..charge(MONTH, cost) }
}

#[test]
fn a_fixed_window_admits_its_limit_and_starts_over_at_the_aligned_end() {
    let mut home = Home::default();
    assert_eq!(home.says(FIXED, MINUTE + 50 * S), (0, 10, 10 * S, 0));
    assert_eq!(home.take(FIXED, 7, MINUTE + 50 * S), ADMITTED);
    assert_eq!(home.says(FIXED, MINUTE + 50 * S), (7, 3, 10 * S, 10 * S));
    assert_eq!(home.take(FIXED, 4, MINUTE + 50 * S), refused(10 * S));
    assert_eq!(home.take(FIXED, 4, MINUTE + 60 * S - 1), refused(1));
    assert_eq!(home.take(FIXED, 10, MINUTE + 60 * S), ADMITTED);
    assert_eq!(home.says(FIXED, MINUTE + 60 * S), (10, 0, 60 * S, 60 * S));
    assert_eq!(home.says(FIXED, MINUTE + 120 * S), (0, 10, 60 * S, 0));
    assert_eq!(home.take(FIXED, 11, MINUTE + 120 * S), Outcome::NeverFits { by: 0 });
}

#[test]
fn a_fixed_window_stays_in_the_later_window_when_the_clock_steps_back() {
    let mut home = Home::default();
    home.take(FIXED, 4, MINUTE + 5 * S);
    assert_eq!(home.says(FIXED, MINUTE - 30 * S), (4, 6, 90 * S, 90 * S));
    assert_eq!(home.take(FIXED, 6, MINUTE - 30 * S), ADMITTED);
    assert_eq!(home.take(FIXED, 1, MINUTE + 5 * S), refused(55 * S));
}

#[test]
fn a_fixed_window_gives_back_only_what_was_charged_in_the_window_it_is_in() {
    let mut home = Home::default();
    home.take(FIXED, 8, MINUTE - 1);
    home.take(FIXED, 5, MINUTE);
    home.give_back(FIXED, 8, MINUTE - 1, MINUTE);
    assert_eq!(home.says(FIXED, MINUTE).0, 5);
    home.give_back(FIXED, 2, MINUTE, MINUTE + S);
    assert_eq!(home.says(FIXED, MINUTE).0, 3);
    home.give_back(FIXED, 9, MINUTE + S, MINUTE + S);
    assert_eq!(home.says(FIXED, MINUTE), (0, 10, 60 * S, 0));
}

#[test]
fn a_charge_from_before_the_meters_window_is_not_given_back_and_one_from_after_it_is() {
    let mut home = Home::default();
    home.take(FIXED, 4, MINUTE);
    home.take(FIXED, 3, MINUTE - 30 * S);
    home.give_back(FIXED, 2, MINUTE - 30 * S, MINUTE + S);
    assert_eq!(home.says(FIXED, MINUTE + S).0, 7);
    // The clock that refunds may be behind the one that charged.
    home.give_back(FIXED, 2, MINUTE + 61 * S, MINUTE + S);
    assert_eq!(home.says(FIXED, MINUTE + S).0, 5);
}

#[test]
fn a_fixed_window_that_is_over_has_nothing_to_give_back_and_stays_as_it_was() {
    let mut home = Home::default();
    home.take(FIXED, 4, MINUTE);
    let before = home.clone();
    home.give_back(FIXED, 2, MINUTE, MINUTE + 60 * S);
    home.give_back(FIXED, 2, MINUTE + 60 * S, MINUTE + 60 * S);
    assert_eq!(home, before);
}

#[test]
fn a_calendar_period_is_what_the_caller_says_it_is() {
    let (first, second) = ((100, 250), (250, 300));
    let mut home = Home::default();
    assert_eq!(home.ask(&[in_period(10, first)], Mode::Charge, 0, 120).outcome, ADMITTED);
    let answer = home.ask(&[in_period(1, first)], Mode::Charge, 0, 130);
    assert_eq!(answer.outcome, refused(120));
    let full = Reading { used: 10, remaining: 0, next: 120, reset: 120, overage: 0 };
    assert_eq!(answer.readings, [full]);

    assert_eq!(home.ask(&[in_period(4, second)], Mode::Charge, 0, 250).outcome, ADMITTED);
    // The clock steps back into the first period; the meter stays in the second.
    let answer = home.ask(&[in_period(1, first)], Mode::Peek, 0, 240);
    assert_eq!(answer.readings, [Reading { used: 4, remaining: 6, next: 60, reset: 60, overage: 0 }]);
    home.refund(&in_period(10, second), 10, 0, 120, 260);
    home.refund(&in_period(3, second), 3, 0, 250, 260);
    assert_eq!(home.ask(&[in_period(1, second)], Mode::Peek, 0, 260).readings[0].used, 1);
}

#[test]
fn overage_up_to_a_cap_is_served_as_a_whole_or_refused() {
    let mut home = Home::default();
    let mut ask = |cost, mode| {
        let charge = Charge { overage: Overage::BilledUpTo(5), ..billed(FIXED, cost) };
        let answer = home.ask(&[charge], mode, 0, MINUTE);
        (answer.outcome, answer.readings[0].used, answer.readings[0].overage)
    };
    assert_eq!(ask(8, Mode::Charge), (ADMITTED, 8, 0));
    assert_eq!(ask(8, Mode::Charge), (refused(60 * S), 8, 0));
    assert_eq!(ask(16, Mode::Charge), (Outcome::NeverFits { by: 0 }, 8, 0));
    assert_eq!(ask(7, Mode::Charge), (Outcome::Admitted { overage: 5 }, 15, 5));
    assert_eq!(ask(1, Mode::Charge), (refused(60 * S), 15, 5));
    assert_eq!(ask(2, Mode::Force), (Outcome::Admitted { overage: 2 }, 17, 7));
}
