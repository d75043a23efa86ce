//! What a meter keeps when its limit is changed under it.

use super::*;

const NOW: u64 = 6_000 * S;

fn bucket(amount: u64, window_s: u64, burst: u64) -> Rule {
    Rule::TokenBucket { amount, window_s, burst }
}

fn fixed(limit: u64, window_s: u64) -> Rule {
    Rule::FixedWindow { limit, window_s }
}

/// Charges 6 under `old` and says what `new` then makes of the meter at once.
fn after_six(old: Rule, new: Rule) -> (u64, u64, u64, u64) {
    let mut home = Home::default();
    assert_eq!(home.take(old, 6, NOW), ADMITTED);
    home.says(new, NOW)
}

#[test]
fn a_raised_limit_unblocks_at_once_and_a_lowered_one_leaves_nothing() {
    assert_eq!(after_six(fixed(6, 60), fixed(9, 60)), (6, 3, 60 * S, 60 * S));
    assert_eq!(after_six(fixed(6, 60), fixed(4, 60)), (6, 0, 60 * S, 60 * S));
    let log = |limit| Rule::SlidingLog { limit, window_s: 10 };
    assert_eq!(after_six(log(6), log(9)), (6, 3, 10 * S, 10 * S));
    let sliding = |limit| Rule::SlidingWindow { limit, window_s: 10 };
    assert_eq!(after_six(sliding(6), sliding(4)).1, 0);
}

#[test]
fn a_token_bucket_keeps_its_used_units_with_their_fractions() {
    let mut home = Home::default();
    home.take(bucket(10, 1, 10), 6, NOW);
    // A quarter of a unit's 100 ms later 5.75 units are used: 5.75 × 50 ms under the doubled rate.
    let later = NOW + 25_000_000;
    assert_eq!(home.says(bucket(20, 1, 10), later), (6, 4, 37_500_000, 287_500_000));
    // Above a smaller burst they are owed: 2.75 units and the one that is used first, of 50 ms each.
    assert_eq!(home.says(bucket(20, 1, 3), later), (3, 0, 187_500_000, 287_500_000));
    // But not more than ten times the burst.
    let mut larger = Home::default();
    larger.take(bucket(10, 1, 100), 60, NOW);
    assert_eq!(larger.says(bucket(10, 1, 3), NOW), (3, 0, 28 * S / 10, 3 * S));
    // 5.75 thirds of a second are 1.91666.. s.
    assert_eq!(home.says(bucket(3, 1, 10), later).3, 1_916_666_667);
    // 5.75 minutes: another window makes no difference.
    assert_eq!(home.says(bucket(1, 60, 10), later), (6, 4, 45 * S, 345 * S));
    assert_eq!(home.says(bucket(20, 2, 10), later), (6, 4, 75_000_000, 575_000_000));
}

#[test]
fn used_units_are_rounded_up_to_what_the_new_limit_can_hold() {
    let mut home = Home::default();
    home.take(bucket(1, 1, 2), 1, NOW);
    // 0.999,999,999 units are used; of 10 ns each that is 9.999,999,99 ns, but this bucket counts in whole ones.
    assert_eq!(home.says(bucket(S / 10, 1, 2), NOW + 1), (1, 1, 10, 10));
}

#[test]
fn another_window_turns_what_is_used_into_one_charge_at_now() {
    // The fixed window of an hour began 2,400 s before.
    assert_eq!(after_six(fixed(6, 60), fixed(10, 3600)), (6, 4, 1_200 * S, 1_200 * S));
    let buckets = |window_s| Rule::SlidingBuckets { limit: 10, window_s };
    assert_eq!(after_six(buckets(60), buckets(120)), (6, 4, 121 * S, 121 * S));
}

#[test]
fn another_algorithm_turns_what_is_used_into_one_charge_at_now() {
    let log = Rule::SlidingLog { limit: 10, window_s: 10 };
    assert_eq!(after_six(fixed(10, 60), log), (6, 4, 10 * S, 10 * S));
    assert_eq!(after_six(log, bucket(10, 1, 10)), (6, 4, S / 10, 6 * S / 10));
    assert_eq!(after_six(log, bucket(10, 1, 4)), (4, 0, S / 10, 4 * S / 10));
    assert_eq!(after_six(bucket(10, 1, 10), log), (6, 4, 10 * S, 10 * S));
    let (limit, window_s) = (10, 10);
    let buckets = Rule::SlidingBuckets { limit, window_s };
    assert_eq!(after_six(log, buckets), (6, 4, 11 * S, 11 * S));
    let two_counts = Rule::SlidingWindow { limit: 4, window_s };
    assert_eq!(after_six(log, two_counts).0, 6);

    let mut home = Home::default();
    home.take(bucket(10, 1, 10), 6, NOW);
    // 5.01 units are used: six whole ones.
    assert_eq!(home.says(log, NOW + 99_000_000).0, 6);
}

#[test]
fn another_calendar_carries_its_count_into_the_period_of_now() {
    let month = |calendar, period| {
        let rule = Rule::Calendar { limit: 10, calendar };
        Charge { period: Some(period), ..charge(rule, 6) }
    };
    let mut home = Home::default();
    home.ask(&[month(1, (100, 200))], Mode::Charge, 0, 150);
    let reading = home.ask(&[month(2, (140, 240))], Mode::Peek, 0, 160).readings[0];
    assert_eq!(reading, Reading { used: 6, remaining: 4, next: 80, reset: 80, overage: 0 });
    // At 200 the first calendar has forgotten; nothing is left to carry.
    let reading = home.ask(&[month(2, (140, 240))], Mode::Peek, 0, 200).readings[0];
    assert_eq!(reading.used, 0);
}

#[test]
fn nothing_is_carried_to_or_from_slots() {
    let slots = Rule::Concurrency { limit: 10, lease_ns: 60 * S };
    assert_eq!(after_six(fixed(10, 60), slots), (0, 10, 0, 0));
    assert_eq!(after_six(slots, fixed(10, 60)), (0, 10, 60 * S, 0));
}

#[test]
fn a_limit_that_is_smaller_for_a_while_forgets_nothing() {
    let (whole, part) = (bucket(20, 86_400, 20), bucket(10, 86_400, 10));
    let mut home = Home::default();
    home.take(whole, 15, NOW);
    // Refused, which keeps what was carried over; six units and a half day's twentieth each.
    assert_eq!(home.take(part, 1, NOW), refused(6 * 8_640 * S));
    assert_eq!(home.says(whole, NOW).0, 15);
    // A bucket that takes ten years to fill owes no more than its burst.
    let (years, slow) = (bucket(1, 315_360_000, 2), bucket(1, 315_360_000, 1));
    let mut home = Home::default();
    home.take(years, 2, NOW);
    assert_eq!(home.says(slow, NOW).3, 315_360_000 * S);
}
