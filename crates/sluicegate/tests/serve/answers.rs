//! Every outcome, through every face, as somebody last read it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::faces::{FACES, Knock};
use crate::golden;
use crate::shown::{all, shown};

/// Slow rates and long windows: nothing comes back while a test runs.
const POLICY: &str = "
tiers:
  plain: {rate: 60/hour, burst: 10, quota: 1_000, quota_window: sliding_day}
  narrow: {rate: 1/hour, burst: 1, quota: 1_000, quota_window: sliding_day}
  single: {rate: 60/hour, burst: 10, concurrency: 1}
  spent402: {quota: 1, quota_window: sliding_day}
  spent403: {quota: 1, quota_window: sliding_day, quota_status: 403}
  spent429: {quota: 1, quota_window: sliding_day, quota_status: 429}
  overage: {quota: 1, quota_window: calendar_day, on_quota_exceeded: bill_overage}
  internal: {bypass: true}
routes:
  guarded: {match: /guarded, scope: guarded:read}
  dear: {match: /dear, cost: 100}
";

/// What was done with the account's key before the request.
#[derive(Clone, Copy)]
enum Before {
    Nothing,
    /// One request was admitted.
    Used,
    /// One request is in flight.
    Held,
}

struct Case {
    name: &'static str,
    tier: &'static str,
    path: &'static str,
    before: Before,
}

const fn case(name: &'static str, tier: &'static str, path: &'static str, before: Before) -> Case {
    Case { name, tier, path, before }
}

const CASES: [Case; 10] = [
    case("admitted", "plain", "/hello?a=b", Before::Nothing),
    case("rate", "narrow", "/hello", Before::Used),
    case("concurrency", "single", "/hello", Before::Held),
    case("admitted-within-concurrency", "single", "/hello", Before::Nothing),
    case("quota-402", "spent402", "/hello", Before::Used),
    case("quota-403", "spent403", "/hello", Before::Used),
    case("quota-429", "spent429", "/hello", Before::Used),
    case("overage", "overage", "/hello", Before::Used),
    case("insufficient-scope", "plain", "/guarded", Before::Nothing),
    case("cost-exceeds-limit", "plain", "/dear", Before::Nothing),
];

#[test]
fn every_outcome_is_answered_as_its_golden_says() {
    let bed = Bed::start(POLICY);
    let mut wrong = Vec::new();
    for case in &CASES {
        let answers = FACES.map(|face| {
            // An account for each face: none of them sees what another has used.
            let account = format!("of-{}-{}", case.name, face as u8);
            let key = bed.customer(&account, case.tier);
            prepare(&bed, &key, case.before);
            let knock = Knock { keys: vec![key], path: case.path, cost: None };
            (face, shown(&face.ask(&bed, &knock), &account))
        });
        wrong.extend(golden::difference(&path(case.name), &all(answers)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn prepare(bed: &Bed, key: &str, before: Before) {
    let body = match before {
        Before::Nothing => return,
        Before::Used => json!({"key": key}),
        Before::Held => json!({"key": key, "hold": true}),
    };
    let answer = bed.check(&body).json();
    assert_eq!(answer["allowed"], true, "{answer}");
}

#[test]
fn callers_without_one_key_are_answered_as_their_goldens_say() {
    let bed = Bed::start(POLICY);
    let (one, other) = (bed.customer("one", "plain"), bed.customer("other", "plain"));
    let (service, missing) = (bed.customer("service", "internal"), Vec::new());
    let cases = [
        ("missing-key", missing),
        ("ambiguous-key", vec![one, other]),
        // Neither kind of credential is good in the place of the other.
        ("service-token-as-a-key", vec![service]),
    ];
    let mut wrong = Vec::new();
    for (name, keys) in cases {
        let answers = FACES.map(|face| {
            let knock = Knock { keys: keys.clone(), path: "/hello", cost: None };
            (face, shown(&face.ask(&bed, &knock), ""))
        });
        wrong.extend(golden::difference(&path(name), &all(answers)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_service_token_in_its_place_bypasses_every_limit() {
    let bed = Bed::start(POLICY);
    let (token, key) = (bed.customer("service", "internal"), bed.customer("acme", "plain"));
    for _ in 0..20 {
        let answer = bed.gateway(&Asked::get("/dear").header("X-Service-Token", &token));
        assert_eq!((answer.status, answer.header("ratelimit")), (200, None), "{answer:?}");
    }
    let answer = bed.check(&json!({"service_token": token})).json();
    assert_eq!((&answer["allowed"], &answer["limits"]), (&json!(true), &json!([])), "{answer}");
    // A leaked API key never becomes a bypass.
    assert_eq!(bed.gateway(&Asked::get("/").header("X-Service-Token", &key)).status, 403);
}

#[test]
fn nobody_learns_why_a_key_is_invalid() {
    let bed = Bed::start(POLICY);
    let invalid = invalid_keys(&bed);
    let answers = FACES.map(|face| {
        let ask = |key: &str| {
            let knock = Knock { keys: vec![key.to_owned()], path: "/hello", cost: None };
            shown(&face.ask(&bed, &knock), "")
        };
        let answers: BTreeSet<String> = invalid.iter().map(|(_, key)| ask(key)).collect();
        assert_eq!(answers.len(), 1, "{}: {answers:#?}", face.title());
        (face, ask(&invalid[0].1))
    });
    golden::check("answers/invalid-key.txt", &all(answers));
}

/// Keys that are invalid for every reason there is.
fn invalid_keys(bed: &Bed) -> Vec<(&'static str, String)> {
    bed.account("acme", "plain");
    let revoked = bed.key_with("acme", &json!({}));
    let revocation = Asked::new("DELETE", &format!("/admin/v1/keys/{}", revoked.id));
    assert_eq!(bed.admin(revocation).status, 204);

    let rotated = bed.key_with("acme", &json!({}));
    let rotation = bed.post(&format!("/admin/v1/keys/{}/rotate", rotated.id), &json!({"overlap": "0s"}));
    assert_eq!(rotation.status, 200, "{}", rotation.text());
    let fresh = rotation.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(bed.check(&json!({"key": fresh})).json()["allowed"], true);

    let made: Timestamp = rotated.created_at.parse().unwrap();
    let soon = made + SignedDuration::from_secs(3);
    let expired = bed.key_with("acme", &json!({"expires_at": soon.to_string()}));
    wait::until("the key expires", || {
        (bed.check(&json!({"key": expired.key, "peek": true})).json()["error"] == "invalid_key").then_some(())
    });

    // Well-formed, of a server that is not this one; and one whose account is gone.
    let elsewhere = Bed::start(POLICY).customer("acme", "plain");
    let orphan = bed.customer("gone", "plain");
    let deletion = Asked::new("DELETE", "/admin/v1/accounts/gone");
    assert_eq!(bed.admin(deletion).status, 204);
    vec![
        ("unknown", elsewhere),
        ("revoked", revoked.key),
        ("rotated out", rotated.key),
        ("expired", expired.key),
        ("of an account that is gone", orphan),
        ("no key at all", "hunter2".to_owned()),
    ]
}

#[test]
fn every_golden_answer_is_still_asked_for() {
    let mut names = golden::names(&golden::tests().join("golden/answers"), ".txt");
    CASES.iter().for_each(|case| assert!(names.remove(case.name), "{}", case.name));
    let others = ["missing-key", "ambiguous-key", "service-token-as-a-key", "invalid-key", "unavailable"];
    others.iter().for_each(|name| assert!(names.remove(*name), "{name}"));
    assert!(names.is_empty(), "{names:?}");
}

fn path(name: &str) -> std::path::PathBuf {
    golden::tests().join("golden/answers").join(format!("{name}.txt"))
}
