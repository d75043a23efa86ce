//! Where load is shed: who has a place at the upstream, and who is told to come back.

use sluicegate_engine::{CallerRequest, Decision, Front, Purpose};

use crate::place::{Caller, NOW, Place, answer, header, request};

const POLICY: &str = "
tiers:
  low: {rate: 1_000, priority: 0}
  high: {rate: 1_000, priority: 1}
  poor: {rate: 1/minute, priority: 1}
  internal: {bypass: true}
routes:
  elsewhere: {match: 'GET /elsewhere', upstream: 'http://127.0.0.1:1'}
  secret: {match: 'GET /secret', scope: 'secret:read'}
shedding: {}
";

fn through(place: &Place, caller: &Caller, path: &str) -> Decision {
    place.ask(&CallerRequest { front: Front::Gateway, path, ..request(&caller.key) }, NOW)
}

fn in_flight(place: &Place) -> u64 {
    place.engine.loads().look().in_flight
}

/// As many as there are places.
fn fill(place: &Place, caller: &Caller, path: &str) -> Vec<Decision> {
    let mut held = Vec::new();
    loop {
        let decision = through(place, caller, path);
        if !decision.is_admitted() {
            assert_eq!(answer(&decision), "503 overloaded");
            return held;
        }
        held.push(decision);
    }
}

#[test]
fn who_has_no_place_is_refused_uncharged_until_one_is_free() {
    let place = Place::new(POLICY);
    let (low, high) = (place.caller("low"), place.caller("high"));
    let mut held = fill(&place, &low, "/");
    assert_eq!(in_flight(&place), held.len() as u64);
    let refused = through(&place, &low, "/");
    assert_eq!(header(&refused, "Retry-After").as_deref(), Some("1"));
    let rate = refused.limits.iter().find(|limit| limit.name.as_str() == "rate").unwrap();
    assert_eq!(rate.remaining, 1_000 - held.len() as u64, "a refusal is charged");
    assert_eq!(place.records().len(), held.len());
    let higher = through(&place, &high, "/");
    assert_eq!(answer(&higher), "200", "a lower priority keeps a higher one out");
    drop(higher);
    held.clear();
    assert_eq!(in_flight(&place), 0);
    assert_eq!(answer(&through(&place, &low, "/")), "200");
}

#[test]
fn a_request_that_limits_refuse_takes_no_place() {
    let place = Place::new(POLICY);
    let poor = place.caller("poor");
    let first = through(&place, &poor, "/");
    assert_eq!(answer(&first), "200");
    assert_eq!(answer(&through(&place, &poor, "/")), "429 rate_limited");
    assert_eq!(answer(&through(&place, &poor, "/secret")), "403 insufficient_scope");
    assert_eq!(in_flight(&place), 1);
}

#[test]
fn a_bypass_and_those_that_others_forward_are_never_shed() {
    let place = Place::new(POLICY);
    let (low, ours) = (place.caller("low"), place.caller("internal"));
    let held = fill(&place, &low, "/");
    let token = sluicegate_engine::Credential::ServiceToken(&ours.key);
    let bypass = CallerRequest { credential: token, front: Front::Gateway, ..request("") };
    assert_eq!(answer(&place.ask(&bypass, NOW)), "200");
    assert_eq!(answer(&place.get(&low, "/", NOW)), "200");
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(&low.key) };
    assert_eq!(answer(&place.ask(&peek, NOW)), "200");
    assert_eq!(in_flight(&place), held.len() as u64);
}

#[test]
fn each_upstream_has_places_of_its_own() {
    let place = Place::new(POLICY);
    let low = place.caller("low");
    let held = fill(&place, &low, "/elsewhere");
    assert_eq!(answer(&through(&place, &low, "/")), "200");
    assert_eq!(answer(&through(&place, &low, "/elsewhere")), "503 overloaded");
    drop(held);
}

#[test]
fn without_the_section_nobody_has_a_place_and_nobody_is_refused() {
    let without = POLICY.replace("shedding: {}", "");
    let place = Place::new(&without);
    let low = place.caller("low");
    let held: Vec<Decision> = (0..500).map(|_| through(&place, &low, "/")).collect();
    assert!(held.iter().all(|decision| decision.is_admitted() && decision.ticket.is_none()));
    assert_eq!(in_flight(&place), 0);
}

#[test]
fn switching_it_off_and_on_again_loses_no_place() {
    let place = Place::new(POLICY);
    let low = place.caller("low");
    let held = fill(&place, &low, "/");
    place.engine.reload(crate::place::policy(&POLICY.replace("shedding: {}", ""))).unwrap();
    assert_eq!(answer(&through(&place, &low, "/")), "200");
    place.engine.reload(crate::place::policy(POLICY)).unwrap();
    assert_eq!(answer(&through(&place, &low, "/")), "503 overloaded");
    drop(held);
    assert_eq!(in_flight(&place), 0);
}
