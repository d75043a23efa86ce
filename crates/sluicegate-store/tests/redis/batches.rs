//! Many plans in one call.

use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::rule::{Amount, LEASE_DEFAULT, Rule, Windowed};
use sluicegate_core::settle::Outcome;
use sluicegate_core::time::Window;
use sluicegate_store::redis::{CallError, Settled};
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, limit, monthly, plan, plan_of, rate};
use crate::on_each_engine;

on_each_engine!(
    two_hundred_plans_on_a_quota_of_one_hundred_admit_one_hundred,
    slots_of_one_call_are_counted_together,
    a_large_batch_asks_redis_no_more_than_a_small_one,
    plans_that_disagree_about_a_limit_are_not_settled_together,
    a_call_without_charges_needs_no_server,
);

fn admitted(settled: &[Settled]) -> usize {
    settled.iter().filter(|it| matches!(it.outcome, Outcome::Admitted { .. })).count()
}

fn concurrency(slots: u64) -> Limit {
    let rule = Rule::Concurrency { limit: Amount::new(slots).unwrap(), lease: LEASE_DEFAULT };
    limit("concurrency", Axis::Concurrency, rule)
}

fn sliding_day(amount: u64) -> Limit {
    let windowed = Windowed { limit: Amount::new(amount).unwrap(), window: Window::DAY };
    limit("day", Axis::Quota, Rule::SlidingBuckets(windowed))
}

fn two_hundred_plans_on_a_quota_of_one_hundred_admit_one_hundred(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota, day, slots) = (rate(1_000, 5_000), monthly(100), sliding_day(100), concurrency(5_000));
    for (home, limits) in
        [(1, &[&rate, &quota][..]), (2, &[&quota][..]), (3, &[&day][..]), (4, &[&rate, &slots, &quota][..])]
    {
        let plans: Vec<ChargePlan<'_>> =
            (0..200).map(|slot| plan_of(home, limits, 1, Mode::Charge, slot)).collect();
        let settled = bed.call(HomeId(home), &plans);
        assert_eq!((settled.len(), admitted(&settled)), (200, 100), "home {home}");
        assert!(settled[..100].iter().all(|it| matches!(it.outcome, Outcome::Admitted { .. })));
        let by = limits.len() - 1;
        assert!(
            settled[100..]
                .iter()
                .all(|it| matches!(it.outcome, Outcome::Refused { by: refused, .. } if refused == by))
        );
        let used: Vec<u64> = settled.iter().map(|it| it.readings.last().unwrap().used).collect();
        let expected: Vec<u64> = (1..=200).map(|plan| plan.min(100)).collect();
        assert_eq!(used, expected, "home {home}");
        assert_eq!(admitted(&bed.call(HomeId(home), &plans)), 0, "home {home}");
    }
}

fn slots_of_one_call_are_counted_together(engine: Engine) {
    let bed = Bed::new(engine);
    let slots = concurrency(3);
    let take = |slot| plan_of(1, &[&slots], 1, Mode::Charge, slot);
    let settled = bed.call(HomeId(1), &[take(1), take(2), take(3), take(4)]);
    assert_eq!(admitted(&settled), 3);
    let charged_at = settled[0].now;
    let release = plan_of(1, &[&slots], 1, Mode::Refund { charged_at, reserved: Amount::ONE }, 2);
    let settled = bed.call(HomeId(1), &[take(5), release, take(6), take(7)]);
    let used: Vec<u64> = settled.iter().map(|it| it.readings[0].used).collect();
    assert_eq!((admitted(&settled), used), (2, vec![3, 2, 3, 3]));
    let renewed = plan_of(1, &[&slots], 1, Mode::Force, 6);
    assert_eq!(bed.ask(&renewed).readings[0].used, 3);
}

fn a_large_batch_asks_redis_no_more_than_a_small_one(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, slots, day) = (rate(1_000, 5_000), concurrency(5_000), sliding_day(1_000_000));
    let commands = |plans: u64| {
        let before: u64 = bed.server.info("total_commands_processed").parse().unwrap();
        let limits = [&rate, &slots, &day];
        let plans: Vec<ChargePlan<'_>> =
            (0..plans).map(|slot| plan_of(1, &limits, 1, Mode::Charge, slot * 1_000 + plans)).collect();
        assert_eq!(admitted(&bed.call(HomeId(1), &plans)), plans.len());
        bed.server.info("total_commands_processed").parse::<u64>().unwrap() - before
    };
    commands(1);
    let (small, large) = (commands(1), commands(200));
    // Another minute may have begun: then there is another bucket.
    assert!(large <= small + 2, "{large} commands for 200 plans, {small} for one");
}

fn plans_that_disagree_about_a_limit_are_not_settled_together(engine: Engine) {
    let bed = Bed::new(engine);
    let (old, new) = (monthly(100), monthly(200));
    let plans = [plan(1, &[&old], 1, Mode::Charge), plan(1, &[&new], 1, Mode::Charge)];
    assert_eq!(bed.call_as(bed.seq(), HomeId(1), &plans, None), Err(CallError::Mixed));
    let twin = monthly(100);
    let plans = [plan(1, &[&old], 1, Mode::Charge), plan(1, &[&twin], 1, Mode::Charge)];
    assert_eq!(bed.call(HomeId(1), &plans)[1].readings[0].used, 2);
}

fn a_call_without_charges_needs_no_server(engine: Engine) {
    let mut bed = Bed::new(engine);
    bed.server.kill();
    let settled = bed.ask(&plan(1, &[], 1, Mode::Charge));
    assert_eq!(settled.outcome, Outcome::Admitted { overage: 0 });
}
