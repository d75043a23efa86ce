//! The policy: what is in force, and whether another could be.

use serde_json::{Value, json};
use sluicegate_core::file;
use sluicegate_node::{LoadedPolicy, RejectedPolicy};

use crate::golden;
use crate::place::{NOW, POLICY, Place, Reply};

fn validate(place: &Place, text: &str) -> Reply {
    place.text("POST", "/admin/v1/policy/validate", "application/yaml", text.to_owned())
}

#[test]
fn tiers_are_shown_with_their_resolved_limits_and_bounds() {
    let tiers = Place::new().get("/admin/v1/tiers");
    tiers.expect(200);
    golden::check_json("tiers.json", &tiers.text);
}

#[test]
fn the_policy_in_force_is_shown_as_it_was_written() {
    let place = Place::new();
    let shown = place.get("/admin/v1/policy").expect(200);
    assert_eq!((&shown["text"], &shown["path"]), (&json!(POLICY), &json!("policy.yaml")));
    assert_eq!((&shown["version"], &shown["rejected"]), (&json!(1), &Value::Null));
    assert_eq!(shown["loaded_at"], "2026-10-05T12:00:00.000Z");
}

#[test]
fn a_rejected_reload_is_shown_until_the_next_good_one() {
    let place = Place::new();
    let text = "tiers: {free: {rtae: 10}}";
    let problems = file::read(text.as_bytes()).unwrap_err();
    let rendered = file::render(&problems, "policy.yaml", text);
    let rejected = RejectedPolicy { at: NOW, count: problems.len(), problems: rendered.as_str().into() };
    place.reload.rejected(rejected);
    let shown = place.get("/admin/v1/policy").expect(200);
    assert_eq!(shown["rejected"], json!({"at": "2026-10-05T12:00:00.000Z", "problems": rendered}));
    assert_eq!((&shown["text"], &shown["before"]), (&json!(POLICY), &Value::Null));
    let health = place.get("/health");
    assert_eq!(health.expect(200)["policy"]["rejected"]["problems"], problems.len());
    assert!(!health.text.contains("rtae"), "anybody may ask: {}", health.text);
    let metrics = place.get("/metrics").text;
    assert!(metrics.contains("\nsluicegate_reload_rejected_total 1\n"), "{metrics}");
    let text = "tiers: {free: {rate: 10}}";
    let version = place.engine.reload(file::read(text.as_bytes()).unwrap().policy).unwrap().version();
    place.reload.loaded(LoadedPolicy { version, path: None, text: text.into(), at: NOW });
    let shown = place.get("/admin/v1/policy").expect(200);
    assert_eq!((&shown["version"], &shown["rejected"]), (&json!(2), &Value::Null));
    let before = json!({"version": 1, "loaded_at": "2026-10-05T12:00:00.000Z", "text": POLICY});
    assert_eq!(shown["before"], before);
    assert_eq!(place.get("/health").expect(200)["policy"], json!({"version": 2, "rejected": null}));
}

#[test]
fn a_valid_policy_is_valid_and_changes_nothing() {
    let place = Place::new();
    assert_eq!(validate(&place, POLICY).expect(200), json!({"valid": true, "problems": []}));
    let other = "tiers: {gold: {rate: 1}}";
    assert_eq!(validate(&place, other).expect(200)["valid"], true);
    place.account("acme", "pro");
    for kind in ["text/yaml", "application/x-yaml", "text/plain; charset=utf-8"] {
        let checked = place.text("POST", "/admin/v1/policy/validate", kind, other);
        assert_eq!(checked.expect(200)["valid"], true);
    }
}

#[test]
fn every_problem_of_a_policy_is_listed() {
    let checked = validate(&Place::new(), "tiers:\n  free: {rtae: 10}\n  pro: {quota: many}\n");
    checked.expect(200);
    golden::check_json("validation.json", &checked.text);
}

#[test]
fn a_policy_that_breaks_negotiated_limits_is_not_valid() {
    let place = Place::new();
    place.account("acme", "free");
    let custom =
        json!({"limits": {"s": {"algorithm": "fixed_window", "limit": "9/hour", "routes": ["search"]}}});
    place.json("PUT", "/admin/v1/accounts/acme/custom", &custom).expect(200);
    assert_eq!(validate(&place, POLICY).expect(200)["valid"], true);
    let checked = validate(&place, "tiers: {free: {rate: 10}}").expect(200);
    assert_eq!((&checked["valid"], &checked["problems"][0]["account"]), (&json!(false), &json!("acme")));
    let policy = file::read(b"tiers: {free: {rate: 10}}").unwrap().policy;
    assert!(place.engine.reload(policy).is_err(), "what is called invalid does not come into force");
}

#[test]
fn what_is_no_policy_is_not_valid_and_what_is_too_large_is_not_read() {
    let place = Place::new();
    for text in ["", "\u{0}", "[", "tiers", "{{{{", "tiers: {a: &a {rate: *a}}"] {
        let checked = validate(&place, text).expect(200);
        assert_eq!(checked["valid"], false, "{text}");
        assert_ne!(checked["problems"], json!([]), "{text}");
    }
    let json = place.text("POST", "/admin/v1/policy/validate", "application/json", "{}");
    json.problem(415, "unsupported_media_type", Some("Content-Type"));
    validate(&place, &"#".repeat((1 << 20) + 1)).problem(413, "body_too_large", None);
}
