//! Refusals that are held against the caller, in Redis: counted by the store, once each, and told again but not charged
//! again.

use std::sync::Arc;

use sluicegate_core::book::LimitId;
use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::limit_now::ConductNow;
use sluicegate_core::plan::{Charge, ChargePlan, Due, Expects, HomeId, Mode};
use sluicegate_core::policy::{AppliesTo, Blocks, Bucket, Conduct, Reputation};
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::settle::{Outcome, Reading};
use sluicegate_core::tariff::Plan;
use sluicegate_core::time::Window;
use sluicegate_store::redis::{Applied, Homes, Resolved};
use sluicegate_testkit::redis::Engine;

use crate::bed::{Bed, PATIENT, limit, monthly, plan, rate};
use crate::homes_bed::{HomesBed, is_admitted, is_refused, owed, plan as sold};
use crate::on_each_engine;

on_each_engine!(
    a_refusal_is_charged_with_the_call_and_told_again_without,
    a_plan_for_another_standing_changes_nothing_and_is_not_remembered,
    plans_of_one_call_are_each_held_against_what_they_expect,
    every_refusal_of_a_watched_caller_is_counted_by_the_store,
    who_is_refused_often_is_told_where_it_stands_by_every_node,
);

fn points() -> Limit {
    let bucket = TokenBucket::new(1, Window::HOUR, 100).unwrap();
    limit("reputation", Axis::Conduct, Rule::TokenBucket(bucket))
}

fn strikes() -> Limit {
    let windowed = Windowed { limit: Amount::new(1_000).unwrap(), window: Window::DAY };
    limit("strikes", Axis::Conduct, Rule::SlidingWindow(windowed))
}

/// The same plan, whose refusal costs five units of each of these.
fn watched<'p>(mut plan: ChargePlan<'p>, signals: [&'p Limit; 2]) -> ChargePlan<'p> {
    let first = plan.charges()[0];
    for limit in signals {
        plan.add(Charge { limit, cost: Amount::new(5).unwrap(), due: Due::Refusal, ..first });
    }
    plan
}

fn used(readings: &[Reading]) -> Vec<u64> {
    readings.iter().map(|reading| reading.used).collect()
}

fn a_refusal_is_charged_with_the_call_and_told_again_without(engine: Engine) {
    let bed = Bed::new(engine);
    let (quota, points, strikes) = (monthly(10), points(), strikes());
    let ask = |cost, mode| watched(plan(1, &[&quota], cost, mode), [&points, &strikes]);
    assert_eq!(used(&bed.ask(&ask(10, Mode::Charge)).readings), [10, 0, 0]);
    let (call, fence) = (bed.seq(), bed.seq());
    for _ in 0..3 {
        let plans = [ask(1, Mode::Charge)];
        let settled = bed.call_as(call, HomeId(1), &plans, None).unwrap();
        assert!(matches!(settled[0].outcome, Outcome::Refused { by: 0, .. }), "{settled:?}");
        assert_eq!(used(&settled[0].readings), [10, 5, 5]);
    }
    assert_eq!(bed.fates(HomeId(1), call, fence), Ok(vec![Applied::Refused]));
    assert_eq!(used(&bed.ask(&ask(1, Mode::Peek)).readings), [10, 5, 5]);
    let never = bed.ask(&ask(11, Mode::Charge));
    assert_eq!((never.outcome, used(&never.readings)), (Outcome::NeverFits { by: 0 }, vec![10, 5, 5]));
}

fn a_plan_for_another_standing_changes_nothing_and_is_not_remembered(engine: Engine) {
    let bed = Bed::new(engine);
    let (quota, larger, points, strikes) = (monthly(10), monthly(100), points(), strikes());
    bed.ask(&plan(1, &[&quota], 10, Mode::Charge));
    let blob = || bed.server.ask(&["GET", &format!("sg1:{{{:032x}}}", 1)]);
    let before = blob();
    let call = bed.seq();
    // Under another limit, which would be carried over by any plan that is settled.
    for limit in [&quota, &larger] {
        let mut other = watched(plan(1, &[limit], 1, Mode::Charge), [&points, &strikes]);
        other.expects = Some(Expects { place: 1, least: 0, most: 99 });
        let settled = bed.call_as(call, HomeId(1), std::slice::from_ref(&other), None).unwrap();
        assert_eq!(settled[0].outcome, Outcome::Elsewhere { remaining: 100 });
        assert_eq!(used(&settled[0].readings), [10, 0, 0]);
        assert_eq!(blob(), before);
    }
    assert_eq!(bed.resolve(HomeId(1), call, bed.seq()), Ok(Resolved::Never));
}

fn plans_of_one_call_are_each_held_against_what_they_expect(engine: Engine) {
    let bed = Bed::new(engine);
    let (quota, points, strikes) = (monthly(2), points(), strikes());
    let plans: Vec<ChargePlan<'_>> = (0..6)
        .map(|_| {
            let mut plan = watched(plan(1, &[&quota], 1, Mode::Charge), [&points, &strikes]);
            plan.expects = Some(Expects { place: 1, least: 91, most: 100 });
            plan
        })
        .collect();
    let call = bed.seq();
    let outcomes = |seq| {
        let settled = bed.call_as(seq, HomeId(1), &plans, None).unwrap();
        settled.iter().map(|settled| settled.outcome).collect::<Vec<_>>()
    };
    let told = outcomes(call);
    assert!(matches!(
        told[..],
        [
            Outcome::Admitted { .. },
            Outcome::Admitted { .. },
            Outcome::Refused { by: 0, .. },
            Outcome::Refused { by: 0, .. },
            Outcome::Elsewhere { remaining: 90 },
            Outcome::Elsewhere { remaining: 90 }
        ]
    ));
    let again = outcomes(call);
    assert_eq!((again[0], again[4]), (told[0], told[4]));
    assert!(matches!(again[2], Outcome::Refused { by: 0, .. }), "{again:?}");
    let (admitted, refused) = (Applied::Admitted { overage: 0 }, Applied::Refused);
    let applied = vec![admitted, admitted, refused, refused, refused, refused];
    assert_eq!(bed.fates(HomeId(1), call, bed.seq()), Ok(applied));
}

fn conduct() -> Conduct {
    let window = Window::DAY;
    let reputation =
        Reputation { applies_to: AppliesTo::Clients, penalty: 5, recover: 1, recover_per: window };
    let blocks = Blocks {
        applies_to: AppliesTo::Clients,
        after: 1_000,
        within: window,
        first: Blocks::FIRST_DEFAULT,
        max: Blocks::MAX_DEFAULT,
    };
    Conduct { reputation: Some(reputation), blocks: Some(blocks) }
}

/// Redis goes by the names of limits.
fn number(_limit: &Limit) -> LimitId {
    LimitId::from_number(0)
}

/// A plan for callers with such a reputation.
fn standing(limits: &[Limit], bucket: Bucket) -> Arc<Plan> {
    let all = Arc::into_inner(sold(limits)).unwrap().with_conduct(&conduct(), number);
    Arc::new(all.squeezed(bucket.share(), number).expecting(bucket))
}

fn conduct_of(bed: &HomesBed, homes: &Homes, plan: &Arc<Plan>) -> ConductNow {
    let owed = owed(plan, 1, 1, Mode::Peek);
    let settled = bed.settle(homes, owed.clone()).unwrap();
    ConductNow::of(&plan.tariff.plan(&owed.request), &settled.readings)
}

fn every_refusal_of_a_watched_caller_is_counted_by_the_store(engine: Engine) {
    let bed = HomesBed::new(engine);
    let homes = bed.node(1, PATIENT);
    let limits = [rate(1_000_000, 1_000_000), monthly(50)];
    let plan = Arc::new(Arc::into_inner(sold(&limits)).unwrap().with_conduct(&conduct(), number));
    let asks = (0..300).map(|_| (homes.clone(), owed(&plan, 1, 1, Mode::Charge))).collect();
    assert_eq!(bed.admitted(asks), 50);
    for _ in 0..10 {
        assert!(is_refused(&bed.settle(&homes, owed(&plan, 1, 1, Mode::Charge))));
    }
    let now = conduct_of(&bed, &homes, &plan);
    assert_eq!(now, ConductNow { score: Some(0), strikes_left: Some(1_000 - 260) });
    assert_eq!(homes.counters().refused_locally.get(), 0, "{:?}", homes.counters());
}

fn who_is_refused_often_is_told_where_it_stands_by_every_node(engine: Engine) {
    let bed = HomesBed::new(engine);
    let nodes = [bed.node(1, PATIENT), bed.node(2, PATIENT)];
    let limits = [rate(1_000_000, 1_000_000), monthly(100)];
    let (low, medium) = (standing(&limits, Bucket::Low), standing(&limits, Bucket::Medium));
    assert!(is_admitted(&bed.settle(&nodes[0], owed(&low, 1, 100, Mode::Charge))));
    for node in nodes.iter().cycle().take(6) {
        assert!(is_refused(&bed.settle(node, owed(&low, 1, 1, Mode::Charge))));
    }
    for (node, remaining) in nodes.iter().zip([70, 65]) {
        let settled = bed.settle(node, owed(&low, 1, 1, Mode::Charge)).unwrap();
        assert_eq!(settled.outcome, Outcome::Elsewhere { remaining });
        let settled = bed.settle(node, owed(&medium, 1, 1, Mode::Charge)).unwrap();
        assert!(matches!(settled.outcome, Outcome::Refused { by: 1, .. }), "{settled:?}");
        assert_eq!((settled.readings[1].used, settled.readings[1].remaining), (100, 0));
    }
    assert_eq!(conduct_of(&bed, &nodes[0], &medium).score, Some(60));
    assert_eq!(conduct_of(&bed, &nodes[0], &medium).strikes_left, Some(1_000 - 8));
}
