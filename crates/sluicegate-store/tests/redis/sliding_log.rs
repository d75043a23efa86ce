//! A quota that is a sliding log: exact in any window, to the microsecond that the server has.

use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, limit, plan};
use crate::on_each_engine;

on_each_engine!(
    the_quota_holds_in_any_window_to_the_microsecond,
    a_refund_gives_back_exactly_what_was_charged_then,
    it_survives_a_restart_of_a_server_that_keeps_what_it_is_told,
);

const START: Timestamp = Timestamp::from_secs(1_790_000_000);
const HOUR: u64 = 3_600_000_000;
const ADMITTED: Outcome = Outcome::Admitted { overage: 0 };

fn log(amount: u64) -> Limit {
    let rule = Windowed { limit: Amount::new(amount).unwrap(), window: Window::HOUR };
    limit("quota", Axis::Quota, Rule::SlidingLog(rule))
}

fn after(micros: u64) -> Timestamp {
    START.plus(Nanos(micros * 1_000))
}

fn ask_at(bed: &Bed, plan: &ChargePlan<'_>, micros: u64) -> Outcome {
    let plans = std::slice::from_ref(plan);
    bed.call_as(bed.seq(), plan.home, plans, Some(after(micros))).unwrap().remove(0).outcome
}

/// How long it is to be waited, in microseconds.
fn wait(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Refused { retry_after, .. } => retry_after.0 / 1_000,
        other => panic!("{other:?}"),
    }
}

fn the_quota_holds_in_any_window_to_the_microsecond(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = log(300);
    let one = plan(1, &[&quota], 1, Mode::Charge);
    // More than one page of the list.
    for micros in 0..300 {
        assert_eq!(ask_at(&bed, &one, micros), ADMITTED);
    }
    assert_eq!(wait(ask_at(&bed, &one, 300)), HOUR - 300);
    assert_eq!(wait(ask_at(&bed, &one, HOUR - 1)), 1);
    assert_eq!(wait(ask_at(&bed, &plan(1, &[&quota], 200, Mode::Charge), HOUR - 1)), 200);
    for micros in 0..300 {
        assert_eq!(ask_at(&bed, &one, HOUR + micros), ADMITTED, "{micros}");
        // Until the next one is an hour old; behind the last, until the first of this hour is.
        let until = if micros == 299 { HOUR - 299 } else { 1 };
        assert_eq!(wait(ask_at(&bed, &one, HOUR + micros)), until, "{micros}");
    }
    assert_eq!(bed.server.ask(&["DBSIZE"]).text(), "2", "the home and one list");
}

fn a_refund_gives_back_exactly_what_was_charged_then(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = log(3);
    let one = plan(1, &[&quota], 1, Mode::Charge);
    for micros in [0, 10, 20] {
        assert_eq!(ask_at(&bed, &one, micros), ADMITTED);
    }
    let refund = plan(1, &[&quota], 1, Mode::Refund { charged_at: after(10), reserved: Amount::ONE });
    assert_eq!(ask_at(&bed, &refund, 30), ADMITTED);
    assert_eq!(ask_at(&bed, &one, 40), ADMITTED);
    assert_eq!(wait(ask_at(&bed, &one, 50)), HOUR - 50);
    assert_eq!(ask_at(&bed, &one, HOUR), ADMITTED);
    assert_eq!(wait(ask_at(&bed, &one, HOUR)), 20);
}

fn it_survives_a_restart_of_a_server_that_keeps_what_it_is_told(engine: Engine) {
    let mut bed = Bed::new(engine);
    let quota = log(2);
    let one = plan(7, &[&quota], 1, Mode::Charge);
    assert_eq!(one.home, HomeId(7));
    assert_eq!((ask_at(&bed, &one, 0), ask_at(&bed, &one, 5)), (ADMITTED, ADMITTED));
    bed.server.ask(&["SAVE"]);
    bed.server.restart();
    bed.reconnect();
    assert_eq!(wait(ask_at(&bed, &one, 6)), HOUR - 6);
    assert_eq!(ask_at(&bed, &one, HOUR), ADMITTED);
    assert_eq!(wait(ask_at(&bed, &one, HOUR)), 5);
}
