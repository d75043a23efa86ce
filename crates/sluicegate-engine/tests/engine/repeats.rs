//! Requests with names: charged once within a day.

use sluicegate_engine::{CallerRequest, Finished, Front, Hold, Name, Permit};

use crate::place::{NOW, Place, answer, at, costing, request};

const PLANS: &str =
    "tiers: {free: {rate: 100, burst: 100, quota: 3, refund_on: 5xx}, other: {rate: 1, burst: 50}}";

fn named<'r>(key: &'r str, name: &'r str) -> CallerRequest<'r> {
    CallerRequest { idempotency_key: Some(Name::Given { text: name, query: None }), ..request(key) }
}

#[test]
fn a_repeat_is_not_charged_and_gets_the_same_decision_for_a_day() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let first = place.ask(&named(&caller.key, "order-7"), NOW);
    for second in [0, 5, 86_399] {
        let repeat = place.ask(&named(&caller.key, "order-7"), at(second));
        assert_eq!(answer(&repeat), "200");
        assert_eq!(repeat.id, first.id);
    }
    assert_eq!(place.ledger_total(), 1);
    assert_ne!(place.ask(&named(&caller.key, "order-7"), at(86_400)).id, first.id);
    assert_eq!(place.ledger_total(), 2);
}

#[test]
fn a_repeat_is_admitted_even_when_the_quota_is_spent_since() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    assert_eq!(answer(&place.ask(&named(&caller.key, "a"), NOW)), "200");
    for _ in 0..2 {
        assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
    }
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "402 quota_exceeded");
    assert_eq!(answer(&place.ask(&named(&caller.key, "a"), at(1))), "200");
    assert_eq!(answer(&place.ask(&named(&caller.key, "b"), at(1))), "402 quota_exceeded");
}

#[test]
fn one_name_is_no_way_around_the_rate_and_costs_no_quota() {
    let place = Place::new("tiers: {free: {rate: 1, burst: 3, quota: 100}}");
    let caller = place.caller("free");
    let first = place.ask(&named(&caller.key, "a"), NOW);
    for _ in 0..2 {
        assert_eq!(place.ask(&named(&caller.key, "a"), NOW).id, first.id);
    }
    let refused = place.ask(&named(&caller.key, "a"), NOW);
    assert_eq!(answer(&refused), "429 rate_limited");
    assert_ne!(refused.id, first.id, "a refusal is a decision of its own");
    assert_eq!(place.ask(&named(&caller.key, "a"), at(1)).id, first.id);
    assert_eq!(place.ledger_total(), 1);
    let used: Vec<u64> = first.limits.iter().map(|limit| limit.used).collect();
    assert_eq!(used, [1, 1]);
    let quota = place.get(&caller, "/", at(9)).limits.last().unwrap().used;
    assert_eq!(quota, 2);
}

#[test]
fn another_query_is_another_request() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let with = |query| CallerRequest {
        idempotency_key: Some(Name::Given { text: "a", query }),
        ..request(&caller.key)
    };
    assert_eq!(answer(&place.ask(&with(Some("b=1")), NOW)), "200");
    assert_eq!(answer(&place.ask(&with(Some("b=1")), NOW)), "200");
    for query in [Some("b=2"), Some(""), None] {
        assert_eq!(answer(&place.ask(&with(query), NOW)), "422 idempotency_conflict");
    }
    assert_eq!(place.ledger_total(), 1);
}

#[test]
fn what_is_no_name_is_refused_and_charges_nothing() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let request = CallerRequest { idempotency_key: Some(Name::Malformed), ..request(&caller.key) };
    assert_eq!(answer(&place.ask(&request, NOW)), "400 invalid_idempotency_key");
    assert_eq!(place.ledger_total(), 0);
}

#[test]
fn where_a_route_charges_repeats_names_say_nothing() {
    let place = Place::new(
        "tiers: {free: {rate: 100, burst: 100, quota: 9}}\nroutes: {dear: {match: /dear, repeats: charged}}",
    );
    let caller = place.caller("free");
    for name in
        [Name::Given { text: "a", query: None }, Name::Given { text: "a", query: None }, Name::Malformed]
    {
        let request = CallerRequest { path: "/dear", idempotency_key: Some(name), ..request(&caller.key) };
        assert_eq!(answer(&place.ask(&request, NOW)), "200");
    }
    assert_eq!(place.ledger_total(), 3);
}

#[test]
fn a_refusal_is_not_remembered() {
    let place = Place::new("tiers: {free: {rate: 1, burst: 1}}");
    let caller = place.caller("free");
    assert_eq!(answer(&place.get(&caller, "/", NOW)), "200");
    assert_eq!(answer(&place.ask(&named(&caller.key, "a"), NOW)), "429 rate_limited");
    assert_eq!(answer(&place.ask(&named(&caller.key, "a"), at(1))), "200");
}

#[test]
fn the_same_name_for_another_request_is_a_conflict_and_another_account_has_its_own_names() {
    let place = Place::new(PLANS);
    let (caller, other) = (place.caller("free"), place.caller("other"));
    assert_eq!(answer(&place.ask(&named(&caller.key, "a"), NOW)), "200");
    let different = CallerRequest { path: "/else", ..named(&caller.key, "a") };
    assert_eq!(answer(&place.ask(&different, NOW)), "422 idempotency_conflict");
    assert_eq!(answer(&place.ask(&CallerRequest { path: "/else", ..named(&other.key, "a") }, NOW)), "200");
    assert_eq!(place.ledger_total(), 2);
}

#[test]
fn a_charge_that_was_given_back_is_charged_again_by_its_repeat() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let permit = place.ask(&named(&caller.key, "a"), NOW).permit.unwrap();
    place.engine.finish(&permit, Some(500), None, at(1)).unwrap();
    assert_eq!(place.ledger_total(), 0);
    assert_eq!(answer(&place.ask(&named(&caller.key, "a"), at(2))), "200");
    assert_eq!(place.ledger_total(), 1);
}

#[test]
fn repeats_are_known_after_a_crash_before_and_after_a_checkpoint() {
    let place = Place::new(PLANS);
    let caller = place.caller("free");
    let first = place.ask(&named(&caller.key, "a"), NOW).id;
    place.engine.save(NOW).unwrap();
    let second = place.ask(&named(&caller.key, "b"), NOW).id;
    let place = place.crash(PLANS);
    assert_eq!(place.ask(&named(&caller.key, "a"), at(1)).id, first);
    assert_eq!(place.ask(&named(&caller.key, "b"), at(1)).id, second);
    assert_eq!(place.ledger_total(), 2);
}

#[test]
fn what_was_given_back_before_a_crash_is_charged_again_and_what_was_settled_is_not() {
    for saved in [false, true] {
        let place = Place::new(PLANS);
        let caller = place.caller("free");
        let hold = |name| CallerRequest { hold: Hold::Yes, ..costing(named(&caller.key, name), 2) };
        let failed = place.ask(&hold("failed"), NOW).permit.unwrap();
        place.engine.finish(&failed, Some(500), None, NOW).unwrap();
        let cheaper = place.ask(&hold("cheaper"), NOW);
        place.engine.finish(&cheaper.permit.unwrap(), Some(200), Some(1), NOW).unwrap();
        if saved {
            place.engine.save(NOW).unwrap();
        }
        let place = place.crash(PLANS);
        assert_eq!(place.ask(&hold("cheaper"), at(1)).id, cheaper.id, "saved: {saved}");
        assert_eq!(place.ledger_total(), 1);
        assert_eq!(answer(&place.ask(&hold("failed"), at(1))), "200");
        assert_eq!(place.ledger_total(), 3, "saved: {saved}");
    }
}

#[test]
fn of_many_repeats_at_once_one_is_charged() {
    let place = Place::new("tiers: {free: {rate: 1_000, burst: 1_000}}");
    let caller = place.caller("free");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for round in 0..50 {
                    let name = format!("order-{round}");
                    assert!(place.engine.decide(&named(&caller.key, &name), NOW).is_admitted());
                }
            });
        }
    });
    assert_eq!(place.ledger_total(), 50);
}

fn held<'r>(key: &'r str, name: &'r str) -> CallerRequest<'r> {
    CallerRequest { hold: Hold::Yes, ..costing(named(key, name), 4) }
}

#[test]
fn the_repeat_of_a_request_in_flight_has_its_permit_and_no_place_of_its_own() {
    let place = Place::new("tiers: {free: {rate: 100, burst: 100, concurrency: 2}}");
    let caller = place.caller("free");
    let keep = |secs| {
        let permit = place.ask(&held(&caller.key, "a"), at(secs)).permit.unwrap();
        place.engine.keep(permit, at(secs)).unwrap().text
    };
    let permits: Vec<String> = (0..5).map(keep).collect();
    // Whichever is finished first: it is the end of all of them.
    for (permit, cost) in permits.iter().rev().zip([6, 7, 0, 4, 9]) {
        let finished = place.engine.finish_kept_here(permit, None, Some(cost), at(5));
        assert_eq!(finished, Ok(Finished { reserved: 4, settled: 6 }));
    }
    assert_eq!(place.ledger_total(), 6);
    for _ in 0..2 {
        assert_eq!(answer(&place.get(&caller, "/", at(5))), "200");
    }
    assert_eq!(answer(&place.get(&caller, "/", at(5))), "429 concurrency_limited");
}

#[test]
fn the_end_of_a_repeat_settles_nothing() {
    let place = Place::new(PLANS.replace("quota: 3", "quota: 30").as_str());
    let caller = place.caller("free");
    let first = place.ask(&held(&caller.key, "a"), NOW).permit.unwrap();
    place.engine.finish(&first, Some(200), Some(6), at(1)).unwrap();
    for status in [200, 500] {
        let repeat = place.ask(&held(&caller.key, "a"), at(2)).permit.unwrap();
        let finished = place.engine.finish(&repeat, Some(status), Some(6), at(3)).unwrap();
        assert_eq!(finished, Finished { reserved: 0, settled: 0 });
    }
    assert_eq!(place.ledger_total(), 6);
}

/// A request with a name, as a caller sends it through the gateway.
fn through_gateway<'r>(key: &'r str, name: &'r str) -> CallerRequest<'r> {
    CallerRequest { front: Front::Gateway, method: "POST", ..named(key, name) }
}

const METERED: &str = "tiers: {free: {rate: 100, burst: 1_000, quota: 100}}";

#[test]
fn a_repeat_is_free_only_after_every_earlier_attempt_has_failed_and_five_times_at_most() {
    let place = Place::new(METERED);
    let caller = place.caller("free");
    let attempt = || place.ask(&through_gateway(&caller.key, "a"), NOW).permit.unwrap();
    let end = |permit: &Permit, status| place.engine.finish(permit, status, None, NOW).unwrap();
    let (first, second) = (attempt(), attempt());
    assert_eq!(place.ledger_total(), 2, "one is still in flight");
    end(&first, Some(502));
    let third = attempt();
    assert_eq!(place.ledger_total(), 3, "another one is");
    end(&second, Some(500));
    end(&third, Some(503));
    for _ in 0..5 {
        end(&attempt(), Some(500));
        assert_eq!(place.ledger_total(), 3);
    }
    end(&attempt(), Some(500));
    assert_eq!(place.ledger_total(), 4);
}

#[test]
fn a_repeat_of_what_was_answered_or_abandoned_is_charged() {
    for status in [Some(200), Some(404), Some(429), None] {
        let place = Place::new(METERED);
        let caller = place.caller("free");
        let attempt = || place.ask(&through_gateway(&caller.key, "a"), NOW).permit.unwrap();
        place.engine.finish(&attempt(), status, None, NOW).unwrap();
        place.engine.finish(&attempt(), Some(500), None, NOW).unwrap();
        drop(attempt());
        assert_eq!(place.ledger_total(), 3, "{status:?}");
    }
}

#[test]
fn how_an_attempt_ended_is_not_known_after_a_crash() {
    let place = Place::new(METERED);
    let caller = place.caller("free");
    let permit = place.ask(&through_gateway(&caller.key, "a"), NOW).permit.unwrap();
    place.engine.finish(&permit, Some(500), None, NOW).unwrap();
    let place = place.crash(METERED);
    assert_eq!(answer(&place.ask(&through_gateway(&caller.key, "a"), at(1))), "200");
    assert_eq!(place.ledger_total(), 2);
}

#[test]
fn a_route_whose_upstream_recognises_names_is_free_twenty_times() {
    let place = Place::new(
        "tiers: {free: {rate: 100, burst: 1_000, quota: 100}}\nroutes: {all: {match: /**, repeats: free}}",
    );
    let caller = place.caller("free");
    for (attempts, total) in [(1, 1), (20, 1), (1, 2), (3, 5)] {
        for _ in 0..attempts {
            assert_eq!(answer(&place.ask(&through_gateway(&caller.key, "a"), NOW)), "200");
        }
        assert_eq!(place.ledger_total(), total);
    }
}

#[test]
fn a_crash_makes_a_name_free_once_more_and_not_twenty_times() {
    const FREE: &str =
        "tiers: {free: {rate: 100, burst: 1_000, quota: 100}}\nroutes: {all: {match: /**, repeats: free}}";
    let mut place = Place::new(FREE);
    let caller = place.caller("free");
    // Charged once and free twenty times; then free once and charged four times after each crash.
    for (crash, (attempts, total)) in [(21, 1), (5, 5), (5, 9)].into_iter().enumerate() {
        for _ in 0..attempts {
            assert_eq!(answer(&place.ask(&through_gateway(&caller.key, "a"), NOW)), "200");
        }
        assert_eq!(place.ledger_total(), total, "after {crash} crashes");
        place.engine.save(NOW).unwrap();
        place = place.crash(FREE);
    }
}

#[test]
fn where_no_outcome_is_reported_a_header_makes_nothing_free() {
    for front in [Front::ForwardAuth, Front::ExtAuthz] {
        let place = Place::new(METERED);
        let caller = place.caller("free");
        for _ in 0..3 {
            let request = CallerRequest { front, ..through_gateway(&caller.key, "a") };
            assert_eq!(answer(&place.ask(&request, NOW)), "200");
        }
        assert_eq!(place.ledger_total(), 3);
    }
}

#[test]
fn names_are_per_key_where_quotas_are() {
    for (pool, total) in [("key", 2), ("account", 1)] {
        let place = Place::new(&format!("tiers: {{free: {{rate: 100, quota: 100, quota_pool: {pool}}}}}"));
        let caller = place.caller("free");
        let other = place.key("acct-free", &[]);
        for key in [&caller.key, &other.key] {
            assert_eq!(answer(&place.ask(&named(key, "a"), NOW)), "200");
        }
        assert_eq!(place.ledger_total(), total, "{pool}");
    }
}

#[test]
fn names_beyond_the_cap_of_an_account_leave_the_disk() {
    const CAP: i64 = 1 << 16;
    let place = Place::with_segments("tiers: {free: {quota: 10_000_000}}", 1 << 17);
    let caller = place.caller("free");
    for round in 0..2 {
        for number in 0..40_000 {
            let name = format!("{round}-{number}");
            assert_eq!(answer(&place.ask(&named(&caller.key, &name), NOW)), "200");
        }
        place.engine.save(NOW).unwrap();
    }
    let database = rusqlite::Connection::open(place.dir().join("sluicegate.db")).unwrap();
    let rows: i64 = database.query_row("SELECT count(*) FROM idempotency", [], |row| row.get(0)).unwrap();
    assert!(rows <= CAP, "{rows}");
    let last = place.ask(&named(&caller.key, "1-39999"), NOW);
    assert_eq!((answer(&last).as_str(), place.ledger_total()), ("200", 80_000), "the newest are still known");
}

#[test]
fn a_name_that_was_pushed_out_and_charged_again_is_known_after_a_crash() {
    const TIER: &str = "tiers: {free: {quota: 10_000_000}}";
    let place = Place::with_segments(TIER, 1 << 17);
    let caller = place.caller("free");
    let ask = |place: &Place, name: &str| {
        assert_eq!(answer(&place.ask(&named(&caller.key, name), NOW)), "200");
    };
    ask(&place, "kept");
    (0..80_000).for_each(|number| ask(&place, &number.to_string()));
    ask(&place, "kept");
    assert_eq!(place.ledger_total(), 80_002, "it was pushed out");
    place.engine.save(NOW).unwrap();
    let place = place.crash(TIER);
    ask(&place, "kept");
    assert_eq!(place.ledger_total(), 80_002, "and is known again");
}
