//! Overage that is billed, with an end to it.

use sluicegate_engine::{CallerRequest, Hold};

use crate::place::{Caller, NOW, Place, answer, at, costing, header, request};

const PLANS: &str = "
tiers:
  capped: {quota: 10, on_quota_exceeded: bill_overage, overage_cap: 5}
  patient: {quota: 10, on_quota_exceeded: bill_overage, overage_cap: 5, quota_status: 429, quota_window: calendar_day}
  endless: {quota: 10, on_quota_exceeded: bill_overage}
";

fn ask(place: &Place, caller: &Caller, cost: u64) -> String {
    answer(&place.ask(&costing(request(&caller.key), cost), NOW))
}

#[test]
fn it_is_served_and_billed_up_to_the_cap_and_refused_beyond() {
    let place = Place::new(PLANS);
    let caller = place.caller("capped");
    assert_eq!(ask(&place, &caller, 8), "200");
    let over = place.ask(&costing(request(&caller.key), 4), NOW);
    let said = |name: &str| header(&over, name).unwrap();
    assert_eq!((said("X-Quota-Remaining").as_str(), said("X-Quota-Overage").as_str()), ("0", "2"));
    assert_eq!(ask(&place, &caller, 4), "402 quota_exceeded");
    assert_eq!(ask(&place, &caller, 3), "200");
    let refused = place.ask(&request(&caller.key), NOW);
    assert_eq!(answer(&refused), "402 quota_exceeded");
    assert_eq!(header(&refused, "X-Quota-Overage").as_deref(), Some("5"));
    assert_eq!(header(&refused, "Retry-After"), None, "a 402 is not waited for");
    assert_eq!(ask(&place, &caller, 16), "400 cost_exceeds_limit");
    let billed: Vec<_> = place.records().iter().map(|record| (record.cost, record.overage)).collect();
    assert_eq!(billed, [(8, 0), (4, 2), (3, 3)]);
}

#[test]
fn it_refuses_with_the_status_of_a_spent_quota_until_the_period_ends() {
    let place = Place::new(PLANS);
    let caller = place.caller("patient");
    assert_eq!(ask(&place, &caller, 15), "200");
    let refused = place.ask(&request(&caller.key), NOW);
    assert_eq!(answer(&refused), "429 quota_exceeded");
    // It is noon.
    assert_eq!(header(&refused, "Retry-After").as_deref(), Some("43200"));
    assert_eq!(answer(&place.get(&caller, "/", at(43_199))), "429 quota_exceeded");
    assert_eq!(answer(&place.get(&caller, "/", at(43_200))), "200");
}

#[test]
fn a_true_cost_may_lie_above_the_cap() {
    let place = Place::new(PLANS);
    let caller = place.caller("capped");
    let held = CallerRequest { hold: Hold::Yes, ..request(&caller.key) };
    let permit = place.ask(&held, NOW).permit.unwrap();
    place.engine.finish(&permit, Some(200), Some(40), at(1)).unwrap();
    assert_eq!(ask(&place, &caller, 1), "402 quota_exceeded");
    let billed: u64 = place.records().iter().map(|record| record.overage).sum();
    assert_eq!((place.ledger_total(), billed), (40, 30));
}

#[test]
fn an_end_that_is_added_or_moved_applies_at_once() {
    let place = Place::new(PLANS);
    let caller = place.caller("capped");
    assert_eq!(
        (ask(&place, &caller, 15), ask(&place, &caller, 1)),
        ("200".into(), "402 quota_exceeded".into())
    );
    place.engine.reload(crate::place::policy(&PLANS.replace("overage_cap: 5", "overage_cap: 7"))).unwrap();
    assert_eq!(
        (ask(&place, &caller, 2), ask(&place, &caller, 1)),
        ("200".into(), "402 quota_exceeded".into())
    );
    let endless = place.caller("endless");
    assert_eq!(ask(&place, &endless, 1_000), "200");
}

#[test]
fn it_is_exact_after_a_crash() {
    let place = Place::new(PLANS);
    let caller = place.caller("capped");
    assert_eq!(ask(&place, &caller, 13), "200");
    place.engine.spool().flush().unwrap();
    let place = place.crash(PLANS);
    assert_eq!(ask(&place, &caller, 3), "402 quota_exceeded");
    assert_eq!(ask(&place, &caller, 2), "200");
    assert_eq!(ask(&place, &caller, 1), "402 quota_exceeded");
}

const TIERS: &str = "
tiers:
  small: {quota: 10, on_quota_exceeded: bill_overage}
  large: {quota: 100, on_quota_exceeded: bill_overage}
  hard: {quota: 100}
";

/// The overage that the ledger has, and that the header of a request says that costs so much.
fn overage_after(place: &Place, caller: &Caller, cost: u64) -> (i128, Option<String>) {
    let decision = place.ask(&costing(request(&caller.key), cost), NOW);
    assert_eq!(answer(&decision), "200");
    let signed = |record: &sluicegate_ledger::Record| match record.kind {
        sluicegate_ledger::Kind::Refund => -i128::from(record.overage),
        _ => i128::from(record.overage),
    };
    (place.records().iter().map(signed).sum(), header(&decision, "X-Quota-Overage"))
}

fn move_to(place: &Place, tier: &str) {
    let tier = sluicegate_core::policy::TierName::new(tier).unwrap();
    crate::place::wait(place.engine.directory().set_tier("acct-small", tier, &crate::place::writer()))
        .unwrap();
}

#[test]
fn another_tier_is_as_it_was_after_a_crash_and_after_a_restart() {
    let place = Place::new(TIERS);
    let caller = place.caller("small");
    assert_eq!(overage_after(&place, &caller, 15), (5, Some("5".to_owned())));
    move_to(&place, "large");
    assert_eq!(overage_after(&place, &caller, 95), (15, Some("15".to_owned())));
    // Back again: what was included when it was used is not billed.
    move_to(&place, "small");
    assert_eq!(overage_after(&place, &caller, 1), (16, Some("16".to_owned())));
    place.engine.spool().flush().unwrap();
    let crashed = place.crash(TIERS);
    assert_eq!(overage_after(&crashed, &caller, 2), (18, Some("18".to_owned())));
    let restarted = crashed.restart(TIERS);
    assert_eq!(overage_after(&restarted, &caller, 1), (19, Some("19".to_owned())));
    // An edit that was made while nobody ran.
    restarted.engine.spool().flush().unwrap();
    let edited = restarted.crash(&TIERS.replace("quota: 10,", "quota: 200,"));
    assert_eq!(overage_after(&edited, &caller, 80), (19, Some("19".to_owned())));
    assert_eq!(overage_after(&edited, &caller, 10), (23, Some("23".to_owned())));
}

#[test]
fn what_was_recorded_outlasts_a_tier_that_refuses_a_crash_and_a_restart() {
    let begin = || {
        let place = Place::new(TIERS);
        let caller = place.caller("small");
        assert_eq!(overage_after(&place, &caller, 60), (50, Some("50".to_owned())));
        move_to(&place, "hard");
        assert_eq!(overage_after(&place, &caller, 3), (50, None));
        place.engine.spool().flush().unwrap();
        (place, caller)
    };
    let goes_on = |(place, caller): (Place, Caller)| {
        move_to(&place, "small");
        assert_eq!(overage_after(&place, &caller, 7), (57, Some("57".to_owned())));
    };
    goes_on(begin());
    let (place, caller) = begin();
    goes_on((place.crash(TIERS), caller));
    let (place, caller) = begin();
    goes_on((place.restart(TIERS), caller));
}

#[test]
fn what_was_over_is_given_back_by_whoever_is_refunded() {
    let place = Place::new(TIERS);
    let caller = place.caller("small");
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(&caller.key), 8) };
    let permit = place.ask(&held, NOW).permit.unwrap();
    assert_eq!(overage_after(&place, &caller, 7), (5, Some("5".to_owned())));
    place.engine.finish(&permit, Some(200), Some(0), at(1)).unwrap();
    assert_eq!(overage_after(&place, &caller, 1), (0, None));
}
