//! Every write leaves an entry with before, after and who.

use serde_json::{Value, json};
use sluicegate_core::audit::{Checker, Entry};

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
    let mut shown = audit.clone();
    // They follow from the id of the key, which is random.
    for entry in shown["items"].as_array_mut().unwrap() {
        entry["link"] = json!("<link>");
    }
    golden::check_members("audit.json", &shown.to_string().replace(&id, "<key>"));
    let entries = audit["items"].as_array().unwrap();
    assert_eq!(entries.len(), 7);
    assert!(entries.iter().all(|entry| entry["who"] == "admin"));
    let set_tier = &entries[5];
    assert_eq!((&set_tier["before"]["tier"], &set_tier["after"]["tier"]), (&json!("free"), &json!("pro")));
    assert_eq!(entries[6]["before"], Value::Null);
    assert_eq!(entries[0]["before"]["deleted_at"], Value::Null);
    assert_ne!(entries[0]["after"]["deleted_at"], Value::Null);
}

/// A client that has not called.
const CLIENT: &str = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0";

#[test]
fn every_kind_of_write_is_linked_and_the_link_follows_from_what_is_shown() {
    let place = Place::new();
    place.account("acme", "free");
    place.json("PUT", "/admin/v1/accounts/acme/tier", &json!({"tier": "pro"})).expect(200);
    place.json("PUT", "/admin/v1/accounts/acme/custom", &json!({"rate": 5})).expect(200);
    let (id, _) = place.key("acme");
    place.bare("POST", &format!("/admin/v1/keys/{id}/rotate")).expect(200);
    let block = json!({"client": CLIENT, "reason": "says \"ü\" \\ too often"});
    place.json("POST", "/admin/v1/blocks", &block).expect(201);
    place.bare("DELETE", &format!("/admin/v1/blocks?client={CLIENT}")).expect_nothing();
    place.bare("DELETE", &format!("/admin/v1/clients/{CLIENT}/reputation")).expect_nothing();
    place.bare("DELETE", &format!("/admin/v1/keys/{id}")).expect_nothing();
    place.bare("DELETE", "/admin/v1/accounts/acme").expect_nothing();
    let audit = place.get("/admin/v1/audit").expect(200);
    let entries: Vec<&Value> = audit["items"].as_array().unwrap().iter().rev().collect();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    let actions: Vec<String> = entries.iter().map(|entry| text(entry, "action")).collect();
    assert_eq!(
        actions,
        [
            "account.create",
            "account.set_tier",
            "account.set_custom",
            "key.create",
            "key.rotate",
            "block.create",
            "block.delete",
            "client.reset",
            "key.revoke",
            "account.delete",
        ]
    );
    let mut checker = Checker::default();
    for entry in entries {
        let at: jiff::Timestamp = text(entry, "at").parse().unwrap();
        let says = |name: &str| Some(&entry[name]).filter(|said| !said.is_null()).map(ToString::to_string);
        let (before, after) = (says("before"), says("after"));
        assert!(before.is_some() || after.is_some(), "{entry}");
        let link = checker.check(
            &Entry {
                seq: entry["seq"].as_u64().unwrap(),
                at: u64::try_from(at.as_nanosecond()).unwrap(),
                who: &text(entry, "who"),
                action: &text(entry, "action"),
                target: &text(entry, "target"),
                before: before.as_deref(),
                after: after.as_deref(),
            },
            None,
        );
        assert_eq!(link.unwrap().link.to_string(), text(entry, "link"), "{entry}");
    }
}
