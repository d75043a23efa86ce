//! Which calls keep what an edit or a clock step has made of a meter.

use super::*;

const NOW: u64 = 6_000 * S;
const FIXED: Rule = Rule::FixedWindow { limit: 10, window_s: 60 };
const LOG: Rule = Rule::SlidingLog { limit: 6, window_s: 600 };
/// T is 100 ms.
const BUCKET: Rule = Rule::TokenBucket { amount: 10, window_s: 1, burst: 5 };

fn with_six() -> Home {
    let mut home = Home::default();
    assert_eq!(home.take(FIXED, 6, NOW), ADMITTED);
    home
}

#[test]
fn a_refused_request_keeps_the_carried_meter() {
    for (cost, outcome) in [(1, refused(600 * S)), (7, Outcome::NeverFits { by: 0 })] {
        let mut home = with_six();
        assert_eq!(home.take(LOG, cost, NOW), outcome);
        // The old window is long over.
        assert_eq!(home.says(LOG, NOW + 61 * S), (6, 0, 539 * S, 539 * S));
    }
}

#[test]
fn a_peek_keeps_nothing() {
    let mut home = with_six();
    let before = home.clone();
    assert_eq!(home.ask(&[charge(LOG, 1)], Mode::Peek, 0, NOW).outcome, refused(600 * S));
    assert_eq!(home, before);
    // Once the old window is over there is nothing to carry.
    assert_eq!(home.take(LOG, 6, NOW + 60 * S), ADMITTED);
}

#[test]
fn a_refusal_creates_no_meter_but_keeps_the_others_that_were_carried() {
    let mut home = with_six();
    let other = |cost| Charge { meter: 2, ..charge(LOG, cost) };
    let outcome = home.ask(&[charge(LOG, 1), other(7)], Mode::Charge, 0, NOW).outcome;
    assert_eq!(outcome, Outcome::NeverFits { by: 1 });
    let mut alone = with_six();
    alone.take(LOG, 7, NOW);
    assert_eq!(home, alone);
}

#[test]
fn a_refund_is_made_on_the_carried_meter_which_then_stays() {
    let mut home = with_six();
    home.give_back(LOG, 2, NOW + S, NOW + S);
    assert_eq!(home.says(LOG, NOW + 61 * S), (4, 2, 540 * S, 540 * S));
}

#[test]
fn what_was_charged_before_a_meter_was_carried_is_given_back_from_what_was_carried() {
    let mut home = with_six();
    home.give_back(LOG, 2, NOW, NOW + S);
    assert_eq!(home.says(LOG, NOW + 61 * S), (4, 2, 540 * S, 540 * S));
}

#[test]
fn a_refund_that_gives_back_nothing_still_keeps_the_carried_meter() {
    let mut home = with_six();
    home.give_back(LOG, 2, NOW + 2 * S, NOW + S);
    assert_eq!(home.says(LOG, NOW + 61 * S), (6, 0, 540 * S, 540 * S));
}

#[test]
fn a_bucket_mended_after_a_clock_step_stays_so_except_for_a_peek() {
    let mut home = Home::default();
    home.take(BUCKET, 2, NOW);
    let back = NOW - 100 * S;
    let before = home.clone();
    home.ask(&[charge(BUCKET, 1)], Mode::Peek, 0, back);
    assert_eq!(home, before);

    let mut refunded = home.clone();
    assert_eq!(home.take(BUCKET, 2, back), refused(S / 5));
    // Empty at `back`, it is full again half a second later.
    assert_eq!(home.says(BUCKET, back + S / 2), (0, 5, S / 10, 0));
    refunded.give_back(BUCKET, 1, NOW, back);
    assert_eq!(refunded.says(BUCKET, back), (4, 1, S / 10, 4 * S / 10));
}

#[test]
fn a_bucket_is_mended_under_its_old_limit_before_it_is_carried() {
    let mut home = Home::default();
    home.take(BUCKET, 2, NOW);
    let larger = Rule::TokenBucket { amount: 10, window_s: 1, burst: 50 };
    assert_eq!(home.says(larger, NOW - 100 * S), (5, 45, S / 10, S / 2));
}
