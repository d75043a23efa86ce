//! Addresses under pressure: their callers without a session share one meter per limit.

use http::{HeaderMap, HeaderValue};
use sluicegate_core::policy::Bucket;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::identify::SessionId;
use sluicegate_engine::{Answer, CallerRequest, Credential, Decision, Hold, Purpose, problem};
use sluicegate_ledger::Flags;

use crate::place::{NOW, Place, answer, at, costing, header, nobody, policy};

/// No `pressure`: it is on, with its defaults.
const THREE_A_DAY: &str = "
identity: {anonymous: free}
tiers:
  free: {limits: {conversions: {algorithm: sliding_window, limit: 3/day, per: client}}}
";

/// The fingerprints that squeeze an address by default.
const THRESHOLD: usize = 20;
/// How many clients' worth its callers share by default.
const SHARE: usize = 5;

fn agent(name: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_str(name).unwrap());
    headers
}

fn ask(place: &Place, name: &str, now: Timestamp) -> Decision {
    place.ask(&nobody(&agent(name)), now)
}

/// How many requests of a script are admitted that has a new name for each.
fn script(place: &Place, names: std::ops::Range<usize>, now: Timestamp) -> usize {
    names.filter(|name| ask(place, &format!("script {name}"), now).is_admitted()).count()
}

/// Puts the address under pressure without using any limit: none may count `/free`.
fn squeeze(place: &Place, now: Timestamp) {
    for name in 0..THRESHOLD {
        let headers = agent(&format!("visitor {name}"));
        place.ask(&CallerRequest { path: "/free", ..nobody(&headers) }, now);
    }
}

fn retry_after(decision: &Decision) -> Nanos {
    match &decision.answer {
        Answer::Denied(denial) => denial.retry_after,
        Answer::Admitted => Nanos::ZERO,
    }
}

#[test]
fn a_script_with_a_new_user_agent_each_time_gets_the_threshold_and_share_limits() {
    let place = Place::new(THREE_A_DAY);
    // Half of three is one for each client.
    assert_eq!(script(&place, 0..1_000, NOW), THRESHOLD - 1 + SHARE);
    // Nor do pauses help, nor names that were used before: the meters count for a day, and so do those of the names.
    assert_eq!(script(&place, 1_000..1_100, at(1_800)), 0);
    let open = Place::new(&format!("{THREE_A_DAY}pressure: off\n"));
    assert_eq!(script(&open, 0..1_000, NOW), 1_000);
}

#[test]
fn a_nat_of_fifteen_households_notices_nothing() {
    let place = Place::new(THREE_A_DAY);
    for round in 0..4 {
        for household in 0..15 {
            let decision = ask(&place, &format!("household {household}"), at(round));
            assert_eq!(decision.is_admitted(), round < 3);
            assert_eq!((decision.standing.squeezed, decision.limits[0].limit), (false, 3));
        }
    }
}

#[test]
fn a_school_of_two_hundred_with_sessions_has_two_hundred_limits() {
    let place = Place::new(THREE_A_DAY);
    let pupils: Vec<HeaderMap> = (0..200)
        .map(|pupil| {
            let mut headers = agent(&format!("browser {pupil}"));
            let session = place.engine.sessions().sign(SessionId::random().unwrap(), at(30 * 86_400));
            headers.insert("cookie", HeaderValue::from_str(&format!("sg_session={session}")).unwrap());
            headers
        })
        .collect();
    for round in 0..4 {
        for pupil in &pupils {
            let decision = place.ask(&nobody(pupil), NOW);
            assert_eq!(decision.is_admitted(), round < 3);
            assert!(!decision.standing.squeezed);
        }
    }
    // They put no pressure on a visitor either. Once others have, they have what they had.
    assert!(!ask(&place, "visitor", NOW).standing.squeezed);
    assert_eq!(script(&place, 0..100, NOW), THRESHOLD - 2 + SHARE);
    let fresh = pupils.iter().map(|pupil| place.ask(&nobody(pupil), at(2 * 86_400)));
    assert_eq!(fresh.filter(Decision::is_admitted).count(), 200);
}

const WATCHED: &str = "
identity: {anonymous: free}
reputation: {penalty: 5, recover: 1/10m}
blocks: {after: 3, within: 1m, for: 1m}
tiers:
  free: {limits: {hourly: {algorithm: fixed_window, limit: 10/hour}}}
";

#[test]
fn a_refusal_by_the_shared_meter_costs_no_reputation_and_leads_to_no_block() {
    let place = Place::new(WATCHED);
    script(&place, 0..100, NOW);
    for _ in 0..50 {
        let refused = ask(&place, "bystander", at(1));
        assert_eq!(answer(&refused), "429 rate_limited");
        let Answer::Denied(denial) = &refused.answer else { panic!("denied") };
        let body = problem::of_denial(&refused, denial);
        assert!(body.contains("a session or an API key has limits of its own"), "{body}");
    }
    assert_eq!(place.engine.blocks_now(), 0);
    let after = ask(&place, "bystander", at(7_200));
    assert_eq!((after.standing.reputation, after.limits[0].limit), (Some(Bucket::Low), 10));
    // The same number of refusals by its own meter blocks it.
    for _ in 0..12 {
        ask(&place, "bystander", at(7_200));
    }
    assert_eq!(place.engine.blocks_now(), 1);
}

#[test]
fn own_meters_are_left_alone_while_the_pressure_lasts() {
    let place = Place::new(THREE_A_DAY);
    assert!(ask(&place, "resident", NOW).is_admitted());
    assert!(ask(&place, "resident", NOW).is_admitted());
    script(&place, 0..19, NOW);
    // What is shared is one client's part to each, and what is left of it.
    let shared = ask(&place, "resident", NOW);
    assert!(shared.is_admitted() && shared.standing.squeezed);
    let shown = ["RateLimit-Limit", "RateLimit-Remaining"].map(|name| header(&shared, name).unwrap());
    assert_eq!(shown, ["1", "1"]);
    while ask(&place, "resident", NOW).is_admitted() {}
    let refused = ask(&place, "resident", NOW);
    assert_eq!(header(&refused, "RateLimit-Remaining").unwrap(), "0");
    // The pressure is over: two of three were used.
    let own = ask(&place, "resident", at(3_601));
    assert!(own.is_admitted() && !own.standing.squeezed);
    assert!(!ask(&place, "resident", at(3_601)).is_admitted());
}

#[test]
fn the_shared_meter_remembers_what_was_used_when_the_pressure_comes_again() {
    let place = Place::new(THREE_A_DAY);
    assert_eq!(script(&place, 0..100, NOW), THRESHOLD - 1 + SHARE);
    assert!(!ask(&place, "resident", at(7_200)).standing.squeezed);
    assert_eq!(script(&place, 100..200, at(7_200)), THRESHOLD - 2);
}

#[test]
fn what_was_used_of_the_shared_meter_survives_a_crash() {
    let place = Place::new(THREE_A_DAY);
    assert_eq!(script(&place, 0..100, NOW), THRESHOLD - 1 + SHARE);
    let shared = place.records().iter().filter(|record| record.flags.contains(Flags::PREFIX)).count();
    assert_eq!(shared, SHARE);
    let after = place.crash(THREE_A_DAY);
    assert_eq!(script(&after, 100..200, NOW), THRESHOLD - 1);
}

#[test]
fn a_reload_switches_pressure_off_and_changes_what_is_shared_at_once() {
    let place = Place::new(THREE_A_DAY);
    script(&place, 0..100, NOW);
    assert!(!ask(&place, "resident", NOW).is_admitted());
    place.engine.reload(policy(&format!("{THREE_A_DAY}pressure: {{share: 7}}\n"))).unwrap();
    assert_eq!(script(&place, 100..200, NOW), 2, "five of seven were used");
    place.engine.reload(policy(&format!("{THREE_A_DAY}pressure: off\n"))).unwrap();
    let open = ask(&place, "resident", NOW);
    assert!(open.is_admitted() && !open.standing.squeezed);
    place.engine.reload(policy(THREE_A_DAY)).unwrap();
    let again = ask(&place, "resident", NOW);
    assert!(!again.is_admitted() && again.standing.squeezed);
}

const ALL_KINDS: &str = "
identity: {anonymous: free}
pressure: {squeeze_to: 50%, share: 3}
routes:
  rate: {match: GET /rate}
  fixed: {match: GET /fixed}
  sliding: {match: GET /sliding}
  buckets: {match: GET /buckets}
  log: {match: GET /log}
  quota: {match: GET /quota}
  busy: {match: GET /busy}
tiers:
  free:
    limits:
      pace: {algorithm: token_bucket, limit: 4/hour, burst: 8, routes: [rate]}
      fixed: {algorithm: fixed_window, limit: 5/hour, routes: [fixed]}
      sliding: {algorithm: sliding_window, limit: 4/hour, routes: [sliding]}
      buckets: {algorithm: sliding_buckets, limit: 4/hour, routes: [buckets]}
      log: {algorithm: sliding_log, limit: 4/hour, routes: [log]}
      sold: {algorithm: fixed_window, axis: quota, limit: 6/day, routes: [quota]}
      busy: {algorithm: concurrency, limit: 4, routes: [busy]}
";

#[test]
fn every_algorithm_shares_that_many_clients_worth_and_says_how_long_to_wait() {
    for (path, shared) in [
        ("/rate", 12),
        ("/fixed", 6),
        ("/sliding", 6),
        ("/buckets", 6),
        ("/log", 6),
        ("/quota", 9),
        ("/busy", 6),
    ] {
        let place = Place::new(ALL_KINDS);
        squeeze(&place, NOW);
        let one = |number: usize, now| {
            let headers = agent(&format!("caller {number}"));
            place.ask(&CallerRequest { path, hold: Hold::Yes, ..nobody(&headers) }, now)
        };
        let admitted = (0..100).take_while(|number| one(*number, at(1)).is_admitted()).count();
        assert_eq!(admitted, shared, "{path}");
        let refused = one(100, at(1));
        assert!(refused.standing.squeezed, "{path}");
        let wait = retry_after(&refused);
        assert!(wait > Nanos::ZERO, "{path}");
        if path != "/busy" {
            assert!(one(101, at(1).plus(wait)).is_admitted(), "{path} after {wait:?}");
        }
    }
}

#[test]
fn the_wait_is_long_enough_when_the_pressure_ends_before_the_shared_meter_has_room() {
    let place = Place::new(THREE_A_DAY);
    for _ in 0..3 {
        assert!(ask(&place, "resident", NOW).is_admitted());
    }
    assert!(ask(&place, "guest", NOW).is_admitted());
    script(&place, 0..100, NOW);
    for name in ["resident", "guest"] {
        let refused = ask(&place, name, at(1));
        let wait = retry_after(&refused);
        assert!(ask(&place, name, at(1).plus(wait)).is_admitted(), "{name} after {wait:?}");
    }
    // The pressure ends after an hour, and the guest has used one of three.
    let place = Place::new(THREE_A_DAY);
    ask(&place, "guest", NOW);
    script(&place, 0..100, NOW);
    assert!(retry_after(&ask(&place, "guest", at(1))) <= Nanos::from_secs(3_602));
}

#[test]
fn what_is_larger_than_the_shared_limit_fits_once_the_pressure_is_over() {
    let text = "
identity: {anonymous: free}
pressure: {squeeze_to: 10%, share: 2}
routes: {heavy: {match: GET /heavy}}
tiers:
  free: {limits: {heavy: {algorithm: fixed_window, limit: 50/hour, routes: [heavy]}}}
";
    let place = Place::new(text);
    squeeze(&place, NOW);
    let headers = agent("resident");
    let heavy =
        |cost, now| place.ask(&costing(CallerRequest { path: "/heavy", ..nobody(&headers) }, cost), now);
    let refused = heavy(20, at(1));
    assert_eq!(answer(&refused), "429 rate_limited");
    assert!(heavy(20, at(1).plus(retry_after(&refused))).is_admitted());
    assert_eq!(answer(&heavy(51, at(1))), "400 cost_exceeds_limit");
}

#[test]
fn a_true_cost_is_settled_with_the_shared_meter() {
    let text = "
identity: {anonymous: free}
pressure: {share: 3}
routes: {heavy: {match: GET /heavy}}
tiers:
  free:
    limits:
      pace: {algorithm: token_bucket, limit: 20/day, burst: 20, routes: [heavy]}
      units: {algorithm: fixed_window, axis: quota, limit: 20/day, routes: [heavy]}
";
    let place = Place::new(text);
    squeeze(&place, NOW);
    let headers = agent("resident");
    let heavy = |cost, purpose| {
        let request = CallerRequest { path: "/heavy", purpose, hold: Hold::Yes, ..nobody(&headers) };
        place.ask(&costing(request, cost), NOW)
    };
    let left = || heavy(1, Purpose::Peek).limits.iter().map(|limit| limit.remaining).collect::<Vec<_>>();
    // Thirty are shared. One client's part is shown, which is ten.
    let permit = heavy(10, Purpose::Charge).permit.unwrap();
    place.engine.finish(&permit, Some(200), Some(25), NOW).unwrap();
    assert_eq!(left(), [5, 5]);
    let held = heavy(5, Purpose::Charge).permit.unwrap();
    assert_eq!(left(), [0, 0]);
    let kept = place.engine.keep(held, NOW).unwrap();
    place.engine.finish_kept_here(&kept.text, Some(200), Some(2), NOW).unwrap();
    assert_eq!(left(), [3, 3]);
}

#[test]
fn prefixes_beyond_the_number_of_clients_share_overflow_buckets() {
    let place = Place::with_clients(THREE_A_DAY, 100);
    let headers = agent("browser");
    for number in 0..200 {
        let address = Some(format!("198.51.100.{number}").parse().unwrap());
        assert!(place.ask(&CallerRequest { address, ..nobody(&headers) }, NOW).is_admitted());
    }
    let homes = place.engine.homes();
    assert_eq!(script(&place, 0..1_000, NOW), THRESHOLD - 1 + SHARE);
    // One for those who came before the pressure, and one for the address.
    assert_eq!(place.engine.homes() - homes, 2);
}

#[test]
fn a_caller_in_another_tier_has_another_shared_meter() {
    let text = "
identity: {anonymous: free}
tiers:
  free: {limits: {daily: {algorithm: fixed_window, limit: 2/day}}}
  trial: {limits: {daily: {algorithm: fixed_window, limit: 20/day}}}
";
    let place = Place::new(text);
    assert_eq!(script(&place, 0..100, NOW), THRESHOLD - 1 + SHARE);
    let headers = agent("script 1");
    let trial = CallerRequest {
        credential: Credential::Tier { tier: "trial", headers: &headers },
        ..nobody(&headers)
    };
    assert_eq!((0..100).filter(|_| place.ask(&trial, NOW).is_admitted()).count(), 10 * SHARE);
}

#[test]
fn the_prefix_of_an_address_goes_into_the_id_of_a_client() {
    let from = |place: &Place, address: &str| {
        let headers = agent("browser");
        let request = CallerRequest { address: Some(address.parse().unwrap()), ..nobody(&headers) };
        place.ask(&request, NOW).limits[0].used
    };
    let whole = Place::new(THREE_A_DAY);
    assert_eq!([from(&whole, "192.0.2.1"), from(&whole, "192.0.2.2")], [1, 1]);
    assert_eq!([from(&whole, "2001:db8::1"), from(&whole, "2001:db8::2")], [1, 2]);
    assert_eq!(from(&whole, "2001:db8:0:1::1"), 1);
    let text = THREE_A_DAY.replace("anonymous: free", "anonymous: free, address: {v4: 24, v6: 48}");
    let subnet = Place::new(&text);
    assert_eq!(
        [from(&subnet, "192.0.2.1"), from(&subnet, "192.0.2.254"), from(&subnet, "192.0.3.1")],
        [1, 2, 1]
    );
    let networks = ["2001:db8::1", "2001:db8:0:ffff::1", "2001:db8:1::1"];
    assert_eq!(networks.map(|address| from(&subnet, address)), [1, 2, 1]);
    assert_eq!(from(&subnet, "::ffff:192.0.2.7"), 3);
    // Pressure counts by the whole address all the same.
    assert_eq!(script(&subnet, 0..100, NOW), THRESHOLD - 2 + SHARE);
    let headers = agent("neighbour");
    let neighbour = CallerRequest { address: Some("192.0.2.99".parse().unwrap()), ..nobody(&headers) };
    assert!(!subnet.ask(&neighbour, NOW).standing.squeezed);
}
