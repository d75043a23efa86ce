//! The bucketed sliding window: when its buckets start, and when they are forgotten.

use super::*;

/// 1,440 buckets of one minute.
const DAY: Rule = Rule::SlidingBuckets { limit: 100, window_s: 86_400 };
const DAY_NS: u64 = 24 * HOUR;
const MINUTE_NS: u64 = 60 * S;
const LOG: Rule = Rule::SlidingLog { limit: 3, window_s: 10 };
/// The start of a minute.
const NOON: u64 = 20_000 * DAY_NS + 12 * HOUR;

#[test]
fn a_bucket_is_forgotten_between_the_window_and_the_window_plus_one_bucket() {
    let mut home = Home::default();
    assert_eq!(home.says(DAY, NOON), (0, 100, DAY_NS, 0));
    assert_eq!(home.take(DAY, 60, NOON + 10 * S), ADMITTED);
    assert_eq!(home.take(DAY, 40, NOON + 59 * S), ADMITTED);
    // Both lie in the bucket from 12:00 to 12:01, which counts until 12:01 the next day.
    assert_eq!(home.says(DAY, NOON + 59 * S), (100, 0, DAY_NS + S, DAY_NS + S));
    assert_eq!(home.take(DAY, 1, NOON + DAY_NS + 10 * S), refused(50 * S));
    assert_eq!(home.take(DAY, 1, NOON + DAY_NS + MINUTE_NS - 1), refused(1));
    assert_eq!(home.take(DAY, 100, NOON + DAY_NS + MINUTE_NS), ADMITTED);
}

#[test]
fn bucket_lengths_are_whole_seconds_rounded_up() {
    for (window_s, bucket_s) in [(1, 1), (1_440, 1), (1_441, 2), (86_400, 60), (86_401, 61)] {
        let rule = Rule::SlidingBuckets { limit: 1, window_s };
        let mut home = Home::default();
        home.take(rule, 1, 0);
        assert_eq!(home.says(rule, 0).3, (window_s + bucket_s) * S);
    }
}

#[test]
fn a_wait_lasts_until_enough_of_the_oldest_buckets_are_forgotten() {
    let mut home = Home::default();
    home.take(DAY, 30, NOON);
    home.take(DAY, 30, NOON + MINUTE_NS);
    home.take(DAY, 30, NOON + 2 * MINUTE_NS);
    let now = NOON + 3 * MINUTE_NS;
    assert_eq!(home.says(DAY, now), (90, 10, DAY_NS - 2 * MINUTE_NS, DAY_NS));
    assert_eq!(home.take(DAY, 40, now), refused(DAY_NS - 2 * MINUTE_NS));
    assert_eq!(home.take(DAY, 41, now), refused(DAY_NS - MINUTE_NS));
    assert_eq!(home.take(DAY, 100, now), refused(DAY_NS));
    assert_eq!(home.take(DAY, 101, now), Outcome::NeverFits { by: 0 });
}

#[test]
fn a_clock_that_steps_back_charges_the_newest_bucket() {
    let mut home = Home::default();
    home.take(DAY, 30, NOON);
    home.take(DAY, 10, NOON - HOUR);
    assert_eq!(home.says(DAY, NOON + DAY_NS), (40, 60, MINUTE_NS, MINUTE_NS));
}

#[test]
fn an_admission_drops_for_good_what_no_longer_counts() {
    let mut home = Home::default();
    let later = NOON + 2 * DAY_NS;
    home.take(DAY, 30, NOON);
    assert_eq!(home.take(DAY, 101, later), Outcome::NeverFits { by: 0 });
    assert_eq!(home.says(DAY, NOON).0, 30);
    home.take(DAY, 10, later);
    assert_eq!(home.says(DAY, NOON).0, 10);
}

#[test]
fn a_refund_is_taken_from_the_bucket_of_the_charge() {
    let mut home = Home::default();
    home.take(DAY, 30, NOON);
    home.take(DAY, 20, NOON + 5 * MINUTE_NS);
    home.give_back(DAY, 10, NOON + 59 * S, NOON + HOUR);
    assert_eq!(home.says(DAY, NOON + HOUR).0, 40);
    // Nothing was used so late, and what was used so early does not count any more.
    home.give_back(DAY, 10, NOON + 6 * MINUTE_NS, NOON + HOUR);
    home.give_back(DAY, 10, NOON - DAY_NS, NOON + HOUR);
    assert_eq!(home.says(DAY, NOON + HOUR).0, 40);
    home.give_back(DAY, 20, NOON, NOON + HOUR);
    // The emptied bucket is no longer the oldest.
    assert_eq!(home.says(DAY, NOON + HOUR), (20, 80, DAY_NS - 54 * MINUTE_NS, DAY_NS - 54 * MINUTE_NS));
    // A bucket that no longer counts is still there until an admission drops it, and gives nothing back.
    home.give_back(DAY, 1, NOON + 5 * MINUTE_NS, NOON + 3 * DAY_NS);
    assert_eq!(home.says(DAY, NOON + HOUR).0, 20);
}

#[test]
fn what_the_bucket_of_a_charge_does_not_hold_is_taken_from_later_ones() {
    let mut home = Home::default();
    home.take(DAY, 30, NOON);
    home.take(DAY, 20, NOON + 5 * MINUTE_NS);
    home.give_back(DAY, 10, NOON - 1, NOON + HOUR);
    assert_eq!(home.says(DAY, NOON + HOUR).0, 40);
    home.give_back(DAY, 5, NOON + 4 * MINUTE_NS, NOON + HOUR);
    assert_eq!(home.says(DAY, NOON + HOUR), (35, 65, DAY_NS - 59 * MINUTE_NS, DAY_NS - 54 * MINUTE_NS));
    home.give_back(DAY, 25, NOON, NOON + HOUR);
    assert_eq!(home.says(DAY, NOON + HOUR), (10, 90, DAY_NS - 54 * MINUTE_NS, DAY_NS - 54 * MINUTE_NS));
    home.give_back(DAY, 99, NOON, NOON + HOUR);
    assert_eq!(home.says(DAY, NOON + HOUR).0, 0);
}

#[test]
fn a_charge_made_by_a_clock_that_was_behind_is_found_again() {
    for rule in [DAY, LOG] {
        let mut home = Home::default();
        home.take(rule, 1, NOON);
        home.take(rule, 2, NOON - HOUR);
        // Of the log, whose window is shorter than that, nothing can be given back any more.
        home.give_back(rule, 2, NOON - HOUR, NOON);
        assert_eq!(home.says(rule, NOON).0, if rule == DAY { 1 } else { 3 });
        home.give_back(rule, 3, NOON, NOON);
        assert_eq!(home.says(rule, NOON).0, 0);
    }
}
