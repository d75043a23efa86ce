//! Keys: what narrows them, changed later, and revoked when they have leaked.

use serde_json::{Value, json};

use crate::place::Place;

const KEYS: &str = "/admin/v1/accounts/acme/keys";

fn place() -> Place {
    let place = Place::new();
    place.account("acme", "pro");
    place
}

#[test]
fn what_narrows_a_key_is_given_shown_and_changed_field_by_field() {
    let place = place();
    let narrowed = json!({
        "name": "web", "allowed_ips": ["192.0.2.0/24"], "allowed_origins": ["https://App.test"],
        "limits": {"rate": "5/s"},
    });
    let made = place.json("POST", KEYS, &narrowed).expect(201);
    let path = format!("/admin/v1/keys/{}", made["id"].as_str().unwrap());
    assert_eq!(made["allowed_ips"], json!(["192.0.2.0/24"]));
    assert_eq!(made["allowed_origins"], json!(["https://app.test"]));
    assert_eq!((&made["limits"], &made["last_used_at"]), (&json!({"rate": "5/s"}), &Value::Null));
    let changed = place.json("PATCH", &path, &json!({"allowed_ips": [], "scopes": ["a"]})).expect(200);
    assert_eq!((&changed["allowed_ips"], &changed["scopes"]), (&json!([]), &json!(["a"])));
    // What was not given has stayed.
    assert_eq!(
        (&changed["allowed_origins"], &changed["limits"]),
        (&made["allowed_origins"], &made["limits"])
    );
    let cleared = json!({"allowed_origins": null, "limits": null, "expires_at": null});
    let changed = place.json("PATCH", &path, &cleared).expect(200);
    assert_eq!((&changed["allowed_origins"], &changed["limits"]), (&json!([]), &Value::Null));
    assert_eq!(place.get(&path).expect(200), changed);
    let audit = place.get("/admin/v1/audit").expect(200);
    let entries: Vec<&Value> =
        audit["items"].as_array().unwrap().iter().filter(|entry| entry["action"] == "key.update").collect();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["before"]["allowed_ips"], json!(["192.0.2.0/24"]));
    assert_eq!(entries[1]["after"]["allowed_ips"], json!([]));
}

#[test]
fn what_is_wrong_with_a_change_names_its_field() {
    let place = place();
    let (id, _) = place.key("acme");
    let path = format!("/admin/v1/keys/{id}");
    let cases = [
        ("allowed_ips", json!(["10.0.0.1/8"])),
        ("allowed_ips", json!("10.0.0.0/8")),
        ("allowed_origins", json!(["app.test"])),
        ("limits", json!({"bypass": true})),
        ("limits", json!({"rate": -1})),
        ("limits", json!([])),
        ("expires_at", json!("yesterday")),
        ("scopes", json!(["a b"])),
        ("tier", json!("pro")),
    ];
    for (field, value) in cases {
        let refused = place.json("PATCH", &path, &json!({field: value})).expect(422);
        assert_eq!(refused["field"], field, "{refused}");
        if field != "tier" {
            let new = place.json("POST", KEYS, &json!({"name": "n", field: value})).expect(422);
            assert_eq!(new["field"], field, "{new}");
        }
    }
    place.json("PATCH", "/admin/v1/keys/AAAAAAAAAAAA", &json!({"name": "n"})).expect(404);
    place.bare("DELETE", &path).expect_nothing();
    place.json("PATCH", &path, &json!({"name": "n"})).expect(409);
}

#[test]
fn leaked_keys_are_revoked_once_and_never_repeated() {
    let place = place();
    let ((first, secret), (second, _)) = (place.key("acme"), place.key("acme"));
    let leaked =
        json!({"keys": [&secret, &first, &second, "AAAAAAAAAAAA", "sg_live_x", format!("{secret}x")]});
    let reply = place.json("POST", "/admin/v1/keys/revoke", &leaked);
    let done = reply.expect(200);
    assert_eq!(done["revoked"], json!([first, second]));
    assert_eq!((&done["already_revoked"], &done["other_secret"]), (&json!([]), &json!([])));
    assert_eq!(done["unknown"], json!([3, 4, 5]));
    assert!(!reply.text.contains(&secret));
    let again = place.json("POST", "/admin/v1/keys/revoke", &leaked).expect(200);
    assert_eq!((&again["revoked"], &again["already_revoked"]), (&json!([]), &json!([first, second])));
    for wrong in [json!({}), json!({"keys": []}), json!({"keys": "a"}), json!({"keys": vec!["a"; 1_001]})] {
        assert_eq!(place.json("POST", "/admin/v1/keys/revoke", &wrong).expect(422)["field"], "keys");
    }
}
