//! Another policy while the engine decides.

use sluicegate_engine::ReloadError;
use sluicegate_store::directory::CustomBody;

use crate::place::{NOW, Place, answer, at, header, policy, wait, writer};

#[test]
fn a_raised_limit_unblocks_at_once_and_a_lowered_one_never_makes_remaining_negative() {
    let place = Place::new("tiers: {free: {rate: 100, burst: 100, quota: 2}}");
    let caller = place.caller("free");
    for _ in 0..2 {
        place.get(&caller, "/", NOW);
    }
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "402 quota_exceeded");
    place.engine.reload(policy("tiers: {free: {rate: 100, burst: 100, quota: 5}}")).unwrap();
    let raised = place.get(&caller, "/", NOW);
    assert_eq!(answer(&raised), "200");
    assert_eq!(header(&raised, "X-Quota-Used").unwrap(), "3");
    place.engine.reload(policy("tiers: {free: {rate: 100, burst: 100, quota: 1}}")).unwrap();
    let lowered = place.get(&caller, "/", NOW);
    assert_eq!(answer(&lowered), "402 quota_exceeded");
    assert_eq!(header(&lowered, "X-Quota-Remaining").unwrap(), "0");
}

#[test]
fn a_policy_that_breaks_what_was_negotiated_is_not_put_into_force() {
    let with_route = "{tiers: {free: {rate: 1}}, routes: {convert: {match: 'POST /convert'}}}";
    let place = Place::new(with_route);
    let caller = place.caller("free");
    let limit = r#"{"algorithm": "fixed_window", "limit": "3/day", "routes": ["convert"]}"#;
    let body = format!(r#"{{"rate": 7, "limits": {{"conversions": {limit}}}}}"#);
    let custom = CustomBody::new(body).unwrap();
    wait(place.engine.directory().set_custom("acct-free", custom, &writer())).unwrap();
    let decision = place.get(&caller, "/", NOW);
    assert_eq!(decision.tier(), Some("custom:acct-free"));
    assert_eq!(header(&decision, "RateLimit-Limit").unwrap(), "7");
    let refused = place.engine.reload(policy("tiers: {free: {rate: 1}}"));
    assert!(matches!(refused, Err(ReloadError::Custom { account, .. }) if account == "acct-free"));
    assert_eq!(place.engine.policy().version(), 1);
    assert_eq!(place.get(&caller, "/", at(1)).tier(), Some("custom:acct-free"));
}

#[test]
fn every_request_is_decided_by_one_policy_while_policies_change() {
    // Under either policy the burst is twice the rate, and under no mixture of them.
    let plans = [
        policy("tiers: {free: {rate: 1_000, burst: 2_000}}"),
        policy("tiers: {free: {rate: 3_000, burst: 6_000}}"),
    ];
    let place = Place::new("tiers: {free: {rate: 1_000, burst: 2_000}}");
    let caller = place.caller("free");
    std::thread::scope(|scope| {
        let decider = scope.spawn(|| {
            for round in 0..3_000 {
                let decision = place.get(&caller, "/", at(round));
                let policy = header(&decision, "RateLimit-Policy").unwrap();
                let limit: u64 = header(&decision, "RateLimit-Limit").unwrap().parse().unwrap();
                assert_eq!(policy, format!("\"rate\";q={};w=2", 2 * limit));
            }
        });
        for round in 0..500 {
            place.engine.reload(plans[round % 2].clone()).unwrap();
        }
        decider.join().unwrap();
    });
}
