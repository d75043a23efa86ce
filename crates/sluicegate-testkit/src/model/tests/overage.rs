//! Overage follows from what was used, also after a change of the limit.

use super::*;

const MINUTE: u64 = 60 * S;
const TEN: Rule = Rule::FixedWindow { limit: 10, window_s: 60 };
const FIVE: Rule = Rule::FixedWindow { limit: 5, window_s: 60 };
const HUNDRED: Rule = Rule::FixedWindow { limit: 100, window_s: 60 };

/// What a charge adds to the overage, and what is used and over it then.
fn charged(home: &mut Home, charge: Charge, now: u64) -> (u64, u64, u64) {
    let answer = home.ask(&[charge], Mode::Charge, 0, now);
    let Outcome::Admitted { overage } = answer.outcome else { panic!("{answer:?}") };
    (overage, answer.readings[0].used, answer.readings[0].overage)
}

fn looked(home: &Home, charge: Charge, now: u64) -> (u64, u64) {
    let reading = home.clone().ask(&[charge], Mode::Peek, 0, now).readings[0];
    (reading.used, reading.overage)
}

#[test]
fn it_is_what_is_used_beyond_the_limit() {
    let mut home = Home::default();
    assert_eq!(charged(&mut home, billed(TEN, 8), MINUTE), (0, 8, 0));
    assert_eq!(charged(&mut home, billed(TEN, 5), MINUTE), (3, 13, 3));
    assert_eq!(charged(&mut home, billed(TEN, 5), MINUTE), (5, 18, 8));
    assert_eq!(charged(&mut home, billed(TEN, MOST), MINUTE), (MOST - 18, MOST, MOST - 10));
}

#[test]
fn a_refund_takes_back_what_is_no_longer_over() {
    let mut home = Home::default();
    charged(&mut home, billed(TEN, 8), MINUTE);
    charged(&mut home, billed(TEN, 7), MINUTE);
    assert_eq!(home.refund(&billed(TEN, 8), 8, 0, MINUTE, MINUTE), 5);
    assert_eq!(looked(&home, billed(TEN, 1), MINUTE), (7, 0));
    // In a period that is over, too; nothing of this was beyond the limit.
    assert_eq!(home.refund(&billed(TEN, 7), 7, 0, MINUTE, 2 * MINUTE), 0);
}

#[test]
fn a_share_of_a_limit_bills_from_where_the_limit_did() {
    let mut home = Home::default();
    let scaled = |cost| Charge { included: Some(10), ..billed(FIVE, cost) };
    assert_eq!(charged(&mut home, billed(TEN, 4), MINUTE), (0, 4, 0));
    assert_eq!(charged(&mut home, scaled(4), MINUTE), (0, 8, 0));
    assert_eq!(charged(&mut home, scaled(4), MINUTE), (2, 12, 2));
    assert_eq!(home.refund(&scaled(4), 4, 0, MINUTE, MINUTE), 2);
    assert_eq!(charged(&mut home, billed(TEN, 3), MINUTE), (1, 11, 1));
}

#[test]
fn a_larger_limit_undoes_nothing_and_bills_beyond_itself() {
    let mut home = Home::default();
    charged(&mut home, billed(TEN, 15), MINUTE);
    assert_eq!(looked(&home, billed(HUNDRED, 1), MINUTE), (15, 5));
    assert_eq!(charged(&mut home, billed(HUNDRED, 85), MINUTE), (0, 100, 5));
    assert_eq!(charged(&mut home, billed(HUNDRED, 2), MINUTE), (2, 102, 7));
    assert_eq!(home.refund(&billed(HUNDRED, 50), 50, 0, MINUTE, MINUTE), 2);
    // What was recorded before stays, however much is given back.
    assert_eq!(home.refund(&billed(HUNDRED, 52), 52, 0, MINUTE, MINUTE), 0);
    assert_eq!(looked(&home, billed(HUNDRED, 1), MINUTE), (0, 5));
    assert_eq!(looked(&home, billed(HUNDRED, 1), 2 * MINUTE), (0, 0));
}

#[test]
fn a_smaller_limit_never_bills_what_was_included_when_it_was_used() {
    let mut home = Home::default();
    charged(&mut home, billed(HUNDRED, 60), MINUTE);
    assert_eq!(charged(&mut home, billed(TEN, 4), MINUTE), (4, 64, 4));
    assert_eq!(charged(&mut home, billed(FIVE, 1), MINUTE), (1, 65, 5));
    assert_eq!(home.refund(&billed(FIVE, 3), 3, 0, MINUTE, MINUTE), 1);
    // The next period begins anew.
    assert_eq!(charged(&mut home, billed(FIVE, 8), 2 * MINUTE), (3, 8, 3));
}

#[test]
fn what_was_over_a_limit_that_billed_nothing_is_not_billed() {
    let mut home = Home::default();
    home.ask(&[quota(TEN, 15)], Mode::Force, 0, MINUTE);
    assert_eq!(looked(&home, billed(FIVE, 1), MINUTE), (15, 0));
    assert_eq!(looked(&home, billed(TEN, 1), MINUTE), (15, 0));
    home.ask(&[billed(TEN, 1)], Mode::Force, 0, MINUTE);
    assert_eq!(looked(&home, billed(TEN, 1), MINUTE), (16, 1));
}

#[test]
fn what_was_recorded_outlasts_a_limit_that_bills_nothing() {
    let mut home = Home::default();
    assert_eq!(charged(&mut home, billed(TEN, 60), MINUTE), (50, 60, 50));
    assert_eq!(charged(&mut home, quota(HUNDRED, 10), MINUTE), (0, 70, 0));
    assert_eq!(home.refund(&quota(HUNDRED, 20), 20, 0, MINUTE, MINUTE), 0);
    assert_eq!(charged(&mut home, billed(TEN, 7), MINUTE), (7, 57, 57));
    // The next period begins anew.
    assert_eq!(charged(&mut home, quota(HUNDRED, 8), 2 * MINUTE), (0, 8, 0));
    assert_eq!(charged(&mut home, billed(FIVE, 1), 2 * MINUTE), (1, 9, 1));
}
