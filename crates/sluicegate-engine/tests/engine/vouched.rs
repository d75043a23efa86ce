//! Callers that somebody else has told apart: accounts by their ids, and tiers that were chosen for them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::HeaderMap;
use sluicegate_core::plan::SubjectClass;
use sluicegate_engine::{CallerRequest, Credential, Hold};
use sluicegate_testkit::redis::{Engine as Kind, RedisServer};

use crate::place::{NOW, Place, answer, costing, request, wait};
use crate::shared_place;

const PLANS: &str = "
tiers:
  small: {rate: 2}
  large: {rate: 5, quota: 20}
  internal: {bypass: true}
routes:
  secret: {match: /secret, scope: read}
";

fn account<'r>(id: &'r str, tier: Option<&'r str>) -> CallerRequest<'r> {
    CallerRequest { credential: Credential::Account { id, tier }, ..request("") }
}

fn admitted(place: &Place, request: &CallerRequest<'_>) -> usize {
    (0..10).filter(|_| place.ask(request, NOW).is_admitted()).count()
}

#[test]
fn an_account_that_is_vouched_for_has_its_own_limits_and_its_own_bill() {
    let place = Place::new(PLANS);
    place.account("acme", "large");
    let asked = account("acme", Some("small"));
    let decision = place.ask(&asked, NOW);
    assert_eq!((answer(&decision).as_str(), decision.tier()), ("200", Some("large")));
    assert_eq!(admitted(&place, &asked), 4, "the rate of its own tier");
    let records = place.records();
    assert!(records.len() == 5 && records.iter().all(|record| record.account != 0 && record.key == 0));
    let route = CallerRequest { path: "/secret", ..account("acme", None) };
    assert_eq!(answer(&place.ask(&route, NOW)), "429 rate_limited", "no scope stands in its way");
}

#[test]
fn a_name_that_nobody_knows_has_the_limits_of_the_tier_it_comes_with() {
    let place = Place::new(PLANS);
    let (alice, bob) = (account("alice", Some("small")), account("bob", Some("small")));
    assert_eq!(admitted(&place, &alice), 2);
    assert_eq!(admitted(&place, &bob), 2);
    assert_eq!(answer(&place.ask(&account("alice", None), NOW)), "403 invalid_key");
    // A tier that is not there is the smallest.
    assert_eq!(place.ask(&account("carol", Some("nope")), NOW).tier(), Some("small"));
}

#[test]
fn nobody_gets_past_the_limits_by_being_vouched_for() {
    let place = Place::new(PLANS);
    place.account("ours", "internal");
    let headers = HeaderMap::new();
    let put =
        CallerRequest { credential: Credential::Tier { tier: "internal", headers: &headers }, ..request("") };
    for asked in [account("ours", None), account("else", Some("internal")), put] {
        assert_eq!(answer(&place.ask(&asked, NOW)), "403 invalid_key");
    }
}

#[test]
fn callers_without_a_key_can_be_put_into_a_tier_and_stay_there_after_a_crash() {
    let place = Place::new(PLANS);
    let headers = HeaderMap::new();
    let address = Some("192.0.2.1".parse().unwrap());
    let credential = Credential::Tier { tier: "large", headers: &headers };
    let asked = CallerRequest { credential, address, ..request("") };
    let decision = place.ask(&costing(asked, 3), NOW);
    assert_eq!((answer(&decision).as_str(), decision.tier()), ("200", Some("large")));
    let place = place.crash(PLANS);
    let decision = place.ask(&asked, NOW);
    let used: Vec<u64> = decision.limits.iter().map(|limit| limit.used).collect();
    assert_eq!(used, [4, 4], "the rate and the quota of the tier it was put into");
}

#[test]
fn what_is_given_back_is_on_no_bill_and_never_more_than_was_used() {
    let place = Place::new(PLANS);
    let caller = place.caller("large");
    let asked = request(&caller.key);
    assert!(place.ask(&costing(asked, 4), NOW).is_admitted());
    let back = |cost| wait(place.engine.give_back(&costing(asked, cost), "test", NOW)).unwrap();
    assert_eq!((back(3), place.ledger_total()), (3, 1));
    assert_eq!((back(3), place.ledger_total()), (1, 0));
    assert_eq!((back(3), place.ledger_total()), (0, 0));
    assert_eq!(
        place.get(&caller, "/", NOW).limits.iter().map(|limit| limit.used).collect::<Vec<_>>(),
        [1, 1]
    );
    assert_eq!(wait(place.engine.give_back(&costing(request("nobody"), 3), "test", NOW)).unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_knows_an_account_by_its_id() {
    let redis = RedisServer::new(Kind::Redis);
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let plans = "tiers: {metered: {rate: 5}}";
    let node = shared_place::node(plans, &redis.url(), Duration::from_secs(10), &dirs[0]).await;
    shared_place::customer(&node).await;
    let other = shared_place::node(plans, &redis.url(), Duration::from_secs(10), &dirs[1]).await;
    let named = other.decided(&account("acme", None), other.now()).await;
    assert_eq!((answer(&named).as_str(), named.tier()), ("200", Some("metered")));
    let stranger = other.decided(&account("nobody", None), other.now()).await;
    assert_eq!(answer(&stranger), "403 invalid_key");
}

#[test]
fn a_flood_of_names_that_are_vouched_for_changes_nothing_for_accounts_and_clients() {
    let text = format!("identity: {{anonymous: small}}\n{PLANS}");
    let place = Place::with_clients(&text, 1_280);
    let engine = &place.engine;
    place.account("acme", "small");
    let headers = HeaderMap::new();
    let client = CallerRequest { credential: Credential::Nothing { headers: &headers }, ..request("") };
    assert!(place.ask(&account("acme", None), NOW).is_admitted());
    assert!(place.ask(&client, NOW).is_admitted());
    for number in 0..10_000 {
        // Nobody is refused because there are so many.
        let name = format!("name {number}");
        let asked = account(&name, Some("small"));
        assert_eq!([(); 2].map(|()| answer(&place.ask(&asked, NOW))), ["200", "200"], "{name}");
    }
    let asked = engine.homes_of(SubjectClass::Asked);
    assert!((640..=1_280).contains(&asked), "{asked}");
    assert_eq!(engine.homes_of(SubjectClass::Client), 1);
    for expected in ["200", "429 rate_limited"] {
        assert_eq!(answer(&place.ask(&account("acme", None), NOW)), expected);
        assert_eq!(answer(&place.ask(&client, NOW)), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_are_vouched_for_share_homes_in_a_shared_store_beyond_the_cap() {
    let redis = RedisServer::new(Kind::Redis);
    let dir = tempfile::tempdir().unwrap();
    let plans = "tiers: {metered: {limits: {daily: {algorithm: fixed_window, limit: 2/day}}}}";
    let deadline = Duration::from_secs(10);
    let node = shared_place::node_with_clients(plans, &redis.url(), deadline, &dir, 128).await;
    for number in 0..600 {
        let name = format!("name {number}");
        let asked = account(&name, Some("metered"));
        for turn in 0..2 {
            let decision = node.decided(&asked, node.now()).await;
            assert_eq!(answer(&decision), "200", "{name}, turn {turn}");
        }
    }
    let own = node.homes_of(SubjectClass::Asked);
    assert!((64..=128).contains(&own), "{own}");
    let crowded = node.counters().crowded.load(Ordering::Relaxed);
    assert_eq!(crowded, 2 * (600 - u64::try_from(own).unwrap()));
    // The first has a meter of its own.
    let asked = account("name 0", Some("metered"));
    assert_eq!(answer(&node.decided(&asked, node.now()).await), "429 rate_limited");
}

#[test]
fn tiers_that_share_a_home_beyond_the_bound_do_not_share_their_meters() {
    // Without a quota, whose records would have to wait for the disk.
    let place = Place::with_clients("tiers: {small: {rate: 2}, large: {rate: 5}}", 1);
    for number in 0..20_000 {
        let name = format!("name {number}");
        let tier = if number % 2 == 0 { "large" } else { "small" };
        let fits = if number % 2 == 0 { 5 } else { 2 };
        let asked = account(&name, Some(tier));
        for turn in 0..fits {
            assert_eq!(answer(&place.ask(&asked, NOW)), "200", "{name}, turn {turn}");
        }
    }
}

#[test]
fn a_true_cost_below_the_reserved_one_never_refills_a_home_that_several_share() {
    let place = Place::with_clients(
        "tiers: {metered: {limits: {daily: {algorithm: fixed_window, limit: 10/day}}}}",
        1,
    );
    for number in 0..200 {
        assert!(place.ask(&account(&format!("name {number}"), Some("metered")), NOW).is_admitted());
    }
    let asked = CallerRequest { hold: Hold::Yes, ..account("hammer", Some("metered")) };
    let mut admitted = 0;
    for _ in 0..10_000 {
        let Some(permit) = place.ask(&asked, NOW).permit else { break };
        place.engine.finish(&permit, None, Some(0), NOW).unwrap();
        admitted += 1;
    }
    assert!(admitted < 10_000, "nothing was ever used up");
}
