//! Single calls: together, twice, late, and to a server that has forgotten the script or keeps something else there.

use tollgate_core::plan::{HomeId, Mode};
use tollgate_core::settle::Outcome;
use tollgate_store::redis::{Applied, CallError, Resolved};
use tollgate_testkit::redis::Engine;

use crate::bed::{Bed, monthly, plan, plan_of, rate};
use crate::on_each_engine;

on_each_engine!(
    two_hundred_plans_of_one_call_are_admitted_up_to_the_quota,
    a_call_that_comes_twice_is_done_once,
    what_became_of_a_call_is_known_and_a_late_copy_does_nothing,
    a_server_that_forgot_the_script_is_told_it_again,
    what_is_not_ours_is_an_error_and_stays,
    idle_homes_are_gone_by_themselves,
);

fn is_admitted(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Admitted { .. })
}

fn two_hundred_plans_of_one_call_are_admitted_up_to_the_quota(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(1_000, 1_000), monthly(100));
    let plans: Vec<_> = (0..200).map(|slot| plan_of(1, &[&rate, &quota], 1, Mode::Charge, slot)).collect();
    let settled = bed.call(HomeId(1), &plans);
    assert!(settled[..100].iter().all(|settled| is_admitted(settled.outcome)));
    assert!(settled[100..].iter().all(|settled| matches!(settled.outcome, Outcome::Refused { by: 1, .. })));
    let look = bed.ask(&plan(1, &[&rate, &quota], 1, Mode::Peek));
    assert_eq!((look.readings[1].used, look.readings[1].remaining), (100, 0));
}

fn a_call_that_comes_twice_is_done_once(engine: Engine) {
    let (bed, quota) = (Bed::new(engine), monthly(100));
    let (seq, asked) = (bed.seq(), [plan(1, &[&quota], 7, Mode::Charge)]);
    assert!(is_admitted(bed.call_as(seq, HomeId(1), &asked, None).unwrap()[0].outcome));
    // The same number gets the same answer, and charges nothing.
    let again = bed.call_as(seq, HomeId(1), &asked, None).unwrap();
    assert!(is_admitted(again[0].outcome), "{again:?}");
    assert_eq!(bed.ask(&plan(1, &[&quota], 1, Mode::Peek)).readings[0].used, 7);
}

fn what_became_of_a_call_is_known_and_a_late_copy_does_nothing(engine: Engine) {
    let (bed, quota) = (Bed::new(engine), monthly(100));
    let asked = [plan(1, &[&quota], 90, Mode::Charge), plan(1, &[&quota], 20, Mode::Charge)];
    let done = bed.seq();
    bed.call_as(done, HomeId(1), &asked, None).unwrap();
    let resolved = bed.resolve(HomeId(1), done, bed.seq()).unwrap();
    assert_eq!(resolved, Resolved::Applied(vec![Applied::Admitted { overage: 0 }, Applied::Refused]));
    // The other order: it is asked for before it arrives.
    let late = bed.seq();
    assert_eq!(bed.resolve(HomeId(1), late, bed.seq()).unwrap(), Resolved::Never);
    assert!(matches!(bed.call_as(late, HomeId(1), &asked[1..], None), Err(CallError::Late(_))));
    assert_eq!(bed.ask(&plan(1, &[&quota], 1, Mode::Peek)).readings[0].used, 90);
}

fn a_server_that_forgot_the_script_is_told_it_again(engine: Engine) {
    let (bed, quota) = (Bed::new(engine), monthly(100));
    for used in 1..=3 {
        bed.server.ask(&["SCRIPT", "FLUSH"]);
        assert_eq!(bed.ask(&plan(1, &[&quota], 1, Mode::Charge)).readings[0].used, used);
    }
}

fn what_is_not_ours_is_an_error_and_stays(engine: Engine) {
    let (bed, quota) = (Bed::new(engine), monthly(100));
    let key = format!("tg1:{{{:032x}}}", 1);
    for words in [["SET", &key, "something else"], ["RPUSH", &key, "a list"]] {
        bed.server.ask(&["DEL", &key]);
        bed.server.ask(&words);
        let asked = [plan(1, &[&quota], 1, Mode::Charge)];
        let answer = bed.call_as(bed.seq(), HomeId(1), &asked, None);
        assert!(answer.is_err(), "{answer:?}");
        assert_eq!(bed.server.ask(&["EXISTS", &key]).text(), "1");
    }
    // Other homes are served.
    assert!(is_admitted(bed.ask(&plan(2, &[&quota], 1, Mode::Charge)).outcome));
}

fn idle_homes_are_gone_by_themselves(engine: Engine) {
    let (bed, rate, quota) = (Bed::new(engine), rate(10, 10), monthly(100));
    bed.ask(&plan(1, &[&rate], 5, Mode::Charge));
    bed.ask(&plan(2, &[&rate, &quota], 5, Mode::Charge));
    let life = |home: u32| -> i64 {
        bed.server.ask(&["PTTL", &format!("tg1:{{{home:032x}}}")]).text().parse().unwrap()
    };
    // A bucket of a second is gone when no late copy of a call can come any more; a month's quota with the month.
    assert!((1..=2 * 3_600_000).contains(&life(1)), "{}", life(1));
    assert!((life(1)..=33 * 86_400_000).contains(&life(2)), "{}", life(2));
}
