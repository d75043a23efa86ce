//! How the books are doing, for people.

use serde_json::json;

use crate::place::{NOW, Place};

#[test]
fn the_books_say_how_they_are_doing() {
    let place = Place::new();
    let ledger = place.get("/admin/v1/ledger").expect(200);
    assert_eq!(ledger["health"], json!({"state": "good", "detail": null}));
    assert_eq!((&ledger["records"], &ledger["behind"], &ledger["torn"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!((&ledger["export"], &ledger["check"]), (&json!(null), &json!(null)));
    assert_eq!(ledger["chain"]["public_key"].as_str().unwrap().len(), 64);
    assert_eq!(ledger["chain"]["problem"], json!(null));
    place.books.tend(NOW).unwrap();
    assert_eq!(place.get("/admin/v1/ledger").expect(200)["sealed_hours"], 0);
}

#[test]
fn a_chain_that_is_damaged_is_said_and_the_rest_is_still_told() {
    let place = Place::new();
    place.damage_the_chain();
    let ledger = place.get("/admin/v1/ledger").expect(200);
    assert_eq!(ledger["chain"]["public_key"], json!(null));
    assert!(ledger["chain"]["problem"].as_str().unwrap().len() > 5, "{ledger}");
    assert_eq!(ledger["records"], 0);
}
