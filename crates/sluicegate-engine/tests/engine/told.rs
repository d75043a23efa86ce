//! What callers are told: waits that are long enough, and limits that are no larger than what was bought.

use http::HeaderMap;
use proptest::prelude::*;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{Answer, CallerRequest, Decision, Hold};

use crate::place::{NOW, Place, answer, at, costing, header, nobody, request};

/// How long a refused caller is told to wait.
fn told(decision: &Decision) -> Nanos {
    match &decision.answer {
        Answer::Denied(denial) => denial.retry_after,
        Answer::Admitted => Nanos::ZERO,
    }
}

#[test]
fn a_refusal_that_lowers_the_reputation_tells_the_wait_of_the_lower_level() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 30, recover: 1/10m}
tiers:
  free: {rate: 10, burst: 20}
",
    );
    let headers = HeaderMap::new();
    assert!(place.ask(&costing(nobody(&headers), 20), NOW).is_admitted());
    // 70 points are left: a burst of 12 from now on, of which 20 are used.
    let refused = place.ask(&nobody(&headers), NOW);
    assert_eq!(answer(&refused), "429 rate_limited");
    assert_eq!(told(&refused), Nanos(900_000_000), "9 of 20 have to come back, at 10 a second");
    assert!(place.ask(&nobody(&headers), NOW.plus(told(&refused))).is_admitted());
}

#[test]
fn what_is_too_large_for_now_waits_for_its_reputation_and_for_its_limit() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 100, recover: 1/s}
tiers:
  free: {rate: 10/hour, burst: 10}
",
    );
    let headers = HeaderMap::new();
    assert!(place.ask(&costing(nobody(&headers), 10), NOW).is_admitted());
    place.ask(&nobody(&headers), NOW);
    let large = place.ask(&costing(nobody(&headers), 8), NOW);
    assert_eq!(answer(&large), "429 rate_limited");
    let later = place.ask(&costing(nobody(&headers), 8), NOW.plus(told(&large)));
    assert_eq!(answer(&later), "200", "{:?}", told(&large));
}

#[test]
fn a_cost_that_fits_the_cap_of_overage_is_refused_for_now_and_not_for_good() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 100, recover: 1/s}
tiers:
  free:
    limits: {few: {algorithm: fixed_window, limit: 1/minute, routes: [few]}}
    quota: 10
    on_quota_exceeded: bill_overage
    overage_cap: 5
routes:
  few: {match: /few}
",
    );
    let headers = HeaderMap::new();
    let few = CallerRequest { path: "/few", ..nobody(&headers) };
    assert!(place.ask(&few, NOW).is_admitted());
    assert_eq!(answer(&place.ask(&few, NOW)), "429 rate_limited");
    // Of 10 and 5 more a tenth is left, at least 1 of each. All 15 are sold, of which 1 is used.
    let large = place.ask(&costing(nobody(&headers), 14), NOW);
    assert_ne!(answer(&large), "400 cost_exceeds_limit");
    assert_eq!(told(&large), Nanos::from_secs(75));
    assert_eq!(answer(&place.ask(&costing(nobody(&headers), 16), NOW)), "400 cost_exceeds_limit");
    assert_eq!(answer(&place.ask(&costing(nobody(&headers), 14), at(75))), "200");
    // The cap holds: 15 of 15 are used.
    assert_ne!(answer(&place.ask(&nobody(&headers), at(75))), "200");
}

#[test]
fn a_cost_that_another_limit_never_admits_is_not_told_to_wait() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 100, recover: 1/s}
tiers:
  free:
    rate: 10/hour
    limits: {small: {algorithm: fixed_window, limit: 5/minute}}
",
    );
    let headers = HeaderMap::new();
    (0..6).for_each(|_| drop(place.ask(&nobody(&headers), NOW)));
    let large = place.ask(&costing(nobody(&headers), 8), NOW);
    assert_eq!(answer(&large), "400 cost_exceeds_limit");
    let Answer::Denied(denial) = &large.answer else { panic!("denied") };
    assert_eq!(denial.limit.as_ref().unwrap().as_str(), "small");
}

#[test]
fn a_scaled_rate_is_shown_per_the_window_that_was_sold() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 30, recover: 1/10m}
pressure: {fingerprints: 5, window: 10m, squeeze_to: 50%, for: 1h}
tiers:
  free: {rate: 10, burst: 20}
",
    );
    let headers = HeaderMap::new();
    place.ask(&costing(nobody(&headers), 20), NOW);
    place.ask(&nobody(&headers), NOW);
    let medium = place.ask(&nobody(&headers), at(10));
    assert_eq!(medium.limits[0].limit, 6);
    assert_eq!(header(&medium, "RateLimit-Limit").as_deref(), Some("6"));
    assert_eq!(header(&medium, "X-RateLimit-Limit").as_deref(), Some("6"));
    assert_eq!(header(&medium, "RateLimit-Policy").as_deref(), Some("\"rate\";q=12;w=2"));
    // Other fingerprints behind the same address: from the fifth on, all share what has half the size for each.
    for name in 0..20 {
        let mut other = HeaderMap::new();
        other.insert("user-agent", format!("browser {name}").parse().unwrap());
        let squeezed = place.ask(&nobody(&other), at(10));
        let expected = if squeezed.standing.squeezed { 5 } else { 10 };
        assert_eq!(squeezed.limits[0].limit, expected, "{name}");
    }
    assert_eq!(place.ask(&nobody(&headers), at(11)).limits[0].limit, 5);
}

#[test]
fn those_who_share_meters_are_shown_no_more_than_one_of_them_may_use() {
    let text = "
identity: {anonymous: free}
pressure: off
tiers:
  free: {rate: 10, burst: 20, quota: 50}
";
    let place = Place::with_clients(text, 1);
    for number in 0..200 {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", format!("{number}").parse().unwrap());
        let decision = place.ask(&nobody(&headers), NOW);
        let shown: Vec<(u64, u64)> =
            decision.limits.iter().map(|limit| (limit.limit, limit.capacity)).collect();
        assert_eq!(shown, [(10, 20), (50, 50)], "{number}");
        assert!(decision.limits.iter().all(|limit| limit.remaining <= limit.capacity), "{number}");
    }
}

const SLOTS: &str = "tiers: {free: {concurrency: 2, quota: 1000}}";

#[test]
fn a_full_house_tells_how_long_requests_have_taken_lately() {
    let place = Place::new(SLOTS);
    let caller = place.caller("free");
    let hold = CallerRequest { hold: Hold::Yes, ..request(&caller.key) };
    let enter = |now: Timestamp| {
        let decision = place.ask(&hold, now);
        place.engine.keep(decision.permit.unwrap(), now).unwrap().text
    };
    let (first, second) = (enter(NOW), enter(NOW));
    let refused = place.ask(&hold, NOW);
    assert_eq!(answer(&refused), "429 concurrency_limited");
    assert_eq!(told(&refused), Nanos::from_secs(1), "nothing is known yet");
    assert_eq!(header(&refused, "Retry-After").as_deref(), Some("1"));
    let soon = NOW.plus(Nanos(300_000_000));
    for permit in [first, second] {
        place.engine.finish_kept_here(&permit, Some(200), None, soon).unwrap();
    }
    let held = [enter(soon), enter(soon)];
    let refused = place.ask(&hold, soon);
    assert_eq!(told(&refused), Nanos(300_000_000), "as long as each request took");
    // What takes longer and longer is known soon, and nobody waits longer than until the lease of a slot has passed.
    let mut now = soon;
    let mut held = held;
    for _ in 0..50 {
        now = now.plus(Nanos::from_secs(40));
        for permit in held {
            place.engine.finish_kept_here(&permit, Some(200), None, now).unwrap();
        }
        held = [enter(now), enter(now)];
    }
    let wait = told(&place.ask(&hold, now));
    assert!((39..=40).contains(&wait.as_secs_ceil()), "{wait:?}");
    let late = told(&place.ask(&hold, now.plus(Nanos::from_secs(55))));
    assert_eq!(late, Nanos::from_secs(5));
}

#[test]
fn a_full_house_does_not_hide_the_wait_of_another_limit() {
    let place = Place::new("tiers: {free: {rate: 1/minute, burst: 1, concurrency: 1}}");
    let caller = place.caller("free");
    let hold = CallerRequest { hold: Hold::Yes, ..request(&caller.key) };
    let decision = place.ask(&hold, NOW);
    let permit = place.engine.keep(decision.permit.unwrap(), NOW).unwrap().text;
    let refused = place.ask(&hold, NOW);
    assert_eq!(told(&refused), Nanos::from_secs(60));
    place.engine.finish_kept_here(&permit, Some(200), None, at(1)).unwrap();
    assert!(place.ask(&hold, at(60)).is_admitted());
}

/// A limit of some algorithm, as a policy has it.
fn limit() -> impl Strategy<Value = String> {
    let algorithm =
        prop::sample::select(vec!["fixed_window", "sliding_window", "sliding_log", "token_bucket"]);
    let window = prop::sample::select(vec!["2s", "minute", "hour"]);
    (algorithm, 1_u64..40, window).prop_map(|(algorithm, amount, window)| {
        format!("{{algorithm: {algorithm}, limit: {amount}/{window}}}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whoever_waits_as_long_as_it_is_told_is_admitted(
        limits in prop::collection::vec(limit(), 1..3),
        penalty in 1_u64..=100,
        recover in prop::sample::select(vec!["1/s", "7/m", "1/10m"]),
        asks in prop::collection::vec((1_u64..40, 0_u64..3_000_000_000), 1..60),
    ) {
        let named: Vec<String> =
            limits.iter().enumerate().map(|(number, limit)| format!("l{number}: {limit}")).collect();
        let policy = format!(
            "
identity: {{anonymous: free}}
reputation: {{penalty: {penalty}, recover: {recover}}}
tiers:
  free: {{limits: {{{}}}}}
",
            named.join(", ")
        );
        // Not every two limits make sense together.
        prop_assume!(sluicegate_core::file::read(policy.as_bytes()).is_ok());
        let place = Place::new(&policy);
        let headers = HeaderMap::new();
        let mut now = NOW;
        for (cost, pause) in asks {
            now = now.plus(Nanos(pause));
            let request = costing(nobody(&headers), cost);
            let first = place.ask(&request, now);
            if answer(&first) != "429 rate_limited" {
                continue;
            }
            prop_assert!(told(&first) > Nanos::ZERO);
            now = now.plus(told(&first));
            let second = place.ask(&request, now);
            prop_assert!(second.is_admitted(), "{cost} after {:?}: {:?}", told(&first), second.answer);
        }
    }
}
