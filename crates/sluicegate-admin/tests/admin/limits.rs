//! What every limit of an account says now.

use serde_json::json;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Purpose};

use crate::golden;
use crate::place::Place;

fn request(key: &str) -> CallerRequest<'_> {
    CallerRequest {
        credential: Credential::Key(key),
        address: None,
        method: "GET",
        path: "/api/search/x",
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    }
}

#[test]
fn shared_meters_are_shown_once_and_a_keys_own_with_its_id() {
    let place = Place::new();
    place.account("acme", "pro");
    let (first, secret) = place.key("acme");
    let (second, _) = place.key("acme");
    let (revoked, _) = place.key("acme");
    place.bare("DELETE", &format!("/admin/v1/keys/{revoked}")).expect_nothing();
    let decision = place.engine.decide(&request(&secret), place.engine.now());
    assert!(decision.is_admitted());
    let limits = place.get("/admin/v1/accounts/acme/limits");
    limits.expect(200);
    let text = limits.text.replace(&first, "<first>").replace(&second, "<second>");
    golden::check_json("limits.json", &text);
}

#[test]
fn looking_changes_nothing() {
    let place = Place::new();
    place.account("acme", "free");
    place.key("acme");
    let once = place.get("/admin/v1/accounts/acme/limits").expect(200);
    assert_eq!(place.get("/admin/v1/accounts/acme/limits").expect(200), once);
    assert_eq!(once["items"][0]["used"], json!(0));
}

#[test]
fn an_account_that_is_not_there_has_no_limits() {
    let place = Place::new();
    place.get("/admin/v1/accounts/nobody/limits").problem(404, "not_found", None);
    place.account("acme", "free");
    place.bare("DELETE", "/admin/v1/accounts/acme").expect_nothing();
    place.get("/admin/v1/accounts/acme/limits").problem(404, "not_found", None);
}
