//! A request that ends after the period in which it was charged: what it cost more or less counts in that period.

use sluicegate_engine::{CallerRequest, Hold, Permit};
use sluicegate_ledger::Kind;

use crate::place::{Caller, Place, answer, at, costing, header, request, wait, writer};

const PLANS: &str = "
tiers:
  daily: {quota: 10, quota_window: calendar_day, on_quota_exceeded: bill_overage, refund_on: 5xx}
  hard: {quota: 90, quota_window: calendar_day, refund_on: 5xx}
  large: {quota: 90, quota_window: calendar_day, on_quota_exceeded: bill_overage, refund_on: 5xx}
";

/// It is noon: the day ends in so many seconds.
const MIDNIGHT: u32 = 43_200;

fn held(place: &Place, caller: &Caller, cost: u64, secs: u32) -> Box<Permit> {
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), cost) };
    place.ask(&held, at(secs)).permit.unwrap()
}

/// What a request that costs 1 is told of the quota and its overage.
fn told(place: &Place, caller: &Caller, secs: u32) -> (String, Option<String>) {
    let decision = place.ask(&request(&caller.key), at(secs));
    assert_eq!(answer(&decision), "200");
    (header(&decision, "X-Quota-Used").unwrap(), header(&decision, "X-Quota-Overage"))
}

/// The overage of each record, below zero where it was taken back.
fn overages(place: &Place) -> Vec<i64> {
    let signed = |kind, overage: u64| {
        if kind == Kind::Refund { -overage.cast_signed() } else { overage.cast_signed() }
    };
    place.records().iter().map(|record| signed(record.kind, record.overage)).collect()
}

#[test]
fn a_true_cost_and_a_refund_after_midnight_count_in_the_day_before() {
    let place = Place::new(PLANS);
    let caller = place.caller("daily");
    let [more, failed] = [7, 6].map(|cost| held(&place, &caller, cost, 0));
    assert_eq!(overages(&place), [0, 3]);
    assert_eq!(told(&place, &caller, MIDNIGHT + 1), ("1".to_owned(), None));
    place.engine.finish(&more, Some(200), Some(27), at(MIDNIGHT + 2)).unwrap();
    place.engine.finish(&failed, Some(503), None, at(MIDNIGHT + 3)).unwrap();
    // 33 of 10 were used yesterday, of which 6 were given back. Today is as it was.
    assert_eq!(overages(&place), [0, 3, 0, 20, -6]);
    assert_eq!(told(&place, &caller, MIDNIGHT + 4), ("2".to_owned(), None));
}

#[test]
fn it_is_so_before_anything_is_charged_in_the_new_day() {
    let place = Place::new(PLANS);
    let caller = place.caller("daily");
    let permit = held(&place, &caller, 8, 0);
    place.engine.finish(&permit, Some(200), Some(15), at(MIDNIGHT + 2)).unwrap();
    assert_eq!(overages(&place), [0, 5]);
    assert_eq!(told(&place, &caller, MIDNIGHT + 4), ("1".to_owned(), None));
}

#[test]
fn it_is_so_after_a_crash_and_a_restart() {
    let place = Place::new(PLANS);
    let caller = place.caller("daily");
    let [first, second, third] = [5, 3, 2].map(|cost| held(&place, &caller, cost, 0));
    assert_eq!(told(&place, &caller, MIDNIGHT + 1), ("1".to_owned(), None));
    place.engine.finish(&first, Some(200), Some(9), at(MIDNIGHT + 2)).unwrap();
    place.engine.spool().flush().unwrap();
    let place = place.crash(PLANS);
    place.engine.finish(&second, Some(200), Some(4), at(MIDNIGHT + 3)).unwrap();
    let place = place.restart(PLANS);
    place.engine.finish(&third, Some(200), Some(0), at(MIDNIGHT + 4)).unwrap();
    assert_eq!(overages(&place), [0, 0, 0, 0, 4, 1, -2]);
    assert_eq!(told(&place, &caller, MIDNIGHT + 5), ("2".to_owned(), None));
}

#[test]
fn two_days_later_an_excess_counts_today_and_nothing_is_given_back() {
    let place = Place::new(PLANS);
    let caller = place.caller("daily");
    let [more, less] = [5, 5].map(|cost| held(&place, &caller, cost, 0));
    let late = MIDNIGHT + 48 * 3_600;
    place.engine.finish(&more, Some(200), Some(7), at(late)).unwrap();
    place.engine.finish(&less, Some(200), Some(1), at(late)).unwrap();
    assert_eq!(told(&place, &caller, late + 1), ("3".to_owned(), None));
}

#[test]
fn the_day_before_stays_as_it_was_under_another_plan_also_after_a_restart() {
    for tier in ["hard", "large"] {
        let place = Place::new(PLANS);
        let caller = place.caller("daily");
        let [first, second, third] = [9, 3, 2].map(|cost| held(&place, &caller, cost, 0));
        assert_eq!(overages(&place), [0, 2, 2]);
        let other = sluicegate_core::policy::TierName::new(tier).unwrap();
        wait(place.engine.directory().set_tier("acct-daily", other, &writer())).unwrap();
        place.engine.finish(&first, Some(200), Some(14), at(MIDNIGHT + 1)).unwrap();
        assert_eq!(told(&place, &caller, MIDNIGHT + 2), ("1".to_owned(), None), "{tier}");
        let place = place.restart(PLANS);
        place.engine.finish(&second, Some(503), None, at(MIDNIGHT + 3)).unwrap();
        place.engine.finish(&third, Some(200), Some(1), at(MIDNIGHT + 4)).unwrap();
        assert_eq!(overages(&place), [0, 2, 2, 5, 0, -3, -1], "{tier}");
    }
}
