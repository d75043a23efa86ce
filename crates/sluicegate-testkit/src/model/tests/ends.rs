//! Where instants and counts stop.

use super::*;

#[test]
fn a_later_instant_counts_as_the_last_one() {
    let log = Rule::SlidingLog { limit: 2, window_s: 10 };
    let mut home = Home::default();
    assert_eq!(home.take(log, 2, u64::MAX), ADMITTED);
    assert_eq!(home.take(log, 1, END - S), refused(11 * S));
    // An entry of the last instant is forgotten after it, which never comes.
    assert_eq!(home.says(log, u64::MAX), (2, 0, 10 * S, 10 * S));
    home.give_back(log, 2, END + 5, END + 7);
    assert_eq!(home.says(log, END).0, 0);
}

#[test]
fn a_window_ends_at_the_last_instant_at_the_latest_and_stays_through_it() {
    let rule = Rule::FixedWindow { limit: 1, window_s: 400 * 86_400 };
    let month = Charge {
        period: Some((END - HOUR, END + HOUR)),
        ..charge(Rule::Calendar { limit: 1, calendar: 0 }, 1)
    };
    for charge in [charge(rule, 1), month] {
        let mut home = Home::default();
        let mut ask = |now| home.ask(std::slice::from_ref(&charge), Mode::Charge, 0, now).outcome;
        assert_eq!(ask(END - S), ADMITTED);
        assert_eq!(ask(END - S), refused(S));
        assert_eq!(ask(END), refused(0));
        assert_eq!(ask(0), refused(END));
    }
}

#[test]
fn a_deadline_is_the_last_instant_at_the_latest() {
    let slots = Rule::Concurrency { limit: 1, lease_ns: u64::MAX };
    let mut home = Home::default();
    assert_eq!(home.take(slots, 1, END - S), ADMITTED);
    assert_eq!(home.take(slots, 1, END - S + 1), refused(S - 1));
    assert_eq!(home.take(slots, 1, u64::MAX), ADMITTED);
    assert_eq!(home.says(slots, END), (0, 1, 0, 0));
}

#[test]
fn counts_stop_at_the_largest_amount() {
    let (limit, window_s) = (10, 10);
    for rule in [
        Rule::FixedWindow { limit, window_s },
        Rule::SlidingWindow { limit, window_s },
        Rule::SlidingBuckets { limit, window_s },
        Rule::SlidingLog { limit, window_s },
    ] {
        let mut home = Home::default();
        let mut used_after =
            |cost, now| home.ask(&[billed(rule, cost)], Mode::Charge, 0, now).readings[0].used;
        assert_eq!(used_after(MOST - 5, 100 * S), MOST - 5);
        assert_eq!(used_after(3, 101 * S), MOST - 2);
        assert_eq!(used_after(3, 102 * S), MOST);
        assert_eq!(used_after(3, 103 * S), MOST);
        // Only two units were counted at 102 s, and none at 103 s.
        home.give_back(rule, 3, 103 * S, 104 * S);
        home.give_back(rule, 3, 102 * S, 104 * S);
        let used = home.ask(&[billed(rule, 1)], Mode::Peek, 0, 104 * S).readings[0].used;
        let gone = if matches!(rule, Rule::SlidingBuckets { .. } | Rule::SlidingLog { .. }) { 2 } else { 6 };
        assert_eq!(used, MOST - gone);
    }
}
