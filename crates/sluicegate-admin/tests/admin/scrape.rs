//! What Prometheus reads, when there are many callers, tiers and routes.

use std::fmt::Write as _;

use http::HeaderMap;
use sluicegate_core::rule::Amount;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Name, Purpose};

use crate::place::Place;

const MANY: usize = 200;
const CALLERS: usize = 100_000;
const SERIES_MAX: usize = 2_000;

/// Two hundred tiers and as many routes, each of which refuses in several ways.
fn policy() -> String {
    let mut text = String::from("tiers:\n");
    for number in 0..MANY {
        let own = format!("of-{number}: {{algorithm: fixed_window, limit: 2/hour}}");
        writeln!(text, "  tier-{number}: {{rate: 2, burst: 3, limits: {{{own}}}}}").unwrap();
    }
    text.push_str("routes:\n");
    for number in 0..MANY {
        writeln!(text, "  route-{number}: {{match: \"GET /{number}\"}}").unwrap();
        writeln!(text, "  closed-{number}: {{match: \"GET /closed/{number}\", scope: \"s:{number}\"}}")
            .unwrap();
    }
    text.push_str("identity: {anonymous: tier-0}\npressure: off\n");
    text
}

fn request<'r>(credential: Credential<'r>, path: &'r str) -> CallerRequest<'r> {
    CallerRequest {
        credential,
        address: Some([203, 0, 113, 9].into()),
        method: "GET",
        path,
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Gateway,
    }
}

/// What became of it, by the lines of a family.
fn total(text: &str, family: &str) -> u64 {
    let rows = text.lines().filter_map(|line| line.strip_prefix(family)).filter(|rest| rest.starts_with('{'));
    rows.map(|row| row.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
fn many_callers_tiers_and_routes_make_a_bounded_number_of_series() {
    let place = Place::with(&policy());
    let now = place.engine.now();
    let mut asked = 0;
    let mut ask = |request: &CallerRequest<'_>| {
        place.engine.decide(request, now);
        asked += 1;
    };
    for number in 0..MANY {
        let account = format!("account-{number}");
        place.account(&account, &format!("tier-{number}"));
        let (_, key) = place.key(&account);
        let (path, closed) = (format!("/{number}"), format!("/closed/{number}"));
        let plain = request(Credential::Key(&key), &path);
        (0..4).for_each(|_| ask(&plain));
        ask(&request(Credential::Key(&key), &closed));
        ask(&CallerRequest { cost: Amount::new(9), ..plain });
        ask(&CallerRequest { idempotency_key: Some(Name::Malformed), ..plain });
    }
    let mut headers = HeaderMap::new();
    for number in 0..CALLERS {
        headers.insert("user-agent", format!("agent {number}").parse().unwrap());
        let path = format!("/{}", number % (2 * MANY));
        ask(&request(Credential::Nothing { headers: &headers }, &path));
    }
    let text = place.get("/metrics").text;
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!((1_500..SERIES_MAX).contains(&series), "{series}");
    // Nothing is lost, and what came too late for a counter of its own is there.
    assert_eq!(total(&text, "sluicegate_decisions_total"), asked);
    assert_eq!(total(&text, "sluicegate_route_decisions_total"), asked);
    assert!(text.contains("sluicegate_route_decisions_total{route=\"other\",outcome="), "{text}");
    for caller in ["account-", "agent", "cl_", "203.0.113"] {
        assert!(!text.contains(caller), "{caller}");
    }
    assert_eq!(place.engine.homes(), CALLERS + MANY);
}

#[test]
fn negotiated_tiers_are_one_series_whatever_their_number() {
    let place = Place::new();
    for number in 0..5 {
        let account = format!("account-{number}");
        place.account(&account, "pro");
        let custom = serde_json::json!({"rate": number + 1});
        place.json("PUT", &format!("/admin/v1/accounts/{account}/custom"), &custom).expect(200);
        let (_, key) = place.key(&account);
        place.engine.decide(&request(Credential::Key(&key), "/"), place.engine.now());
    }
    let text = place.get("/metrics").text;
    let tiers: Vec<&str> =
        text.lines().filter(|line| line.starts_with("sluicegate_decisions_total{")).collect();
    assert_eq!(tiers, ["sluicegate_decisions_total{tier=\"custom\",outcome=\"admitted\"} 5"]);
}

#[test]
fn a_rejected_reload_shows_until_it_is_mended() {
    use sluicegate_node::RejectedPolicy;
    let place = Place::new();
    let ok = || place.get("/metrics").text.contains("\nsluicegate_policy_last_reload_ok 1\n");
    assert!(ok());
    let now = place.engine.now();
    place.reload.rejected(RejectedPolicy { at: now, count: 1, problems: "bad".into() });
    assert!(!ok());
    place.reload.loaded(place.reload.last().loaded);
    assert!(ok());
}
