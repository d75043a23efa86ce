//! Callers without a key, and callers who misbehave: the edge, pressure, reputation, blocks, and crowds.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, HeaderValue};
use sluicegate_core::policy::Bucket;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Answer, CallerRequest, Credential, Decision, Purpose};

use crate::place::{NOW, Place, answer, at, costing, header, nobody, request, wait};

fn agent(name: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("user-agent", HeaderValue::from_str(name).unwrap());
    headers
}

fn from<'r>(address: &str, headers: &'r HeaderMap) -> CallerRequest<'r> {
    CallerRequest { address: Some(address.parse().unwrap()), ..nobody(headers) }
}

fn retry_after(decision: &Decision) -> u64 {
    match &decision.answer {
        Answer::Denied(denial) => denial.retry_after.as_secs_ceil(),
        Answer::Admitted => 0,
    }
}

/// What the first limit of a decision is.
fn limit(decision: &Decision) -> u64 {
    decision.limits[0].limit
}

const THREE_A_DAY: &str = "
identity: {anonymous: free}
routes:
  convert: {match: \"POST /api/convert\"}
  upload: {match: \"POST /api/upload\"}
tiers:
  free:
    limits:
      conversions: {algorithm: sliding_window, limit: 3/day, routes: [convert], per: client}
      uploads: {algorithm: sliding_window, limit: 5/day, routes: [upload], per: client}
";

#[test]
fn five_requests_at_once_against_three_a_day_admit_three() {
    let place = Place::new(THREE_A_DAY);
    let (headers, admitted) = (agent("script"), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let convert = CallerRequest { method: "POST", path: "/api/convert", ..nobody(&headers) };
                let decision = place.engine.decide(&convert, NOW);
                admitted.fetch_add(usize::from(decision.is_admitted()), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(admitted.into_inner(), 3);
    // Uploads are counted apart, and so is somebody else behind the same address.
    let upload = CallerRequest { method: "POST", path: "/api/upload", ..nobody(&headers) };
    assert_eq!(answer(&place.ask(&upload, NOW)), "200");
    let other = agent("another browser");
    let convert = CallerRequest { method: "POST", path: "/api/convert", ..nobody(&other) };
    assert_eq!(answer(&place.ask(&convert, NOW)), "200");
}

const EDGE: &str = "
identity: {anonymous: free}
edge: {rate: 1, burst: 3}
tiers:
  free: {rate: 100, quota: 1_000}
";

#[test]
fn an_address_that_sends_too_much_is_refused_before_anybody_asks_who_it_is() {
    let place = Place::new(EDGE);
    let junk = |address: &str| CallerRequest {
        credential: Credential::Key("no key at all"),
        address: Some(address.parse().unwrap()),
        ..request("")
    };
    for _ in 0..3 {
        assert_eq!(answer(&place.ask(&junk("192.0.2.1"), NOW)), "403 invalid_key");
    }
    let refused = place.ask(&junk("192.0.2.1"), NOW);
    assert_eq!(answer(&refused), "429 rate_limited");
    assert_eq!(retry_after(&refused), 1);
    assert_eq!(place.engine.counters().edge_refused.load(Ordering::Relaxed), 1);
    // Another address is another matter, and so is the same one a second later.
    assert_eq!(answer(&place.ask(&junk("192.0.2.2"), NOW)), "403 invalid_key");
    assert_eq!(answer(&place.ask(&junk("192.0.2.1"), at(1))), "403 invalid_key");
    // Whoever holds a key comes from somewhere too.
    let caller = place.caller("free");
    let known = CallerRequest { address: Some("192.0.2.9".parse().unwrap()), ..request(&caller.key) };
    let answers: Vec<String> = (0..4).map(|_| answer(&place.ask(&known, NOW))).collect();
    assert_eq!(answers, ["200", "200", "200", "429 rate_limited"]);
}

#[test]
fn a_network_of_ipv6_sends_as_much_as_sixteen_addresses() {
    let place = Place::new(EDGE);
    let headers = HeaderMap::new();
    let passed = (0..100_u32)
        .filter(|subnet| place.ask(&from(&format!("2001:db8:0:{subnet:x}::1"), &headers), NOW).is_admitted())
        .count();
    assert_eq!(passed, 3 * 16);
}

const STANDING: &str = "
identity: {anonymous: free}
reputation: {penalty: 5, recover: 1/10m}
tiers:
  free: {limits: {hourly: {algorithm: fixed_window, limit: 100/hour}}}
";

#[test]
fn hammering_sinks_the_score_through_all_four_buckets_and_the_limits_follow() {
    let place = Place::new(STANDING);
    let headers = agent("hammer");
    let ask = |now| place.ask(&nobody(&headers), now);
    for _ in 0..100 {
        assert!(ask(NOW).is_admitted());
    }
    // 100 points, 5 for each refusal: the sixth refusal leaves 70, the eleventh 45, the sixteenth 20.
    let seen: Vec<(u64, Option<Bucket>)> = (0..17)
        .map(|_| ask(NOW))
        .inspect(|refused| assert_eq!(answer(refused), "429 rate_limited"))
        .map(|refused| (limit(&refused), refused.standing.reputation))
        .collect();
    assert_eq!(seen[0..6], [(100, Some(Bucket::Low)); 6]);
    assert_eq!(seen[6..11], [(60, Some(Bucket::Medium)); 5]);
    assert_eq!(seen[11..16], [(30, Some(Bucket::High)); 5]);
    assert_eq!(seen[16], (10, Some(Bucket::Critical)));
    // 15 points are left. In the next hour the limit is 10, and no more: 6 points come back in an hour.
    let next = at(3_600);
    let admitted = (0..20).filter(|_| ask(next).is_admitted()).count();
    assert_eq!(admitted, 10);
    assert_eq!(header(&ask(next), "RateLimit-Limit").as_deref(), Some("10"));
}

#[test]
fn recovery_takes_as_long_as_configured() {
    let place = Place::new(STANDING);
    let headers = agent("hammer");
    let ask = |now| place.ask(&nobody(&headers), now);
    (0..106).for_each(|_| drop(ask(NOW)));
    // 70 points: five more are missing, which takes 50 minutes.
    assert_eq!(ask(at(50 * 60 - 1)).standing.reputation, Some(Bucket::Medium));
    // That was one more refusal within the hour, so five points more; and not one nanosecond sooner.
    let whole = 100 * 60;
    assert_eq!(ask(at(whole - 1)).standing.reputation, Some(Bucket::Medium));
    assert_eq!(ask(at(whole)).standing.reputation, Some(Bucket::Low));
}

#[test]
fn what_is_held_against_a_caller_survives_a_crash_after_the_next_checkpoint() {
    let place = Place::new(STANDING);
    let headers = agent("hammer");
    (0..100).for_each(|_| drop(place.ask(&nobody(&headers), NOW)));
    place.engine.save(NOW).unwrap();
    // From here on there are only refusals, which leave no record.
    (0..7).for_each(|_| drop(place.ask(&nobody(&headers), NOW)));
    assert!(place.engine.save(NOW).is_ok());
    let after = place.crash(STANDING);
    assert_eq!(after.ask(&nobody(&headers), NOW).standing.reputation, Some(Bucket::Medium));
}

#[test]
fn limits_that_shrink_never_become_nothing_and_what_is_too_large_now_is_no_mistake() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 100}
tiers:
  free: {limits: {few: {algorithm: fixed_window, limit: 5/minute}}}
",
    );
    let headers = agent("hammer");
    (0..6).for_each(|_| drop(place.ask(&nobody(&headers), NOW)));
    // No points are left: a tenth of 5 is nothing, but one remains.
    let one = place.ask(&nobody(&headers), at(60));
    assert_eq!((answer(&one).as_str(), limit(&one)), ("200", 1));
    let large = place.ask(&costing(nobody(&headers), 2), at(120));
    assert_eq!(answer(&large), "429 rate_limited");
    // With 50 points it has 60 %, which are 3: at one point in ten minutes, of which two minutes are over.
    assert_eq!(retry_after(&large), 50 * 600 - 120);
    // What is larger than the limit itself stays a mistake.
    assert_eq!(answer(&place.ask(&costing(nobody(&headers), 6), at(120))), "400 cost_exceeds_limit");
}

const BLOCKS: &str = "
identity: {anonymous: free}
blocks: {after: 3, within: 1m, for: 1m, max: 3m}
tiers:
  free: {limits: {few: {algorithm: fixed_window, limit: 1/second}}}
";

/// Uses up the second, and is refused as often as it takes.
fn be_blocked(place: &Place, headers: &HeaderMap, now: Timestamp) -> Vec<(String, u64)> {
    assert!(place.ask(&nobody(headers), now).is_admitted());
    (0..4)
        .map(|_| place.ask(&nobody(headers), now))
        .map(|refused| (answer(&refused), retry_after(&refused)))
        .collect()
}

#[test]
fn whoever_is_refused_again_and_again_is_blocked_for_longer_each_time() {
    let place = Place::new(BLOCKS);
    let headers = agent("loop");
    let answers = be_blocked(&place, &headers, NOW);
    let of = |count: usize, error: &str, wait| vec![(error.to_owned(), wait); count];
    let first = [of(2, "429 rate_limited", 1), of(1, "429 rate_limited", 60), of(1, "429 blocked", 60)];
    assert_eq!(answers, first.concat());
    // Nobody else is, and peeking shows it without making it longer.
    assert!(place.ask(&nobody(&agent("somebody else")), NOW).is_admitted());
    assert_eq!(answer(&place.ask(&nobody(&headers), at(59))), "429 blocked");
    // It ends by itself. The second is twice as long, the third as long as a block may be.
    for (start, length) in [(120, 120), (360, 180), (660, 180)] {
        let answers = be_blocked(&place, &headers, at(start));
        assert_eq!(answers[2..], [of(1, "429 rate_limited", length), of(1, "429 blocked", length)].concat());
    }
}

#[test]
fn customers_are_not_blocked_unless_the_policy_says_so() {
    let place = Place::new(BLOCKS);
    let caller = place.caller("free");
    let answers: Vec<String> = (0..8).map(|_| answer(&place.get(&caller, "/", NOW))).collect();
    assert_eq!(answers[7], "429 rate_limited");
    let strict = Place::new(&BLOCKS.replace("after: 3", "applies_to: all, after: 3"));
    let (caller, other) = (strict.caller("free"), strict.key("acct-free", &[]));
    let answers: Vec<String> = (0..5).map(|_| answer(&strict.get(&caller, "/", NOW))).collect();
    assert_eq!(answers[4], "429 blocked");
    // The other key of the account has done nothing.
    assert_eq!(answer(&strict.get(&other, "/", at(1))), "200");
}

#[test]
fn looking_is_held_against_nobody() {
    let place = Place::new(BLOCKS);
    let headers = agent("loop");
    be_blocked(&place, &headers, NOW);
    // Its refusals are still counted when somebody lifts the block: one more, and it is back.
    let blocked = place.engine.blocks(None, NOW, 10);
    wait(place.engine.unblock(blocked[0].caller, NOW)).unwrap();
    let peek = CallerRequest { purpose: Purpose::Peek, ..nobody(&headers) };
    assert_eq!(answer(&place.ask(&peek, NOW)), "429 rate_limited");
    assert_eq!(place.engine.blocks_now(), 0);
    assert_eq!(answer(&place.ask(&nobody(&headers), NOW)), "429 rate_limited");
    assert_eq!(place.engine.blocks_now(), 1);
}

#[test]
fn our_own_services_are_never_blocked() {
    let place = Place::new(
        "identity: {service_token: \"header:X-Service-Token\"}\nblocks: {applies_to: all}\n\
         tiers: {ours: {bypass: true}}",
    );
    let ours = place.caller("ours");
    let account = wait(place.engine.directory().account("acct-ours")).unwrap().unwrap();
    let block = sluicegate_core::block::Block {
        caller: sluicegate_core::block::Caller::key(
            account.home,
            sluicegate_core::plan::Sharer::key(std::num::NonZeroU32::MIN),
        ),
        since: NOW,
        until: at(3_600),
        origin: sluicegate_core::block::Origin::Manual,
        reason: None,
    };
    wait(place.engine.block(block, NOW)).unwrap();
    let token = CallerRequest { credential: Credential::ServiceToken(&ours.key), ..request("") };
    assert_eq!(answer(&place.ask(&token, NOW)), "200");
}

const PRESSURE: &str = "
identity: {anonymous: free}
pressure: {fingerprints: 20, window: 10m, squeeze_to: 50%, for: 1h}
tiers:
  free: {limits: {hourly: {algorithm: fixed_window, limit: 10/hour}}}
";

#[test]
fn rotating_fingerprints_behind_one_address_squeezes_it_for_a_while() {
    let place = Place::new(PRESSURE);
    let ask = |name: usize, now| place.ask(&nobody(&agent(&format!("browser {name}"))), now);
    let household = (0..15).map(|name| ask(name, NOW)).filter(|decision| decision.standing.squeezed).count();
    assert_eq!(household, 0);
    let script: Vec<Decision> = (0..60).map(|name| ask(name, at(1))).collect();
    let last = script.last().unwrap();
    assert!(last.standing.squeezed);
    assert_eq!(limit(last), 5);
    // It slows down to what five clients may use of it, it does not block; and another address is not concerned.
    assert_eq!(answer(last), "429 rate_limited");
    assert_eq!(script.iter().filter(|decision| decision.is_admitted()).count(), 19 + 25);
    assert!(!place.ask(&from("198.51.100.7", &agent("browser 1")), at(1)).standing.squeezed);
    assert!(ask(3, at(3_600)).standing.squeezed);
    assert!(!ask(3, at(2 * 3_600)).standing.squeezed);
}

#[test]
fn looking_puts_no_pressure_on_an_address() {
    let place = Place::new(PRESSURE);
    for name in 0..100 {
        let headers = agent(&format!("browser {name}"));
        place.ask(&CallerRequest { purpose: Purpose::Peek, ..nobody(&headers) }, NOW);
    }
    assert_eq!(limit(&place.ask(&nobody(&agent("browser")), NOW)), 10);
}

#[test]
fn clients_beyond_the_number_share_meters_and_nobody_is_refused_for_that() {
    let text = "
identity: {anonymous: free}
tiers:
  free: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}
";
    let place = Place::with_clients(text, 100);
    let known = agent("known since long");
    assert!(place.ask(&nobody(&known), NOW).is_admitted());
    let address = |number: u32| IpAddr::from(number.to_be_bytes()).to_string();
    let refused = (0..5_000)
        .filter(|number| !place.ask(&from(&address(*number), &agent("newcomer")), NOW).is_admitted())
        .count();
    assert_eq!(refused, 0);
    assert!(place.engine.counters().crowded.load(Ordering::Relaxed) > 4_000);
    // Whoever was there before has its own meter still: two more, and then no more.
    let answers: Vec<String> = (0..3).map(|_| answer(&place.ask(&nobody(&known), NOW))).collect();
    assert_eq!(answers, ["200", "200", "429 rate_limited"]);
}

/// A house for one client, and a budget of one request for each: whoever comes is one of a crowd.
const CROWD: &str = "
identity: {anonymous: free}
pressure: off
tiers:
  free: {limits: {daily: {algorithm: fixed_window, limit: 1/day}}}
";

/// Strangers behind one address, each once; how many of them are refused.
fn refused_strangers(place: &Place, numbers: std::ops::Range<u32>) -> usize {
    let ask = |number| place.engine.decide(&nobody(&agent(&format!("stranger {number}"))), NOW);
    numbers.filter(|number| !ask(*number).is_admitted()).count()
}

#[test]
fn strangers_who_sit_down_at_once_are_not_refused_for_each_other() {
    let place = Place::with_clients(CROWD, 1);
    assert_eq!(refused_strangers(&place, 0..100), 0);
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 1..9 {
            let (place, refused) = (&place, &refused);
            scope.spawn(move || {
                let count = refused_strangers(place, thread * 1_000..thread * 1_000 + 300);
                refused.fetch_add(count, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(refused.into_inner(), 0);
}

#[test]
fn one_of_a_crowd_that_sends_much_is_limited() {
    let place = Place::with_clients(CROWD, 1);
    assert_eq!(refused_strangers(&place, 0..100), 0);
    let admitted = (0..2_000).filter(|_| refused_strangers(&place, 0..1) == 0).count();
    assert!(admitted <= 8 * 100, "{admitted} of one");
    assert_eq!(answer(&place.ask(&nobody(&agent("stranger 0")), NOW)), "429 rate_limited");
}

#[test]
fn strangers_are_not_refused_for_those_who_sat_there_before_a_restart() {
    let place = Place::with_clients(CROWD, 1);
    assert_eq!(refused_strangers(&place, 0..100), 0);
    let place = place.restart(CROWD);
    assert_eq!(refused_strangers(&place, 100..200), 0);
}

#[test]
fn many_threads_of_one_caller_lose_each_point_once() {
    let place = Place::new(STANDING);
    let headers = Arc::new(agent("hammer"));
    (0..100).for_each(|_| drop(place.ask(&nobody(&headers), NOW)));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| drop(place.engine.decide(&nobody(&headers), NOW)));
        }
    });
    // Eight refusals of five points: 60 are left.
    let buckets = (0..2).map(|_| place.ask(&nobody(&headers), NOW).standing.reputation);
    assert_eq!(buckets.collect::<Vec<_>>(), [Some(Bucket::Medium); 2]);
    // 50 now, and then 45.
    assert_eq!(place.ask(&nobody(&headers), NOW).standing.reputation, Some(Bucket::Medium));
    assert_eq!(place.ask(&nobody(&headers), NOW).standing.reputation, Some(Bucket::High));
}

#[test]
fn blocks_outlive_a_crash_and_so_does_how_long_the_last_one_was() {
    let place = Place::new(BLOCKS);
    let headers = agent("loop");
    be_blocked(&place, &headers, NOW);
    // Nothing but a moment: no checkpoint is made.
    let written = |place: &Place| place.crash(BLOCKS).engine.blocks_now() == 1;
    sluicegate_testkit::wait::until("the block is on disk", || written(&place).then_some(()));
    let after = place.crash(BLOCKS);
    assert_eq!(answer(&after.ask(&nobody(&headers), at(59))), "429 blocked");
    // Its end is what it was, and the next one is twice as long.
    let answers = be_blocked(&after, &headers, at(60));
    assert_eq!(answers[3], ("429 blocked".to_owned(), 120));
    let rested = after.restart(BLOCKS);
    assert_eq!(answer(&rested.ask(&nobody(&headers), at(179))), "429 blocked");
    assert_eq!(answer(&rested.ask(&nobody(&headers), at(180))), "200");
}

#[test]
fn what_an_administrator_did_is_on_disk_when_it_is_done() {
    let place = Place::new(BLOCKS);
    let caller = |home| sluicegate_core::block::Caller::client(sluicegate_core::plan::HomeId(home));
    let block = sluicegate_core::block::Block {
        caller: caller(7),
        since: NOW,
        until: at(3_600),
        origin: sluicegate_core::block::Origin::Manual,
        reason: None,
    };
    wait(place.engine.block(block.clone(), NOW)).unwrap();
    let after = place.crash(BLOCKS);
    assert_eq!(after.engine.blocks(None, NOW, 10), std::slice::from_ref(&block));
    assert_eq!(wait(after.engine.unblock(caller(7), NOW)).unwrap(), Some(block));
    assert_eq!(after.crash(BLOCKS).engine.blocks_now(), 0);
}

#[test]
fn being_refused_earns_nobody_more_than_its_limit() {
    let place = Place::new(
        "
identity: {anonymous: free}
reputation: {penalty: 5, recover: 1/10m}
tiers:
  free: {rate: 20/day, burst: 20}
",
    );
    let headers = agent("patient");
    // For a day it takes what it gets, and one refusal every ten minutes: again and again its limits shrink, and come
    // back.
    let asks = (0..144).map(|step| {
        let taken = (0..25).take_while(|_| place.ask(&nobody(&headers), at(step * 600)).is_admitted());
        taken.count()
    });
    let admitted: usize = asks.sum();
    assert!((20..=40).contains(&admitted), "{admitted} of 20 and 20 a day");
}
