//! Clients: how they stand, and how they are forgiven.

use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use sluicegate_engine::{Credential, ErrorCode};

use crate::blocks::{BLOCKS, decide, error_of};
use crate::golden;
use crate::place::Place;

/// Refuses somebody until it is blocked, and says who it is.
fn misbehave(place: &Place) -> String {
    let headers = HeaderMap::new();
    for _ in 0..40 {
        decide(place, Credential::Nothing { headers: &headers });
    }
    place.get(BLOCKS).expect(200)["items"][0]["id"].as_str().unwrap().to_owned()
}

fn path(client: &str) -> String {
    format!("/admin/v1/clients/{client}")
}

#[test]
fn whoever_was_never_seen_stands_as_everybody_does_at_first() {
    let place = Place::new();
    let client = place.get(&path("cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0"));
    client.expect(200);
    golden::check_json("client.json", &client.text);
}

#[test]
fn what_is_held_against_a_client_is_shown_and_forgotten_when_it_is_reset() {
    let place = Place::new();
    let id = misbehave(&place);
    let before = place.get(&path(&id)).expect(200);
    // Twenty passed, ten were refused, and then it was blocked.
    assert_eq!(before["strikes"], json!({"count": 10, "limit": 10}));
    assert_eq!(before["reputation"], json!({"score": 50, "bucket": "medium", "limits_percent": 60}));
    assert_eq!(before["block"]["id"], json!(id));

    place.bare("DELETE", &format!("{}/reputation", path(&id))).expect_nothing();
    let after = place.get(&path(&id)).expect(200);
    assert_eq!(after["strikes"], json!({"count": 0, "limit": 10}));
    assert_eq!(after["reputation"]["score"], 100);
    assert_eq!(after["block"], Value::Null);
    assert_eq!(after["limits"], before["limits"], "what it has used stays used");
    let headers = HeaderMap::new();
    let decided = decide(&place, Credential::Nothing { headers: &headers });
    assert_ne!(error_of(&decided), Some(ErrorCode::Blocked));

    let entry = &place.get("/admin/v1/audit").expect(200)["items"][0];
    assert_eq!((&entry["action"], &entry["target"]), (&json!("client.reset"), &json!(id)));
    assert_eq!((&entry["before"]["score"], &entry["before"]["strikes"]), (&json!(50), &json!(10)));
}

#[test]
fn refusals_of_the_minute_before_are_forgotten_as_well() {
    let place = Place::new();
    let id = misbehave(&place);
    // Half of them still count.
    place.later(90);
    let count = |place: &Place| place.get(&path(&id)).expect(200)["strikes"]["count"].as_u64().unwrap();
    assert!(count(&place) > 0);
    place.bare("DELETE", &format!("{}/reputation", path(&id))).expect_nothing();
    assert_eq!(count(&place), 0);
}

#[test]
fn what_cannot_be_a_client_is_not_found() {
    let place = Place::new();
    for nobody in ["nobody", "cl_1", "ky_0f1e2d3c4b5a69788796a5b4c3d2e1f0_1"] {
        place.get(&path(nobody)).problem(404, "not_found", None);
        place.bare("DELETE", &format!("{}/reputation", path(nobody))).problem(404, "not_found", None);
    }
}

#[test]
fn the_pressure_on_a_clients_address_is_shown_by_its_hash() {
    let place = Place::new();
    let id = misbehave(&place);
    let calm = place.get(&path(&id)).expect(200)["pressure"].clone();
    let address = calm["address"].as_str().unwrap().to_owned();
    assert_eq!(calm, json!({"squeezed": false, "address": address}));
    assert_eq!(place.get("/admin/v1/pressure").expect(200), json!({"items": [], "next": null}));

    let mut headers = HeaderMap::new();
    for number in 0..60 {
        headers.insert("user-agent", HeaderValue::from_str(&format!("browser {number}")).unwrap());
        decide(&place, Credential::Nothing { headers: &headers });
    }
    let squeezed = place.get(&path(&id)).expect(200)["pressure"].clone();
    let until = "2026-10-05T13:00:00.000Z";
    assert_eq!(squeezed, json!({"squeezed": true, "until": until, "address": address}));
    let list = place.get("/admin/v1/pressure").expect(200);
    let item = &list["items"][0];
    assert_eq!((&item["address"], &item["until"]), (&json!(address), &json!(until)));
    assert_eq!((&item["until_ms"], &list["next"]), (&json!(3_600_000), &Value::Null));
    assert!(item["fingerprints"].as_u64().unwrap() >= 20, "{item}");
    assert_eq!(place.get(&format!("/admin/v1/pressure?cursor={address}")).expect(200)["items"], json!([]));
    place.get("/admin/v1/pressure?cursor=here").problem(400, "invalid_query", Some("cursor"));
}
