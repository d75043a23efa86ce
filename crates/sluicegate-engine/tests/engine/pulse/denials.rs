//! Every kind of denial is explained.

use http::HeaderMap;
use sluicegate_core::rule::Amount;
use sluicegate_core::time::Nanos;
use sluicegate_engine::pulse::{KEPT_FOR, Which};
use sluicegate_engine::{CallerRequest, Credential, ErrorCode, Front, Hold, Name};

use super::explained;
use crate::place::{NOW, Place, at, costing, nobody, request, wait};

const PLANS: &str = "\
tiers:
  free: {rate: 10, burst: 20, quota: 40}
  narrow: {concurrency: 1}
  metered: {quota: 5, on_quota_exceeded: bill_overage, rate: 100, burst: 100}
routes:
  search: {match: \"GET /search/**\", cost: 5}
  secret: {match: \"GET /secret\", scope: \"secret:read\"}
";

#[test]
fn a_rate_that_is_spent_says_when_there_is_more_and_what_would_have_passed() {
    let place = Place::new(PLANS);
    let free = place.caller("free");
    for _ in 0..3 {
        assert!(place.get(&free, "/search/a", NOW).is_admitted());
    }
    place.ask(&costing(request(&free.key), 2), NOW);
    let asked = CallerRequest { front: Front::ForwardAuth, path: "/search/shoes", ..request(&free.key) };
    let refused = place.ask(&asked, NOW);
    let why = explained(&place, &refused, NOW);
    assert_eq!((why.brief.error, why.brief.status), (Some(ErrorCode::RateLimited), 429));
    assert_eq!((why.brief.id, why.brief.at, why.brief.front), (refused.id, NOW, Front::ForwardAuth));
    assert_eq!(why.brief.account.as_ref().map(|account| account.as_str()), Some("acct-free"));
    assert_eq!(why.brief.tier.as_ref().map(|tier| tier.as_str()), Some("free"));
    assert_eq!((why.brief.route.as_deref(), &*why.brief.path), (Some("search"), "/search/shoes"));
    assert_eq!((why.key, why.brief.client, why.brief.method.as_str()), (Some(free.id), None, "GET"));
    assert_eq!((why.cost, why.cost_admitted, why.policy_version), (5, 3, 1));
    assert_eq!(why.refused_by.as_ref().map(|limit| limit.as_str()), Some("rate"));
    assert_eq!(*why.limits, refused.limits[..]);
    // What it says is true: not a moment earlier, and not a unit more.
    let retry_at = why.retry_at().unwrap();
    let before = sluicegate_core::time::Timestamp::from_nanos(retry_at.as_nanos() - 1);
    assert!(!place.get(&free, "/search/shoes", before).is_admitted());
    assert!(!place.ask(&costing(request(&free.key), 4), NOW).is_admitted());
    assert!(place.ask(&costing(request(&free.key), why.cost_admitted), NOW).is_admitted());
}

#[test]
fn a_quota_that_is_spent_says_when_it_begins_anew() {
    let place = Place::new(PLANS);
    let free = place.caller("free");
    for second in [0, 10] {
        assert!(place.ask(&costing(request(&free.key), 19), at(second)).is_admitted());
    }
    let refused = place.ask(&costing(request(&free.key), 3), at(20));
    let why = explained(&place, &refused, at(20));
    assert_eq!((why.brief.error, why.brief.status), (Some(ErrorCode::QuotaExceeded), 402));
    assert_eq!((why.cost, why.cost_admitted), (3, 2));
    // The first of November.
    assert_eq!(why.retry_at().unwrap().as_secs(), 1_793_491_200);
}

#[test]
fn what_is_billed_beyond_a_quota_bounds_no_cost() {
    let place = Place::new(PLANS);
    let metered = place.caller("metered");
    assert!(place.ask(&costing(request(&metered.key), 97), NOW).is_admitted());
    let refused = place.ask(&costing(request(&metered.key), 5), NOW);
    let why = explained(&place, &refused, NOW);
    assert_eq!((why.brief.error, why.cost_admitted), (Some(ErrorCode::RateLimited), 3));
}

#[test]
fn places_that_are_all_taken_admit_no_cost() {
    let place = Place::new(PLANS);
    let narrow = place.caller("narrow");
    let held = place.ask(&CallerRequest { hold: Hold::Yes, ..request(&narrow.key) }, NOW);
    assert!(held.is_admitted());
    let why = explained(&place, &place.get(&narrow, "/", NOW), NOW);
    assert_eq!((why.brief.error, why.cost_admitted), (Some(ErrorCode::ConcurrencyLimited), 0));
    assert!(why.retry_at().is_some());
}

#[test]
fn a_cost_that_never_fits_has_no_time_at_which_it_would() {
    let place = Place::new(PLANS);
    let free = place.caller("free");
    let why = explained(&place, &place.ask(&costing(request(&free.key), 21), NOW), NOW);
    assert_eq!((why.brief.error, why.brief.status), (Some(ErrorCode::CostExceedsLimit), 400));
    assert_eq!((why.retry_at(), why.cost, why.cost_admitted), (None, 21, 20));
}

#[test]
fn keys_that_do_not_pass_are_named_and_their_secrets_are_not() {
    let place = Place::new(PLANS);
    let free = place.caller("free");
    let scoped = explained(&place, &place.get(&free, "/secret", NOW), NOW);
    assert_eq!((scoped.brief.error, scoped.brief.status), (Some(ErrorCode::InsufficientScope), 403));
    assert_eq!((scoped.key, scoped.brief.route.as_deref()), (Some(free.id), Some("secret")));
    assert_eq!((scoped.retry_at(), scoped.cost_admitted), (None, 0));
    wait(place.engine.directory().revoke_key(free.id, &crate::place::writer())).unwrap();
    let revoked = explained(&place, &place.get(&free, "/", NOW), NOW);
    assert_eq!((revoked.brief.error, revoked.brief.status), (Some(ErrorCode::InvalidKey), 403));
    assert_eq!((revoked.key, &revoked.brief.account), (Some(free.id), &None));
    let junk = explained(&place, &place.ask(&request("sg_live_junk"), NOW), NOW);
    assert_eq!((junk.brief.error, junk.key), (Some(ErrorCode::InvalidKey), None));
    let headers = HeaderMap::new();
    let none = explained(&place, &place.ask(&nobody(&headers), NOW), NOW);
    assert_eq!((none.brief.error, none.brief.status), (Some(ErrorCode::MissingKey), 401));
    assert_eq!((&none.brief.client, &none.brief.tier), (&None, &None));
    let two = CallerRequest { credential: Credential::Ambiguous, ..request("") };
    let two = explained(&place, &place.ask(&two, NOW), NOW);
    assert_eq!(two.brief.error, Some(ErrorCode::AmbiguousKey));
    let said = format!("{scoped:?}{revoked:?}{junk:?}{none:?}{two:?}");
    let secret = free.key.rsplit('_').next().unwrap();
    assert!(!said.contains(secret) && !said.contains("junk") && !said.contains("192.0.2.1"), "{said}");
}

#[test]
fn names_that_are_wrong_or_taken_are_explained() {
    let place = Place::new(PLANS);
    let free = place.caller("free");
    let named = |path| {
        let name = Some(Name::Given { text: "one", query: None });
        CallerRequest { idempotency_key: name, method: "POST", path, ..request(&free.key) }
    };
    assert!(place.ask(&named("/a"), NOW).is_admitted());
    let conflict = explained(&place, &place.ask(&named("/b"), NOW), NOW);
    assert_eq!(conflict.brief.error, Some(ErrorCode::IdempotencyConflict));
    let malformed = CallerRequest { idempotency_key: Some(Name::Malformed), ..named("/a") };
    let malformed = explained(&place, &place.ask(&malformed, NOW), NOW);
    assert_eq!(malformed.brief.error, Some(ErrorCode::InvalidIdempotencyKey));
}

const ABUSE: &str = "\
tiers: {free: {rate: 1, burst: 1}}
identity: {anonymous: free}
reputation: {applies_to: clients}
blocks: {applies_to: clients, after: 3, within: 1m, for: 1m}
";

#[test]
fn a_refusal_is_charged_to_conduct_alone_and_a_block_says_how_long_it_lasts() {
    let place = Place::new(ABUSE);
    let headers = HeaderMap::new();
    assert!(place.ask(&nobody(&headers), NOW).is_admitted());
    let first = explained(&place, &place.ask(&nobody(&headers), NOW), NOW);
    let client = first.brief.client.expect("a client has an id");
    assert_eq!((&first.brief.account, first.brief.tier.is_some()), (&None, true));
    let conduct: Vec<_> = first
        .conduct
        .iter()
        .map(|meter| (meter.after.name.as_str(), meter.after.used, meter.charged))
        .collect();
    assert_eq!(conduct, [("reputation", 5, 5), ("strikes", 1, 1)]);
    assert_eq!(first.standing.reputation.map(|bucket| bucket.as_str()), Some("low"));
    place.ask(&nobody(&headers), NOW);
    place.ask(&nobody(&headers), NOW);
    let blocked = explained(&place, &place.ask(&nobody(&headers), at(20)), at(20));
    assert_eq!((blocked.brief.error, blocked.brief.status), (Some(ErrorCode::Blocked), 429));
    assert_eq!((blocked.brief.client, blocked.retry_at()), (Some(client), Some(at(60))));
    assert!(blocked.limits.is_empty() && blocked.conduct.is_empty());
    assert!(!format!("{first:?}{blocked:?}").contains("192.0.2"));
}

#[test]
fn a_blocked_key_is_known_by_its_account() {
    let place = Place::new(&ABUSE.replace("applies_to: clients, after", "applies_to: all, after"));
    let free = place.caller("free");
    let decisions: Vec<_> = (0..5).map(|_| place.get(&free, "/", NOW)).collect();
    let why = explained(&place, &decisions[4], NOW);
    assert_eq!(why.brief.error, Some(ErrorCode::Blocked));
    assert_eq!(why.brief.account.as_ref().map(|account| account.as_str()), Some("acct-free"));
    assert_eq!((why.key, why.brief.tier.as_ref().map(|tier| tier.as_str())), (Some(free.id), Some("free")));
}

#[test]
fn the_edge_refuses_an_address_that_nobody_keeps() {
    let place =
        Place::new("tiers: {free: {rate: 100}}\nidentity: {anonymous: free}\nedge: {rate: 1, burst: 1}\n");
    let headers = HeaderMap::new();
    assert!(place.ask(&nobody(&headers), NOW).is_admitted());
    let why = explained(&place, &place.ask(&nobody(&headers), NOW), NOW);
    assert_eq!(why.brief.error, Some(ErrorCode::RateLimited));
    assert_eq!(why.refused_by.as_ref().map(|limit| limit.as_str()), Some("edge"));
    assert_eq!((why.brief.client, why.retry_at()), (None, Some(at(1))));
    assert!(!format!("{why:?}").contains("192.0.2"));
}

#[test]
fn an_upstream_without_room_is_explained_with_the_limits_as_they_are() {
    let place = Place::new("tiers: {free: {rate: 10_000}}\nshedding: {}\n");
    let free = place.caller("free");
    let mut held = Vec::new();
    let refused = loop {
        let decision = place.ask(&CallerRequest { front: Front::Gateway, ..request(&free.key) }, NOW);
        if !decision.is_admitted() {
            break decision;
        }
        held.push(decision);
    };
    let why = explained(&place, &refused, NOW);
    assert_eq!((why.brief.error, why.brief.status), (Some(ErrorCode::Overloaded), 503));
    assert_eq!((why.limits.len(), why.cost_admitted), (1, 0));
    assert!(why.retry_at().is_some());
}

#[test]
fn explanations_are_kept_for_an_hour_and_are_listed_the_newest_first() {
    let place = Place::new(PLANS);
    let (free, narrow) = (place.caller("free"), place.caller("narrow"));
    let first = place.ask(&costing(request(&free.key), 21), NOW);
    let other = place.get(&narrow, "/secret", at(1));
    let last = place.ask(&costing(request(&free.key), 21), at(2));
    let list = |which, max, now| {
        let all = place.engine.pulse().explanations(which, max, now);
        all.iter().map(|why| why.brief.id).collect::<Vec<_>>()
    };
    let all = Which::default();
    assert_eq!(list(all, 10, at(2)), [last.id, other.id, first.id]);
    assert_eq!(list(Which { account: Some("acct-free"), ..all }, 10, at(2)), [last.id, first.id]);
    assert_eq!(list(Which { before: Some(last.id), ..all }, 1, at(2)), [other.id]);
    let hour = u32::try_from(KEPT_FOR.as_secs_ceil()).unwrap();
    assert!(place.engine.pulse().explanation(first.id, at(hour - 1)).is_some());
    assert!(place.engine.pulse().explanation(first.id, at(hour)).is_none());
    assert_eq!(list(all, 10, at(hour)), [last.id, other.id]);
    assert_eq!(place.engine.pulse().explained(), 3);
    place.engine.sweep(at(hour + 1));
    assert_eq!(place.engine.pulse().explained(), 1);
}

#[test]
fn long_paths_and_methods_are_cut() {
    let place = Place::new(PLANS);
    let path = format!("/{}", "ä".repeat(5_000));
    let asked = CallerRequest { path: &path, method: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", ..request("junk") };
    let why = explained(&place, &place.ask(&asked, NOW), NOW);
    assert_eq!((why.brief.path.chars().count(), why.brief.method.as_str()), (200, "ABCDEFGHIJKLMNOP"));
    assert_eq!((why.cost, Nanos::ZERO), (Amount::ONE.get(), why.retry_after));
}
