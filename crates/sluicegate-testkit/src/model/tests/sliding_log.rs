//! The exact log: each entry counts for one window.

use super::*;

const LOG: Rule = Rule::SlidingLog { limit: 3, window_s: 10 };

#[test]
fn a_log_forgets_each_entry_exactly_one_window_after_it_was_made() {
    let mut home = Home::default();
    assert_eq!(home.says(LOG, 100 * S + 7), (0, 3, 10 * S, 0));
    assert_eq!(home.take(LOG, 1, 100 * S + 7), ADMITTED);
    assert_eq!(home.take(LOG, 2, 104 * S), ADMITTED);
    assert_eq!(home.says(LOG, 104 * S), (3, 0, 6 * S + 7, 10 * S));
    assert_eq!(home.take(LOG, 1, 104 * S), refused(6 * S + 7));
    assert_eq!(home.take(LOG, 2, 104 * S), refused(10 * S));
    assert_eq!(home.take(LOG, 1, 110 * S + 6), refused(1));
    assert_eq!(home.take(LOG, 1, 110 * S + 7), ADMITTED);
    assert_eq!(home.take(LOG, 4, 200 * S), Outcome::NeverFits { by: 0 });
}

#[test]
fn a_log_gives_back_what_was_charged_at_that_instant() {
    let mut home = Home::default();
    home.take(LOG, 1, 100 * S);
    home.take(LOG, 2, 104 * S);
    home.give_back(LOG, 2, 104 * S, 105 * S);
    assert_eq!(home.says(LOG, 105 * S), (1, 2, 5 * S, 5 * S));
    // Nothing was used then, nor later.
    home.give_back(LOG, 1, 100 * S + 1, 105 * S);
    assert_eq!(home.says(LOG, 105 * S).0, 1);
}

#[test]
fn a_log_serves_on_and_bills_nothing() {
    let mut home = Home::default();
    home.take(LOG, 2, 100 * S);
    let answer = home.ask(&[billed(LOG, 5)], Mode::Charge, 0, 101 * S);
    assert_eq!(answer.outcome, ADMITTED);
    assert_eq!(answer.readings, [Reading { used: 7, remaining: 0, next: 9 * S, reset: 10 * S, overage: 0 }]);
}
