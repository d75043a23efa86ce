//! What the engine knows about its own decisions.

mod denials;
mod events;
mod floods;
mod shared;

use std::sync::Arc;

use http::HeaderMap;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::pulse::{Caller, Explanation, Kind, Outcome, TopBy};
use sluicegate_engine::{CallerRequest, Decision, ErrorCode, Front, Purpose};

use crate::place::{NOW, Place, at, nobody, policy, request};

const POLICY: &str = "\
tiers:
  free: {rate: 10, burst: 2}
  pro: {rate: 100}
identity: {anonymous: free}
routes:
  search: {match: \"GET /search\"}
";

/// Why this was refused.
#[track_caller]
fn explained(place: &Place, decision: &Decision, now: Timestamp) -> Arc<Explanation> {
    place.engine.pulse().explanation(decision.id, now).expect("a denial is explained")
}

/// How often what was counted: `free admitted 2`.
fn counts(place: &Place, kind: Kind) -> Vec<String> {
    let counts = place.engine.pulse().counts().into_iter().filter(|count| count.kind == kind);
    counts.map(|count| format!("{} {} {}", count.name, count.outcome.as_str(), count.count)).collect()
}

#[test]
fn decisions_are_counted_by_tier_route_limit_and_front_end() {
    let place = Place::new(POLICY);
    let (free, pro) = (place.caller("free"), place.caller("pro"));
    for _ in 0..3 {
        place.get(&free, "/search", NOW);
    }
    place.ask(&CallerRequest { front: Front::Gateway, ..request(&pro.key) }, NOW);
    place.ask(&request("sg_live_nobody"), NOW);
    assert_eq!(
        counts(&place, Kind::Tier),
        ["free admitted 2", "free rate_limited 1", "none invalid_key 1", "pro admitted 1"]
    );
    assert_eq!(
        counts(&place, Kind::Route),
        ["none admitted 1", "none invalid_key 1", "search admitted 2", "search rate_limited 1"]
    );
    assert_eq!(counts(&place, Kind::Limit), ["rate rate_limited 1"]);
    let pulse = place.engine.pulse();
    assert_eq!(pulse.outcomes(Front::Gateway).total(), 1);
    let others = pulse.outcomes(Front::Decision);
    assert_eq!((others.admitted(), others.total()), (2, 4));
    assert_eq!(others.get(Outcome::Refused(ErrorCode::InvalidKey)), 1);
    assert_eq!(pulse.took(Front::Decision).count(), 4);
}

#[test]
fn a_peek_is_no_traffic() {
    let place = Place::new(POLICY);
    let free = place.caller("free");
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(&free.key) };
    for _ in 0..5 {
        place.ask(&peek, NOW);
    }
    let refused = place.ask(&CallerRequest { purpose: Purpose::Peek, ..request("nonsense") }, NOW);
    let pulse = place.engine.pulse();
    assert!(pulse.counts().is_empty());
    assert_eq!(pulse.explanation(refused.id, NOW), None);
    assert_eq!(pulse.steps(1, NOW)[0].outcomes.total(), 0);
}

#[test]
fn the_past_hour_is_known_in_steps_of_ten_seconds() {
    let place = Place::new(POLICY);
    let free = place.caller("free");
    for _ in 0..3 {
        place.get(&free, "/", NOW);
    }
    place.get(&free, "/", at(25));
    let steps = place.engine.pulse().steps(4, at(25));
    let counted: Vec<_> = steps
        .iter()
        .map(|step| (step.at.as_secs() + 10 - NOW.as_secs(), step.outcomes.admitted(), step.outcomes.total()))
        .collect();
    assert_eq!(counted, [(0, 0, 0), (10, 2, 3), (20, 0, 0), (30, 1, 1)]);
}

#[test]
fn counters_survive_a_reload_and_names_that_come_with_it_are_counted_as_well() {
    let place = Place::new(POLICY);
    let free = place.caller("free");
    place.get(&free, "/search", NOW);
    let more = POLICY.replace("  search:", "  find: {match: \"GET /find\"}\n  search:");
    place.engine.reload(policy(&more)).unwrap();
    place.get(&free, "/search", at(10));
    place.get(&free, "/find", at(10));
    assert_eq!(counts(&place, Kind::Tier), ["free admitted 3"]);
    assert_eq!(counts(&place, Kind::Route), ["find admitted 1", "search admitted 2"]);
}

#[test]
fn those_who_send_most_and_are_refused_most_are_known() {
    let place = Place::new(POLICY);
    let (free, pro) = (place.caller("free"), place.caller("pro"));
    for _ in 0..9 {
        place.get(&free, "/", NOW);
    }
    for _ in 0..20 {
        place.get(&pro, "/", NOW);
    }
    let headers = HeaderMap::new();
    place.ask(&nobody(&headers), NOW);
    let top = |by| {
        let top = place.engine.pulse().top(by, 10, NOW);
        let name = |caller: &Caller| match caller {
            Caller::Account(account) => account.to_string(),
            Caller::Client(client) => client.to_string()[..3].to_owned(),
        };
        let line = |top: &sluicegate_engine::pulse::TopCaller| {
            let tier = top.tier.as_ref().map(|tier| tier.as_str().to_owned()).unwrap_or_default();
            format!("{} {tier} {} ± {}", name(&top.caller), top.count, top.error)
        };
        top.callers.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(top(TopBy::Requests), ["acct-pro pro 20 ± 0", "acct-free free 9 ± 0", "cl_ free 1 ± 0"]);
    assert_eq!(top(TopBy::Refusals), ["acct-free free 7 ± 0"]);
}

#[test]
fn a_decision_that_waits_for_the_disk_is_counted_once_that_has_answered() {
    let place = Place::new(&format!("{POLICY}ledger: {{durability: strict}}\n"));
    let pro = place.caller("pro");
    let decision = place.get(&pro, "/search", NOW);
    // Nobody knows yet what becomes of it.
    assert!(decision.pending.is_some());
    assert!(place.engine.pulse().counts().is_empty());
    let decision = crate::place::wait(place.engine.settled(decision));
    assert!(decision.is_admitted());
    assert_eq!(counts(&place, Kind::Route), ["search admitted 1"]);
}
