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
fn a_token_bucket_is_emptied_and_no_more() {
    let mut home = Home::default();
    assert_eq!(force(&mut home, &[charge(BUCKET, 3)], NOW), (ADMITTED, vec![3]));
    assert_eq!(force(&mut home, &[charge(BUCKET, 4)], NOW), (ADMITTED, vec![5]));
    assert_eq!(home.says(BUCKET, NOW), (5, 0, S / 10, S / 2));
    assert_eq!(force(&mut home, &[charge(BUCKET, MOST)], NOW), (ADMITTED, vec![5]));
    assert_eq!(home.says(BUCKET, NOW), (5, 0, S / 10, S / 2));
    // A debt above the burst, seen by a clock that is a little behind, stays.
    let before = home.clone();
    assert_eq!(force(&mut home, &[charge(BUCKET, 1)], NOW - S), (ADMITTED, vec![5]));
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
