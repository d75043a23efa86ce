//! Slots: taken, released, and free again after their deadline.

use super::*;

const TWO: Rule = Rule::Concurrency { limit: 2, lease_ns: 30 };

fn take(home: &mut Home, slot: u64, now: u64) -> Outcome {
    home.ask(&[charge(TWO, 1)], Mode::Charge, slot, now).outcome
}

fn release(home: &mut Home, slot: u64, now: u64) {
    home.refund(&charge(TWO, 1), 1, slot, now, now);
}

#[test]
fn a_slot_counts_until_its_deadline_has_passed() {
    let mut home = Home::default();
    assert_eq!(home.says(TWO, 100), (0, 2, 0, 0));
    assert_eq!(take(&mut home, 1, 100), ADMITTED);
    assert_eq!(take(&mut home, 2, 110), ADMITTED);
    assert_eq!(home.says(TWO, 110), (2, 0, 20, 30));
    assert_eq!(take(&mut home, 3, 110), refused(20));
    assert_eq!(take(&mut home, 3, 129), refused(1));
    assert_eq!(take(&mut home, 3, 130), ADMITTED);
    assert_eq!(home.says(TWO, 130), (2, 0, 10, 30));
}

#[test]
fn a_release_frees_the_slot_once() {
    let mut home = Home::default();
    take(&mut home, 1, 100);
    take(&mut home, 2, 110);
    release(&mut home, 1, 115);
    release(&mut home, 1, 115);
    release(&mut home, 9, 115);
    assert_eq!(home.says(TWO, 115), (1, 1, 25, 25));
    release(&mut home, 2, 140);
    assert_eq!(home.says(TWO, 140), (0, 2, 0, 0));
    // Released after its deadline it is gone all the same, also for a clock that is behind.
    assert_eq!(home.says(TWO, 115), (0, 2, 0, 0));
}

#[test]
fn a_request_takes_one_slot_whatever_its_cost() {
    let mut home = Home::default();
    assert_eq!(home.ask(&[charge(TWO, MOST)], Mode::Charge, 1, 100).outcome, ADMITTED);
    assert_eq!(home.says(TWO, 100).0, 1);
}

#[test]
fn under_a_lowered_limit_a_wait_lasts_until_enough_deadlines_have_passed() {
    let one = Rule::Concurrency { limit: 1, lease_ns: 5 };
    let mut home = Home::default();
    take(&mut home, 1, 100);
    take(&mut home, 2, 110);
    assert_eq!(home.says(one, 110), (2, 0, 20, 30));
    assert_eq!(home.take(one, 1, 110), refused(30));
    assert_eq!(home.take(one, 1, 140), ADMITTED);
    assert_eq!(home.says(one, 140), (1, 0, 5, 5));
}

#[test]
fn a_clock_that_steps_back_only_prolongs_the_wait() {
    let mut home = Home::default();
    take(&mut home, 1, 100);
    take(&mut home, 2, 100);
    assert_eq!(take(&mut home, 3, 50), refused(80));
}
