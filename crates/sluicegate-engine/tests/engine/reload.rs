//! Another policy while the engine decides.

use sluicegate_core::time::Nanos;
use sluicegate_engine::{CallerRequest, Hold, Purpose, ReloadError};
use sluicegate_store::directory::CustomBody;

use crate::place::{NOW, Place, answer, at, costing, header, policy, request, wait, writer};

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

#[test]
fn a_permit_that_is_handed_out_after_a_reload_is_finished_on_the_route_of_its_decision() {
    let limits = "limits: {conversions: {algorithm: fixed_window, limit: 100/day, routes: [convert]}}";
    let tiers = format!("tiers: {{free: {{rate: 100, burst: 100, {limits}}}}}");
    let (convert, list) = ("convert: {match: 'POST /convert'}", "a-list: {match: 'GET /list'}");
    let place = Place::new(&format!("{tiers}\nroutes: {{{convert}}}"));
    let caller = place.caller("free");
    let asked = CallerRequest {
        method: "POST",
        path: "/convert",
        hold: Hold::Yes,
        ..costing(request(&caller.key), 2)
    };
    let permit = place.ask(&asked, NOW).permit.unwrap();
    // The place of the first route is another's.
    place.engine.reload(policy(&format!("{tiers}\nroutes: {{{list}, {convert}}}"))).unwrap();
    let permit = place.engine.keep(permit, NOW).unwrap();
    let permit = place.engine.renew_kept_here(&permit.text, Nanos::from_secs(60), at(1)).unwrap();
    place.engine.finish_kept_here(&permit.text, Some(200), Some(7), at(2)).unwrap();
    let records = place.records();
    let routes: Vec<u32> = records.iter().map(|record| record.route).collect();
    assert_eq!(routes, vec![routes[0]; records.len()]);
    let peek = CallerRequest { purpose: Purpose::Peek, cost: None, ..asked };
    let decision = place.ask(&peek, at(2));
    let conversions = decision.limits.iter().find(|limit| limit.name.as_str() == "conversions").unwrap();
    assert_eq!(conversions.used, 7);
}
