//! Secrets are in the answer that makes them, and in no other.

use serde_json::json;

use crate::place::Place;

#[test]
fn no_read_audit_entry_or_error_shows_a_secret() {
    let place = Place::new();
    place.account("acme", "pro");
    let (id, first) = place.key("acme");
    let rotated = place.bare("POST", &format!("/admin/v1/keys/{id}/rotate")).expect(200);
    let second = rotated["key"].as_str().unwrap();
    let parts = |secret: &str| secret.rsplit('_').next().unwrap()[..32].to_owned();
    let secrets = [parts(&first), parts(second), crate::place::TOKEN.to_owned()];
    let mut paths: Vec<String> = ["accounts", "accounts/acme", "accounts/acme/keys", "accounts/acme/limits"]
        .iter()
        .chain(&["tiers", "policy", "audit", "openapi.json"])
        .map(|end| format!("/admin/v1/{end}"))
        .collect();
    paths.extend([
        "/metrics".to_owned(),
        "/health".to_owned(),
        "/".to_owned(),
        format!("/admin/v1/keys/{id}"),
    ]);
    // A secret where an id should be is not repeated.
    paths.extend([format!("/admin/v1/keys/{first}"), format!("/admin/v1/accounts/{first}")]);
    place.bare("DELETE", &format!("/admin/v1/keys/{id}")).expect_nothing();
    let mut texts: Vec<String> = paths.iter().map(|path| place.get(path).text).collect();
    texts.push(place.bare("POST", &format!("/admin/v1/keys/{id}/rotate")).text);
    texts.push(place.json("POST", "/admin/v1/accounts/acme/keys", &json!({"name": "x", "env": first})).text);
    texts.push(
        place.json("POST", "/admin/v1/accounts/acme/keys", &json!({"name": "x", "expires_at": first})).text,
    );
    for text in texts {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{text}");
        }
    }
}
