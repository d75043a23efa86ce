//! Every write leaves an entry with before, after and who.

use serde_json::{Value, json};

use crate::golden;
use crate::place::Place;

#[test]
fn every_write_is_one_entry_and_nothing_else_is() {
    let place = Place::new();
    place.account("acme", "free");
    place.json("PUT", "/admin/v1/accounts/acme/tier", &json!({"tier": "pro"})).expect(200);
    place.json("PUT", "/admin/v1/accounts/acme/custom", &json!({"rate": 5})).expect(200);
    let (id, _) = place.key("acme");
    place.later(60);
    place.bare("POST", &format!("/admin/v1/keys/{id}/rotate")).expect(200);
    place.bare("DELETE", &format!("/admin/v1/keys/{id}")).expect_nothing();
    place.bare("DELETE", "/admin/v1/accounts/acme").expect_nothing();
    // Refused writes and reads leave nothing.
    place.json("POST", "/admin/v1/accounts", &json!({"name": "x", "tier": "nope"})).expect(422);
    place.bare("DELETE", "/admin/v1/accounts/acme").expect(404);
    place.get("/admin/v1/accounts").expect(200);
    let audit = place.get("/admin/v1/audit").expect(200);
    golden::check("audit.json", &format!("{audit:#}\n").replace(&id, "<key>"));
    let entries = audit["items"].as_array().unwrap();
    assert_eq!(entries.len(), 7);
    assert!(entries.iter().all(|entry| entry["who"] == "admin"));
    let set_tier = &entries[5];
    assert_eq!((&set_tier["before"]["tier"], &set_tier["after"]["tier"]), (&json!("free"), &json!("pro")));
    assert_eq!(entries[6]["before"], Value::Null);
    assert_eq!(entries[0]["before"]["deleted_at"], Value::Null);
    assert_ne!(entries[0]["after"]["deleted_at"], Value::Null);
}
