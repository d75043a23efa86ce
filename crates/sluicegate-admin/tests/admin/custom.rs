//! Negotiated limits.

use serde_json::{Value, json};

use crate::place::{Place, Reply};

fn put(place: &Place, body: &Value) -> Reply {
    place.json("PUT", "/admin/v1/accounts/acme/custom", body)
}

#[test]
fn negotiated_limits_apply_and_are_shown_as_they_were_given() {
    let place = Place::new();
    place.account("acme", "free");
    let body = json!({"rate": "500/minute", "quota": 7_000_000, "limits": {
        "searches": {"algorithm": "fixed_window", "limit": "9/hour", "routes": ["search"], "per": "account"}}});
    let account = put(&place, &body).expect(200);
    assert_eq!((&account["tier"], &account["custom"]), (&json!("custom:acme"), &body));
    let limits = place.get("/admin/v1/accounts/acme/limits").expect(200);
    let quota = limits["items"].as_array().unwrap().iter().find(|limit| limit["name"] == "quota").unwrap();
    assert_eq!(quota["limit"], 7_000_000);
    let back = place.json("PUT", "/admin/v1/accounts/acme/tier", &json!({"tier": "pro"})).expect(200);
    assert_eq!((&back["tier"], &back["custom"]), (&json!("pro"), &Value::Null));
}

#[test]
fn every_problem_is_listed_with_its_place_in_the_body() {
    let place = Place::new();
    place.account("acme", "free");
    let limits = "{\"x\": {\"limit\": \"3/day\", \"routes\": [\"sarch\"]}}";
    let text = format!("{{\n\t\"rtae\": 5,\n\t\"quota\": \"lots\",\n  \"limits\": {limits}\n}}");
    let refused = place.text("PUT", "/admin/v1/accounts/acme/custom", "application/json", text);
    let detail = refused.problem(422, "invalid_tier", None);
    assert!(detail.starts_with("Line 2, column 2: "), "{detail}");
    let problems = refused.expect(422)["problems"].clone();
    let places: Vec<_> = problems.as_array().unwrap().iter().map(|problem| problem["line"].clone()).collect();
    assert_eq!(places, [json!(2), json!(3), json!(4), json!(4)], "{problems}");
    assert!(problems[0]["message"].as_str().unwrap().contains("rtae"), "{problems}");
    assert!(problems[0]["help"].as_str().unwrap().contains("rate"), "{problems}");
    assert_eq!(place.get("/admin/v1/accounts/acme").expect(200)["tier"], "free");
}

#[test]
fn what_is_no_tier_is_refused() {
    let place = Place::new();
    place.account("acme", "free");
    for body in [json!({}), json!(null), json!([]), json!("rate"), json!(7), json!({"rate": 0})] {
        put(&place, &body).problem(422, "invalid_tier", None);
    }
    put(&place, &json!({"bypass": true})).problem(422, "invalid_field", Some("bypass"));
    let yaml = place.text("PUT", "/admin/v1/accounts/acme/custom", "application/json", "rate: 5");
    yaml.problem(400, "malformed_body", None);
    let long =
        json!({"rate": 5, "priority": 1}).to_string().replace(",", &format!(",{}", " ".repeat(70_000)));
    let large = place.text("PUT", "/admin/v1/accounts/acme/custom", "application/json", long);
    large.problem(422, "invalid_field", Some("custom"));
    let nobody = place.json("PUT", "/admin/v1/accounts/nobody/custom", &json!({"rate": 5}));
    nobody.problem(404, "not_found", None);
    assert_eq!(place.get("/admin/v1/accounts/acme").expect(200)["tier"], "free");
}

#[test]
fn an_account_with_the_longest_id_can_have_limits_of_its_own() {
    let place = Place::new();
    let id = format!("A{}", "x".repeat(63));
    place.account(&id, "free");
    let account =
        place.json("PUT", &format!("/admin/v1/accounts/{id}/custom"), &json!({"rate": 5})).expect(200);
    assert_eq!(account["tier"], format!("custom:{id}"));
}
