//! Corrections of a period that is over.

use super::*;

const TEN: Rule = Rule::FixedWindow { limit: 10, window_s: 3_600 };
const DAY: u64 = 24 * HOUR;

/// By how much the overage changes, and what is used then.
fn asked(home: &mut Home, cost: u64, mode: Mode, now: u64) -> (u64, u64) {
    let answer = home.ask(&[billed(TEN, cost)], mode, 0, now);
    let Outcome::Admitted { overage } = answer.outcome else { panic!("{answer:?}") };
    (overage, answer.readings[0].used)
}

fn more(charged_at: u64) -> Mode {
    Mode::Correct { charged_at }
}

#[test]
fn a_correction_counts_in_the_period_of_its_charge() {
    let mut home = Home::default();
    assert_eq!(asked(&mut home, 8, Mode::Charge, HOUR), (0, 8));
    assert_eq!(asked(&mut home, 5, more(HOUR), 2 * HOUR), (3, 0));
    assert_eq!(asked(&mut home, 4, Mode::Charge, 2 * HOUR), (0, 4));
    assert_eq!(asked(&mut home, 2, more(HOUR), 2 * HOUR), (2, 4));
    assert_eq!(home.refund(&billed(TEN, 8), 8, 0, HOUR, 2 * HOUR), 5);
    assert_eq!(asked(&mut home, 1, Mode::Peek, 2 * HOUR), (0, 4));
}

#[test]
fn only_one_period_before_is_kept_and_only_for_two_days() {
    let mut home = Home::default();
    for hour in 1..4 {
        asked(&mut home, 8, Mode::Charge, hour * HOUR);
    }
    // That of the first hour is forgotten: an excess counts now, and nothing is given back.
    assert_eq!(asked(&mut home, 1, more(HOUR), 3 * HOUR), (0, 9));
    assert_eq!(home.refund(&billed(TEN, 8), 8, 0, HOUR, 3 * HOUR), 0);
    assert_eq!(asked(&mut home, 3, more(2 * HOUR), 3 * HOUR + 2 * DAY - 1), (1, 0));
    assert_eq!(asked(&mut home, 3, more(2 * HOUR), 3 * HOUR + 2 * DAY), (0, 3));
}

#[test]
fn a_rate_counts_an_excess_now() {
    let mut home = Home::default();
    home.take(TEN, 8, HOUR);
    home.ask(&[charge(TEN, 5)], more(HOUR), 0, 2 * HOUR);
    assert_eq!(home.says(TEN, 2 * HOUR).0, 5);
}

#[test]
fn another_amount_leaves_the_period_before_as_it_was() {
    let mut home = Home::default();
    asked(&mut home, 8, Mode::Charge, HOUR);
    asked(&mut home, 1, Mode::Charge, 2 * HOUR);
    let fewer = billed(Rule::FixedWindow { limit: 3, window_s: 3_600 }, 5);
    let answer = home.ask(&[fewer], more(HOUR), 0, 2 * HOUR);
    assert_eq!(answer.outcome, Outcome::Admitted { overage: 3 });
}

#[test]
fn a_plan_that_bills_nothing_leaves_a_period_that_was_billed_as_it_was() {
    for moves_on in [true, false] {
        let mut home = Home::default();
        asked(&mut home, 12, Mode::Charge, HOUR);
        if moves_on {
            asked(&mut home, 1, Mode::Charge, 2 * HOUR);
        }
        let answer = home.ask(&[quota(TEN, 5)], more(HOUR), 0, 2 * HOUR);
        assert_eq!(answer.outcome, Outcome::Admitted { overage: 5 });
        assert_eq!(home.refund(&quota(TEN, 9), 9, 0, HOUR, 2 * HOUR), 7);
        // Nor does one that bills make an overage of a period that was not billed.
        home.ask(&[quota(TEN, 15)], Mode::Force, 0, 3 * HOUR);
        assert_eq!(asked(&mut home, 5, more(3 * HOUR), 4 * HOUR), (0, 0));
    }
}

#[test]
fn a_change_that_is_noticed_after_the_period_leaves_it_as_it_was() {
    let mut home = Home::default();
    asked(&mut home, 8, Mode::Charge, HOUR);
    let fewer = |cost| billed(Rule::FixedWindow { limit: 3, window_s: 3_600 }, cost);
    let answer = home.ask(&[fewer(5)], more(HOUR), 0, 2 * HOUR);
    assert_eq!(answer.outcome, Outcome::Admitted { overage: 3 });
    let answer = home.ask(&[fewer(5)], Mode::Charge, 0, 2 * HOUR);
    assert_eq!(answer.outcome, Outcome::Admitted { overage: 2 });
}
