//! Keys: made, shown, rotated, revoked.

use serde_json::{Value, json};
use sluicegate_store::directory::{Looked, Verified};
use sluicegate_store::key_text::PresentedKey;

use crate::golden;
use crate::place::Place;

const KEYS: &str = "/admin/v1/accounts/acme/keys";

fn with_account() -> Place {
    let place = Place::new();
    place.account("acme", "pro");
    place
}

fn works(place: &Place, secret: &str) -> bool {
    let presented = PresentedKey::parse(secret).unwrap();
    let looked = place.engine.directory().verify(&presented, place.engine.now());
    matches!(looked, Looked::Known(Verified::Key(_)))
}

#[test]
fn a_key_is_made_and_its_secret_shown_once() {
    let place = with_account();
    let expires_at = "2026-10-05T14:00:01+02:00";
    let body = json!({"name": "prod", "env": "test", "scopes": ["b:read", "a"], "expires_at": expires_at});
    let made = place.json("POST", KEYS, &body);
    let key = made.expect(201);
    let (id, secret) = (key["id"].as_str().unwrap(), key["key"].as_str().unwrap());
    assert_eq!(made.header("location"), Some(format!("/admin/v1/keys/{id}").as_str()));
    assert!(secret.starts_with(&format!("sg_test_{id}_")) && works(&place, secret));
    let reply = place.get(&format!("/admin/v1/keys/{id}"));
    let shown = reply.expect(200);
    golden::check_json("key.json", &reply.text.replace(id, "<id>"));
    let mut without = key.clone();
    without.as_object_mut().unwrap().remove("key");
    assert_eq!(shown, without);
    place.later(1);
    assert!(!works(&place, secret));
    assert_eq!(place.get(&format!("/admin/v1/keys/{id}")).expect(200)["status"], "expired");
}

#[test]
fn a_key_with_a_name_alone_is_live_and_never_expires() {
    let place = with_account();
    let key = place.json("POST", KEYS, &json!({"name": "prod"})).expect(201);
    assert_eq!((&key["env"], &key["scopes"], &key["expires_at"]), (&json!("live"), &json!([]), &Value::Null));
    assert_eq!((&key["status"], &key["account"]), (&json!("active"), &json!("acme")));
}

#[test]
fn what_is_wrong_with_a_new_key_names_its_field() {
    let place = with_account();
    let cases = [
        ("name", "name", Value::Null),
        ("name", "name", json!("a\u{7}")),
        ("env", "env", json!("prod")),
        ("env", "env", json!(1)),
        ("scopes", "scopes", json!("convert")),
        ("scopes", "scopes", json!(["with space"])),
        ("scopes", "scopes", json!([""])),
        ("scopes[1]", "scopes", json!(["a", 2])),
        ("expires_at", "expires_at", json!("2026-10-05T12:00:00Z")),
        ("expires_at", "expires_at", json!("1969-10-05T12:00:00Z")),
        ("expires_at", "expires_at", json!("2300-01-01T00:00:00Z")),
        ("expires_at", "expires_at", json!("soon")),
        ("expires_at", "expires_at", json!(1_900_000_000)),
    ];
    for (field, member, value) in cases {
        let mut body = json!({"name": "x"});
        body[member] = value.clone();
        place.json("POST", KEYS, &body).problem(422, "invalid_field", Some(field));
    }
    let many: Vec<String> = (0..51).map(|n| format!("s{n}")).collect();
    let body = json!({"name": "x", "scopes": many});
    place.json("POST", KEYS, &body).problem(422, "invalid_field", Some("scopes"));
    assert_eq!(place.get(KEYS).expect(200)["items"], json!([]));
    let nobody = place.json("POST", "/admin/v1/accounts/nobody/keys", &json!({"name": "x"}));
    nobody.problem(404, "not_found", None);
    place.get("/admin/v1/accounts/nobody/keys").problem(404, "not_found", None);
}

#[test]
fn a_rotated_key_has_two_secrets_for_the_overlap() {
    let place = with_account();
    let (id, old) = place.key("acme");
    let rotated =
        place.json("POST", &format!("/admin/v1/keys/{id}/rotate"), &json!({"overlap": "1h30m"})).expect(200);
    let new = rotated["key"].as_str().unwrap();
    assert_eq!(rotated["previous_until"], "2026-10-05T13:30:00.000Z");
    assert_eq!(rotated["rotated_at"], "2026-10-05T12:00:00.000Z");
    place.later(5_399);
    assert!(works(&place, &old) && works(&place, new));
    place.later(5_400);
    assert!(!works(&place, &old) && works(&place, new));
}

#[test]
fn the_overlap_is_a_day_unless_said_otherwise_and_may_be_nothing() {
    let place = with_account();
    let (id, old) = place.key("acme");
    let path = format!("/admin/v1/keys/{id}/rotate");
    let bare = place.bare("POST", &path);
    for reply in [bare, place.json("POST", &path, &json!({})), place.json("POST", &path, &Value::Null)] {
        assert_eq!(reply.expect(200)["previous_until"], "2026-10-06T12:00:00.000Z");
    }
    assert!(!works(&place, &old), "two rotations end the first secret");
    let now = place.json("POST", &path, &json!({"overlap": "0s"})).expect(200);
    assert!(works(&place, now["key"].as_str().unwrap()));
    place.json("POST", &path, &json!({"overlap": "30d"})).expect(200);
    for wrong in [
        json!("31d"),
        json!("720h1s"),
        json!("soon"),
        json!("-1h"),
        json!(""),
        json!(60),
        json!("99999999999999999d"),
    ] {
        place.json("POST", &path, &json!({"overlap": wrong})).problem(422, "invalid_field", Some("overlap"));
    }
    place.text("POST", &path, "text/plain", "{}").problem(
        415,
        "unsupported_media_type",
        Some("Content-Type"),
    );
}

#[test]
fn a_revoked_key_stays_revoked_and_is_still_shown() {
    let place = with_account();
    let (id, secret) = place.key("acme");
    let path = format!("/admin/v1/keys/{id}");
    place.bare("DELETE", &path).expect_nothing();
    assert!(!works(&place, &secret));
    place.later(5);
    place.bare("DELETE", &path).expect_nothing();
    let shown = place.get(&path).expect(200);
    assert_eq!(
        (&shown["status"], &shown["revoked_at"]),
        (&json!("revoked"), &json!("2026-10-05T12:00:00.000Z"))
    );
    place.bare("POST", &format!("{path}/rotate")).problem(409, "key_revoked", None);
    assert_eq!(place.get(KEYS).expect(200)["items"][0]["status"], "revoked");
}

#[test]
fn an_expired_key_is_not_rotated() {
    let place = with_account();
    let key =
        place.json("POST", KEYS, &json!({"name": "x", "expires_at": "2026-10-05T12:00:05Z"})).expect(201);
    place.later(5);
    let path = format!("/admin/v1/keys/{}/rotate", key["id"].as_str().unwrap());
    place.bare("POST", &path).problem(409, "key_expired", None);
}

#[test]
fn a_deleted_account_takes_its_keys_along() {
    let place = with_account();
    let (id, secret) = place.key("acme");
    place.bare("DELETE", "/admin/v1/accounts/acme").expect_nothing();
    assert!(!works(&place, &secret));
    assert_eq!(place.get(&format!("/admin/v1/keys/{id}")).expect(200)["status"], "revoked");
}

#[test]
fn keys_that_are_not_there_are_not_found() {
    let place = with_account();
    for id in ["000000000000", "short", "with%20space!", "%ff%fe", "thirteenchars"] {
        for (method, end) in [("GET", ""), ("DELETE", ""), ("POST", "/rotate")] {
            place.bare(method, &format!("/admin/v1/keys/{id}{end}")).problem(404, "not_found", None);
        }
    }
}
