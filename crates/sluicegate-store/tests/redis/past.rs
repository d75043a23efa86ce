//! Corrections of a period that is over, in Redis.

use sluicegate_core::limit::{Axis, Excess, Limit};
use sluicegate_core::plan::{ChargePlan, Mode};
use sluicegate_core::rule::{Amount, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::{Nanos, Timestamp, Window};
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, limit, monthly, plan, rate};
use crate::on_each_engine;

on_each_engine!(
    what_a_request_cost_in_the_end_counts_in_the_month_in_which_it_was_charged,
    a_common_call_keeps_the_period_before,
    a_month_that_was_billed_is_corrected_under_a_quota_that_refuses,
    a_fixed_window_of_a_version_that_kept_none_goes_on,
);

/// The end of a month: 2026-10-01T00:00:00Z.
const MONTH: Timestamp = Timestamp::from_secs(1_790_812_800);

fn before(secs: u32) -> Timestamp {
    Timestamp::from_nanos(MONTH.as_nanos() - Nanos::from_secs(secs).0)
}

fn after(secs: u32) -> Timestamp {
    MONTH.plus(Nanos::from_secs(secs))
}

/// The change of the overage, and what is used then.
fn ask(bed: &Bed, plan: &ChargePlan<'_>, now: Timestamp) -> (u64, u64) {
    let settled = bed.call_as(bed.seq(), plan.home, std::slice::from_ref(plan), Some(now)).unwrap().remove(0);
    let Outcome::Admitted { overage } = settled.outcome else { panic!("{settled:?}") };
    (overage, settled.readings.last().unwrap().used)
}

fn what_a_request_cost_in_the_end_counts_in_the_month_in_which_it_was_charged(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(1_000, 1_000), Limit { excess: Excess::BillOverage, ..monthly(10) });
    let ask = |cost, mode, now| ask(&bed, &plan(1, &[&rate, &quota], cost, mode), now);
    let charged_at = before(60);
    let (more, less) =
        (Mode::Correct { charged_at }, Mode::Refund { charged_at, reserved: Amount::new(9).unwrap() });
    assert_eq!(ask(9, Mode::Charge, charged_at), (0, 9));
    // Before and after the meter has moved on.
    assert_eq!(ask(3, more, after(60)), (2, 0));
    assert_eq!(ask(4, Mode::Charge, after(61)), (0, 4));
    assert_eq!(ask(5, more, after(62)), (5, 4));
    assert_eq!(ask(9, less, after(63)), (7, 4));
    assert_eq!(ask(1, Mode::Peek, after(64)), (0, 4));
    // After two days it takes nothing any more.
    assert_eq!(ask(2, less, after(2 * 86_400)), (0, 4));
    assert_eq!(ask(7, more, after(2 * 86_400)), (1, 11));
}

fn a_common_call_keeps_the_period_before(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(1_000, 1_000), monthly(100));
    let ask = |cost, mode, now| ask(&bed, &plan(1, &[&rate, &quota], cost, mode), now);
    let charged_at = before(60);
    assert_eq!(ask(9, Mode::Charge, charged_at).1, 9);
    assert_eq!(ask(1, Mode::Charge, after(1)).1, 1);
    assert_eq!(ask(1, Mode::Charge, after(2)).1, 2);
    assert_eq!(ask(5, Mode::Correct { charged_at }, after(3)).1, 2);
    assert_eq!(ask(1, Mode::Charge, after(4)).1, 3);
}

fn a_month_that_was_billed_is_corrected_under_a_quota_that_refuses(engine: Engine) {
    let bed = Bed::new(engine);
    let (billed, hard) = (Limit { excess: Excess::BillOverage, ..monthly(10) }, monthly(100));
    let charged_at = before(60);
    let (more, less) =
        (Mode::Correct { charged_at }, Mode::Refund { charged_at, reserved: Amount::new(12).unwrap() });
    for (home, moves_on) in [(1, true), (2, false)] {
        let ask = |quota: &Limit, cost, mode, now| ask(&bed, &plan(home, &[quota], cost, mode), now);
        assert_eq!(ask(&billed, 12, Mode::Charge, charged_at), (2, 12));
        if moves_on {
            assert_eq!(ask(&billed, 1, Mode::Charge, after(1)), (0, 1));
        }
        let used = u64::from(moves_on);
        assert_eq!(ask(&hard, 5, more, after(2)), (5, used));
        assert_eq!(ask(&hard, 1, Mode::Charge, after(3)), (0, used + 1));
        assert_eq!(ask(&hard, 9, less, after(4)), (7, used + 1));
        // In one call with others, it is only the correction's.
        let plans = [plan(home, &[&hard], 4, more), plan(home, &[&hard], 1, Mode::Charge)];
        let settled = bed.call_as(bed.seq(), plans[0].home, &plans, Some(after(5))).unwrap();
        let outcomes: Vec<_> = settled.iter().map(|settled| settled.outcome).collect();
        assert_eq!(outcomes, [Outcome::Admitted { overage: 2 }, Outcome::Admitted { overage: 0 }]);
    }
}

fn a_fixed_window_of_a_version_that_kept_none_goes_on(engine: Engine) {
    let bed = Bed::new(engine);
    let rule = Rule::FixedWindow(Windowed { limit: Amount::new(100).unwrap(), window: Window::DAY });
    // The meters of rates are kept as all were.
    let (old, new) = (limit("quota", Axis::Rate, rule.clone()), limit("quota", Axis::Quota, rule));
    assert_eq!(ask(&bed, &plan(1, &[&old], 5, Mode::Charge), before(60)).1, 5);
    assert_eq!(ask(&bed, &plan(1, &[&new], 2, Mode::Charge), before(59)).1, 7);
    assert_eq!(ask(&bed, &plan(1, &[&new], 1, Mode::Charge), after(1)).1, 1);
}
