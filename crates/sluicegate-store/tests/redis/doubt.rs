//! Calls whose answer was lost: what became of them is found out, and stays so.

use std::time::Duration;

use sluicegate_core::limit::{Excess, Limit};
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::settle::Outcome;
use sluicegate_store::redis::{Applied, CallError, NodeId, Resolved, Seq};
use sluicegate_testkit::chaos::{ChaosProxy, Mode as Network};
use sluicegate_testkit::redis::Engine;
use sluicegate_testkit::wait;

use crate::bed::{Bed, NODE, PATIENT, ask_as, monthly, plan, rate};
use crate::on_each_engine;

const ADMITTED: Applied = Applied::Admitted { overage: 0 };
const SHORT: Duration = Duration::from_millis(50);

on_each_engine!(
    a_call_that_is_made_again_is_told_again_and_charges_once,
    a_refusal_is_told_again_even_if_there_is_room_by_now,
    a_call_that_was_applied_is_resolved_as_such_as_often_as_one_asks,
    a_call_that_was_not_applied_never_will_be,
    overage_is_remembered_with_the_call,
    a_number_that_goes_back_is_late_and_says_how_far,
    nodes_do_not_fence_each_other,
    a_call_that_is_stuck_on_its_way_is_fenced_off,
    a_call_whose_answer_is_lost_was_applied,
    a_peek_needs_no_number,
    a_call_in_doubt_is_resolved_with_the_instant_at_which_it_was_made,
);

fn used(bed: &Bed, home: u128, limits: &[&Limit]) -> u64 {
    bed.ask(&plan(home, limits, 1, Mode::Peek)).readings.last().unwrap().used
}

fn a_call_that_is_made_again_is_told_again_and_charges_once(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(10, 20), monthly(100));
    // The first home is asked in the common way, the second in the general one.
    for (home, limits) in [(1, &[&rate, &quota][..]), (2, &[&quota][..])] {
        let seq = bed.seq();
        let charge = plan(home, limits, 3, Mode::Charge);
        let first = bed.call_as(seq, HomeId(home), std::slice::from_ref(&charge), None).unwrap();
        let again = bed.call_as(seq, HomeId(home), std::slice::from_ref(&charge), None).unwrap();
        assert_eq!(first[0].outcome, again[0].outcome);
        assert_eq!(again[0].readings.last().unwrap().used, 3);
        assert_eq!(used(&bed, home, limits), 3);
    }
}

fn a_refusal_is_told_again_even_if_there_is_room_by_now(engine: Engine) {
    let bed = Bed::new(engine);
    let (quota, larger) = (monthly(1), monthly(10));
    bed.ask(&plan(1, &[&quota], 1, Mode::Charge));
    let seq = bed.seq();
    // Together with one that is admitted, so that the call is remembered.
    let other = crate::bed::limit("other", quota.axis, quota.rule.clone());
    let plans = [plan(1, &[&other], 1, Mode::Charge), plan(1, &[&quota], 1, Mode::Charge)];
    let refused = bed.call_as(seq, HomeId(1), &plans, None).unwrap();
    assert!(matches!(refused[1].outcome, Outcome::Refused { by: 0, .. }));
    bed.ask(&plan(1, &[&larger], 1, Mode::Peek));
    let plans = [plan(1, &[&other], 1, Mode::Charge), plan(1, &[&larger], 1, Mode::Charge)];
    let again = bed.call_as(seq, HomeId(1), &plans, None).unwrap();
    assert!(matches!(again[1].outcome, Outcome::Refused { by: 0, .. }), "{:?}", again[1]);
    assert_eq!(used(&bed, 1, &[&quota]), 1);
}

fn a_call_that_was_applied_is_resolved_as_such_as_often_as_one_asks(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let (call, fence, later) = (bed.seq(), bed.seq(), bed.seq());
    let plans = [plan(1, &[&quota], 3, Mode::Charge), plan(1, &[&quota], 1_000, Mode::Charge)];
    bed.call_as(call, HomeId(1), &plans, None).unwrap();
    let applied = Ok(vec![ADMITTED, Applied::Refused]);
    assert_eq!(bed.fates(HomeId(1), call, fence), applied);
    assert_eq!(bed.fates(HomeId(1), call, fence), applied);
    assert_eq!(bed.fates(HomeId(1), call, later), applied);
    assert_eq!(bed.fates(HomeId(1), call, fence), applied);
    let copy = bed.call_as(call, HomeId(1), &plans, None);
    assert_eq!(copy, Err(CallError::Late(later.get())));
    assert_eq!(used(&bed, 1, &[&quota]), 3);
}

fn a_call_that_was_not_applied_never_will_be(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(10, 20), monthly(100));
    for (home, limits) in [(1, &[&rate, &quota][..]), (2, &[&quota][..])] {
        let (call, fence, later) = (bed.seq(), bed.seq(), bed.seq());
        assert_eq!(bed.resolve(HomeId(home), call, fence), Ok(Resolved::Never));
        let charge = plan(home, limits, 3, Mode::Charge);
        let copy = bed.call_as(call, HomeId(home), std::slice::from_ref(&charge), None);
        assert_eq!(copy, Err(CallError::Late(fence.get())));
        assert_eq!(bed.resolve(HomeId(home), call, later), Ok(Resolved::Never));
        assert_eq!(used(&bed, home, limits), 0);
        bed.ask(&charge);
        assert_eq!(used(&bed, home, limits), 3, "after the fence, life goes on");
    }
}

fn overage_is_remembered_with_the_call(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = Limit { excess: Excess::BillOverage, ..monthly(10) };
    let (call, fence) = (bed.seq(), bed.seq());
    let plans = [plan(1, &[&quota], 8, Mode::Charge), plan(1, &[&quota], 5, Mode::Charge)];
    let first = bed.call_as(call, HomeId(1), &plans, None).unwrap();
    let again = bed.call_as(call, HomeId(1), &plans, None).unwrap();
    assert_eq!(first[1].outcome, Outcome::Admitted { overage: 3 });
    assert_eq!(again[1].outcome, Outcome::Admitted { overage: 3 });
    let applied = vec![ADMITTED, Applied::Admitted { overage: 3 }];
    assert_eq!(bed.fates(HomeId(1), call, fence), Ok(applied));
}

fn a_number_that_goes_back_is_late_and_says_how_far(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let charge = [plan(1, &[&quota], 1, Mode::Charge)];
    let (low, high) = (Seq::new(5).unwrap(), Seq::new(9).unwrap());
    bed.call_as(high, HomeId(1), &charge, None).unwrap();
    assert_eq!(bed.call_as(low, HomeId(1), &charge, None), Err(CallError::Late(9)));
    assert_eq!(bed.resolve(HomeId(1), low, Seq::new(6).unwrap()), Err(CallError::Late(9)));
    assert_eq!(used(&bed, 1, &[&quota]), 1);
}

fn nodes_do_not_fence_each_other(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(100, 200), monthly(100));
    let nodes: Vec<_> = (1..=4).map(|id| bed.another(&bed.server.url(), PATIENT, NodeId(id))).collect();
    for number in 1..=5 {
        let seq = Seq::new(number).unwrap();
        for meters in &nodes {
            let charge = plan(1, &[&rate, &quota], 1, Mode::Charge);
            let settled = bed.runtime.block_on(ask_as(meters, seq, &charge)).unwrap();
            assert_eq!(settled.outcome, Outcome::Admitted { overage: 0 });
            let again = bed.runtime.block_on(ask_as(meters, seq, &charge)).unwrap();
            assert_eq!(again.outcome, settled.outcome);
        }
    }
    assert_eq!(used(&bed, 1, &[&rate, &quota]), 20);
    let fence = Seq::new(6).unwrap();
    let resolved = bed.runtime.block_on(nodes[2].resolve(HomeId(1), Seq::new(5).unwrap(), fence));
    assert!(matches!(resolved, Ok(Resolved::Applied { plans, .. }) if plans == [ADMITTED]));
}

fn a_call_that_is_stuck_on_its_way_is_fenced_off(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let proxy = ChaosProxy::start(bed.server.address());
    let stuck = bed.another(&format!("redis://{}", proxy.address()), SHORT, NODE);
    let (call, fence) = (bed.seq(), bed.seq());
    let charge = plan(1, &[&quota], 3, Mode::Charge);
    bed.runtime.block_on(ask_as(&stuck, bed.seq(), &plan(2, &[&quota], 1, Mode::Charge))).unwrap();
    proxy.set(Network::Hold);
    assert_eq!(bed.runtime.block_on(ask_as(&stuck, call, &charge)), Err(CallError::Unknown));
    assert_eq!(bed.resolve(HomeId(1), call, fence), Ok(Resolved::Never));
    let before = bed.server.info("total_commands_processed");
    proxy.set(Network::Pass);
    wait::until("the call arrives", || (bed.server.info("total_commands_processed") != before).then_some(()));
    wait::pause(SHORT);
    assert_eq!(used(&bed, 1, &[&quota]), 0);
}

fn a_call_whose_answer_is_lost_was_applied(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let proxy = ChaosProxy::start(bed.server.address());
    let node = bed.another(&format!("redis://{}", proxy.address()), SHORT, NODE);
    let (call, fence) = (bed.seq(), bed.seq());
    let charge = plan(1, &[&quota], 3, Mode::Charge);
    // Now it knows the time of the server, and so the month: one question, one answer.
    bed.runtime.block_on(ask_as(&node, bed.seq(), &plan(2, &[&quota], 1, Mode::Charge))).unwrap();
    proxy.set(Network::HalfCut);
    assert_eq!(bed.runtime.block_on(ask_as(&node, call, &charge)), Err(CallError::Unknown));
    assert_eq!(bed.fates(HomeId(1), call, fence), Ok(vec![ADMITTED]));
    assert_eq!(used(&bed, 1, &[&quota]), 3);
}

fn a_peek_needs_no_number(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    let seq = bed.seq();
    bed.call_as(seq, HomeId(1), &[plan(1, &[&quota], 2, Mode::Charge)], None).unwrap();
    let peek = [plan(1, &[&quota], 1, Mode::Peek)];
    let settled = bed.call_as(seq, HomeId(1), &peek, None).unwrap();
    assert_eq!(settled[0].readings[0].used, 2);
    assert_eq!(bed.fates(HomeId(1), seq, bed.seq()), Ok(vec![ADMITTED]));
}

fn a_call_in_doubt_is_resolved_with_the_instant_at_which_it_was_made(engine: Engine) {
    let bed = Bed::new(engine);
    let (rate, quota) = (rate(10, 20), monthly(100));
    for (home, limits) in [(1, &[&rate, &quota][..]), (2, &[&quota][..])] {
        let (call, fence, later) = (bed.seq(), bed.seq(), bed.seq());
        let charge = [plan(home, limits, 3, Mode::Charge)];
        let settled = bed.call_as(call, HomeId(home), &charge, None).unwrap();
        wait::pause(Duration::from_millis(2));
        let applied = Ok(Resolved::Applied { at: settled[0].now, plans: vec![ADMITTED] });
        assert_eq!(bed.resolve(HomeId(home), call, fence), applied);
        wait::pause(Duration::from_millis(2));
        assert_eq!(bed.resolve(HomeId(home), call, later), applied);
    }
}
