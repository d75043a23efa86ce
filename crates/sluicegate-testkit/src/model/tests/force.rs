//! Charging what has happened already, fit or not.

use super::*;

const NOW: u64 = 6_000 * S;
/// T is 100 ms.
const BUCKET: Rule = Rule::TokenBucket { amount: 10, window_s: 1, burst: 5 };
const FIXED: Rule = Rule::FixedWindow { limit: 10, window_s: 60 };
const SLOT: Rule = Rule::Concurrency { limit: 1, lease_ns: 5 * S };

fn force(home: &mut Home, charges: &[Charge], now: u64) -> (Outcome, Vec<u64>) {
    let answer = home.ask(charges, Mode::Force, now, now);
    (answer.outcome, answer.readings.iter().map(|reading| reading.used).collect())
}

#[test]
fn counts_go_above_the_limit_without_being_billed() {
    let (limit, window_s) = (10, 10);
    for rule in [
        FIXED,
        Rule::SlidingWindow { limit, window_s },
        Rule::SlidingBuckets { limit, window_s },
        Rule::SlidingLog { limit, window_s },
    ] {
        let mut home = Home::default();
        assert_eq!(force(&mut home, &[charge(rule, 8)], NOW), (ADMITTED, vec![8]));
        assert_eq!(force(&mut home, &[charge(rule, 4)], NOW), (ADMITTED, vec![12]));
        // More than could ever fit.
        assert_eq!(force(&mut home, &[charge(rule, 11)], NOW), (ADMITTED, vec![23]));
        assert_eq!(home.says(rule, NOW).1, 0);
        assert_eq!(force(&mut home, &[charge(rule, MOST)], NOW), (ADMITTED, vec![MOST]));
    }
}

#[test]
fn overage_is_told_as_usual() {
    let mut home = Home::default();
    let outcome = force(&mut home, &[billed(FIXED, 12)], NOW);
    assert_eq!(outcome, (Outcome::Admitted { overage: 2 }, vec![12]));
}

#[test]
fn a_token_bucket_owes_all_of_it_and_admits_nothing_before_it_is_paid() {
    let mut home = Home::default();
    assert_eq!(force(&mut home, &[charge(BUCKET, 3)], NOW), (ADMITTED, vec![3]));
    assert_eq!(force(&mut home, &[charge(BUCKET, 4)], NOW), (ADMITTED, vec![5]));
    assert_eq!(home.says(BUCKET, NOW), (5, 0, 3 * S / 10, 7 * S / 10));
    assert_eq!(force(&mut home, &[charge(BUCKET, 10_000)], NOW), (ADMITTED, vec![5]));
    assert_eq!(home.take(BUCKET, 1, NOW), refused(10_003 * S / 10));
    assert_eq!(home.take(BUCKET, 1, NOW + 10_003 * S / 10 - 1), refused(1));
    assert_eq!(home.clone().take(BUCKET, 1, NOW + 10_003 * S / 10), ADMITTED);
    // What is owed is not taken for a clock that stepped back.
    assert_eq!(home.take(BUCKET, 1, NOW - 60 * S), refused(10_003 * S / 10 + 60 * S));
    // A penalty empties a bucket, and this one is empty.
    let penalty = Charge { due: Due::Refusal, ..charge(BUCKET, 3) };
    let slot = Charge { meter: 2, ..charge(SLOT, 1) };
    assert_eq!(home.ask(std::slice::from_ref(&slot), Mode::Charge, 0, NOW).outcome, ADMITTED);
    let before = home.clone();
    let answer = home.ask(&[slot, penalty], Mode::Charge, 1, NOW);
    assert!(matches!(answer.outcome, Outcome::Refused { .. }));
    assert_eq!(home, before);
}

#[test]
fn a_token_bucket_owes_31_days_at_the_most() {
    let mut home = Home::default();
    let longest = 31 * 86_400 * S;
    assert_eq!(force(&mut home, &[charge(BUCKET, MOST)], NOW), (ADMITTED, vec![5]));
    assert_eq!(home.says(BUCKET, NOW).3, longest);
    let before = home.clone();
    assert_eq!(force(&mut home, &[charge(BUCKET, 1)], NOW), (ADMITTED, vec![5]));
    assert_eq!(home, before);
    assert_eq!(home.says(BUCKET, NOW - S).3, longest + S, "a clock that is a little behind");
    assert_eq!(home.says(BUCKET, NOW - S - 1).3, longest, "a clock that stepped back");
    // Unless the limit itself explains more.
    let slow = Rule::TokenBucket { amount: 1, window_s: 86_400, burst: 5 };
    force(&mut home, &[Charge { meter: 9, ..charge(slow, MOST) }], NOW);
    assert_eq!(
        home.ask(&[Charge { meter: 9, ..charge(slow, 1) }], Mode::Peek, 0, NOW).readings[0].reset,
        50 * 86_400 * S
    );
}

#[test]
fn what_flowed_in_since_a_charge_is_not_given_back() {
    let mut home = Home::default();
    assert_eq!(home.take(BUCKET, 5, NOW), ADMITTED);
    // Three of the five are paid, and taken by others.
    let later = NOW + 3 * S / 10;
    assert_eq!(home.take(BUCKET, 3, later), ADMITTED);
    home.refund(&charge(BUCKET, 4), 5, 0, NOW, later);
    assert_eq!(home.says(BUCKET, later), (3, 2, S / 10, 3 * S / 10));
    // Of an old charge nothing is left.
    let before = home.clone();
    home.refund(&charge(BUCKET, 3), 3, 0, NOW, later);
    assert_eq!(home, before);
}

#[test]
fn only_a_slot_refuses_and_then_nothing_is_charged() {
    let all =
        [charge(BUCKET, 6), Charge { meter: 2, ..charge(SLOT, 1) }, Charge { meter: 3, ..charge(FIXED, 11) }];
    let mut home = Home::default();
    assert_eq!(force(&mut home, &all, NOW), (ADMITTED, vec![5, 1, 11]));
    let before = home.clone();
    let no_slot = Outcome::Refused { by: 1, retry_after: 4 * S };
    assert_eq!(force(&mut home, &all, NOW + S), (no_slot, vec![0, 1, 11]));
    assert_eq!(home, before);
    assert_eq!(force(&mut home, &all, NOW + 5 * S), (ADMITTED, vec![5, 1, 22]));
}
