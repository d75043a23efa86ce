//! Shares of quotas that are announced: each once for a period, whatever happens in between.

use sluicegate_core::time::Timestamp;
use sluicegate_engine::{CallerRequest, Hold};
use sluicegate_store::alerts::{Alert, AlertKind, QuotaUse, Which};
use sluicegate_store::directory::Page;

use crate::place::{Caller, NOW, Place, answer, at, costing, request, wait, writer};

const PLANS: &str = "
tiers:
  metered: {quota: 10, on_quota_exceeded: bill_overage}
  blocked: {quota: 10}
  larger: {quota: 20}
  pooled: {quota: 10, quota_pool: key}
  sliding: {quota: 10, quota_window: sliding_day}
  kind: {quota: 10, refund_on: 5xx}
  rated:
    {rate: 10, burst: 10, concurrency: 10,
     limits: {brief: {algorithm: fixed_window, limit: 10/minute, axis: quota}}}
";

const DAY: u32 = 86_400;
/// The first of the next month.
const NEXT_MONTH: u32 = 27 * DAY;

/// Spends so much and announces what is noticed.
fn spend(place: &Place, caller: &Caller, cost: u64, now: Timestamp) -> String {
    let decision = place.ask(&costing(request(&caller.key), cost), now);
    wait(place.engine.announce_thresholds());
    answer(&decision)
}

/// Every alert, the oldest first.
fn alerts(place: &Place) -> Vec<Alert> {
    let mut alerts = wait(place.engine.alerts().list(Page::default(), Which::All)).unwrap().items;
    alerts.reverse();
    alerts
}

fn quota_of(alert: &Alert) -> &QuotaUse {
    match &alert.news.kind {
        AlertKind::QuotaThreshold { quota, .. } | AlertKind::QuotaOverage(quota) => quota,
        other => panic!("no quota: {other:?}"),
    }
}

/// What was announced, and how much was used then.
fn announced(place: &Place) -> Vec<(String, u64)> {
    let said = |alert: Alert| {
        let used = quota_of(&alert).used;
        match alert.news.kind {
            AlertKind::QuotaThreshold { percent, .. } => (percent.to_string(), used),
            AlertKind::QuotaOverage(_) => ("overage".to_owned(), used),
            other => panic!("no quota: {other:?}"),
        }
    };
    alerts(place).into_iter().map(said).collect()
}

fn all(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(level, used)| ((*level).to_owned(), *used)).collect()
}

const FIVE: [(&str, u64); 5] = [("50", 5), ("80", 8), ("90", 9), ("100", 10), ("overage", 11)];

#[test]
fn each_of_five_is_announced_once_a_period_and_again_in_the_next() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    for _ in 0..20 {
        assert_eq!(spend(&place, &caller, 1, NOW), "200");
    }
    assert_eq!(announced(&place), all(&FIVE));
    for _ in 0..20 {
        spend(&place, &caller, 1, at(NEXT_MONTH));
    }
    assert_eq!(announced(&place), all(&[FIVE, FIVE].concat()));
    let first = &alerts(&place)[0];
    assert_eq!((first.news.at, first.news.kind.as_str()), (NOW, "quota.threshold"));
    let quota = quota_of(first);
    assert_eq!((quota.account.as_str(), quota.limit.as_str()), ("acct-metered", "quota"));
    // 2026-11-01T00:00:00Z.
    assert_eq!((quota.amount, quota.period_end), (10, Some(Timestamp::from_secs(1_793_491_200))));
    let counted = place.engine.thresholds_announced().map(|(_, count)| count);
    assert_eq!(counted, [2; 5]);
    let mut ids: Vec<_> = alerts(&place).into_iter().map(|alert| alert.news.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 10);
}

#[test]
fn a_request_that_jumps_over_several_announces_each() {
    let place = Place::new(PLANS);
    let (metered, blocked) = (place.caller("metered"), place.caller("blocked"));
    spend(&place, &metered, 11, NOW);
    assert_eq!(announced(&place), all(&FIVE.map(|(level, _)| (level, 11))));
    spend(&place, &blocked, 9, NOW);
    assert_eq!(announced(&place)[5..], all(&[("50", 9), ("80", 9), ("90", 9)]));
}

#[test]
fn a_quota_that_refuses_has_no_overage_and_a_refusal_announces_nothing() {
    let place = Place::new(PLANS);
    let caller = place.caller("blocked");
    spend(&place, &caller, 4, NOW);
    assert_eq!(spend(&place, &caller, 7, NOW), "402 quota_exceeded");
    assert_eq!(announced(&place), []);
    spend(&place, &caller, 6, NOW);
    assert_eq!(spend(&place, &caller, 1, NOW), "402 quota_exceeded");
    assert_eq!(announced(&place), all(&[("50", 10), ("80", 10), ("90", 10), ("100", 10)]));
}

#[test]
fn what_falls_below_and_comes_back_is_not_announced_again() {
    let place = Place::new(PLANS);
    let caller = place.caller("kind");
    spend(&place, &caller, 4, NOW);
    for round in 0..3 {
        let decision = place.ask(&costing(request(&caller.key), 4), at(round));
        wait(place.engine.announce_thresholds());
        place.engine.finish(&decision.permit.unwrap(), Some(500), None, at(round)).unwrap();
    }
    assert_eq!(announced(&place), all(&[("50", 8), ("80", 8)]));
    let place = place.restart(PLANS);
    spend(&place, &caller, 5, at(5));
    assert_eq!(announced(&place), all(&[("50", 8), ("80", 8), ("90", 9)]));
}

#[test]
fn neither_a_restart_nor_a_crash_announces_anything_twice() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    spend(&place, &caller, 8, NOW);
    let place = place.restart(PLANS);
    spend(&place, &caller, 1, at(1));
    place.engine.spool().flush().unwrap();
    let place = place.crash(PLANS);
    for _ in 0..3 {
        spend(&place, &caller, 1, at(2));
    }
    assert_eq!(announced(&place), all(&[("50", 8), ("80", 8), ("90", 9), ("100", 10), ("overage", 11)]));
}

#[test]
fn what_was_crossed_and_not_announced_before_a_crash_is_announced_by_the_next_request() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    place.ask(&costing(request(&caller.key), 8), NOW);
    place.engine.spool().flush().unwrap();
    let place = place.crash(PLANS);
    assert_eq!(announced(&place), []);
    spend(&place, &caller, 1, at(1));
    assert_eq!(announced(&place), all(&[("50", 9), ("80", 9), ("90", 9)]));
}

#[test]
fn keys_with_quotas_of_their_own_are_announced_each() {
    let place = Place::new(PLANS);
    let one = place.caller("pooled");
    let other = place.key("acct-pooled", &[]);
    spend(&place, &one, 5, NOW);
    spend(&place, &other, 5, NOW);
    spend(&place, &one, 1, NOW);
    let keys: Vec<_> = alerts(&place).iter().map(|alert| quota_of(alert).key.clone().unwrap()).collect();
    assert_eq!(keys, [one.id.to_string(), other.id.to_string()]);
}

#[test]
fn a_window_that_slides_is_announced_once_for_its_length() {
    let place = Place::new(PLANS);
    let caller = place.caller("sliding");
    let after = |hours: u32, minutes: u32, cost| {
        assert_eq!(spend(&place, &caller, cost, at(hours * 3_600 + minutes * 60)), "200");
        announced(&place)
    };
    after(0, 0, 5);
    after(6, 0, 1);
    after(12, 0, 2);
    assert_eq!(after(23, 0, 1), all(&[("50", 5), ("80", 8), ("90", 9)]));
    // The first five are forgotten, and a day has passed since a half was announced.
    assert_eq!(after(24, 10, 2)[3..], all(&[("50", 6)]));
    // Of 80 % it was less than a day ago.
    assert_eq!(after(30, 10, 3).len(), 4);
    assert_eq!(after(36, 10, 2)[4..], all(&[("80", 8)]));
    assert!(alerts(&place).iter().all(|alert| quota_of(alert).period_end.is_none()));
}

#[test]
fn a_true_cost_that_turns_out_larger_is_announced_when_it_is_settled() {
    let place = Place::new(PLANS);
    let caller = place.caller("metered");
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), 1) };
    let permit = place.ask(&held, NOW).permit.unwrap();
    wait(place.engine.announce_thresholds());
    assert_eq!(announced(&place), []);
    place.engine.finish(&permit, Some(200), Some(8), at(1)).unwrap();
    wait(place.engine.announce_thresholds());
    assert_eq!(announced(&place), all(&[("50", 8), ("80", 8)]));
}

#[test]
fn under_another_plan_the_shares_are_others() {
    let place = Place::new(PLANS);
    let caller = place.caller("blocked");
    spend(&place, &caller, 9, NOW);
    let tier = sluicegate_core::policy::TierName::new("larger").unwrap();
    wait(place.engine.directory().set_tier("acct-blocked", tier, &writer())).unwrap();
    spend(&place, &caller, 1, at(1));
    spend(&place, &caller, 6, at(2));
    let all = all(&[("50", 9), ("80", 9), ("90", 9), ("50", 10), ("80", 16)]);
    assert_eq!(announced(&place), all);
}

#[test]
fn rates_and_callers_without_a_key_are_nobodys_business() {
    let place = Place::new(PLANS);
    let caller = place.caller("rated");
    for _ in 0..10 {
        assert_eq!(spend(&place, &caller, 1, NOW), "200");
    }
    let anonymous = Place::new("{tiers: {free: {quota: 2}}, identity: {anonymous: free}}");
    let headers = http::HeaderMap::new();
    assert_eq!(answer(&anonymous.ask(&crate::place::nobody(&headers), NOW)), "200");
    wait(anonymous.engine.announce_thresholds());
    assert_eq!((announced(&place), announced(&anonymous)), (Vec::new(), Vec::new()));
}
