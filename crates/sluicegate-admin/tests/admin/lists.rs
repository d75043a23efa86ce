//! Lists in pages.

use serde_json::{Value, json};

use crate::place::Place;

/// Every entry's member, page by page.
fn walk(place: &Place, path: &str, limit: usize, member: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = place.get(&format!("{path}?limit={limit}{cursor}")).expect(200);
        pages.push(page["items"].as_array().unwrap().iter().map(|item| item[member].clone()).collect());
        match &page["next"] {
            Value::Null => return pages,
            next => cursor = format!("&cursor={}", next.as_str().unwrap()),
        }
    }
}

#[test]
fn lists_come_in_pages_that_miss_and_repeat_nothing() {
    let place = Place::new();
    for id in ["c", "a", "b", "e", "d"] {
        place.account(id, "free");
    }
    let accounts = walk(&place, "/admin/v1/accounts", 2, "id");
    assert_eq!(accounts, [vec![json!("c"), json!("a")], vec![json!("b"), json!("e")], vec![json!("d")]]);
    let audit = walk(&place, "/admin/v1/audit", 3, "target").concat();
    assert_eq!(audit, [json!("d"), json!("e"), json!("b"), json!("a"), json!("c")]);
    let (first, _) = place.key("a");
    let (second, _) = place.key("a");
    let keys = walk(&place, "/admin/v1/accounts/a/keys", 1, "id").concat();
    assert_eq!(keys, [json!(first), json!(second)]);
}

#[test]
fn a_page_that_ends_with_the_list_says_so() {
    let place = Place::new();
    for id in ["a", "b"] {
        place.account(id, "free");
    }
    assert_eq!(place.get("/admin/v1/accounts?limit=2").expect(200)["next"], Value::Null);
    assert_eq!(place.get("/admin/v1/accounts").expect(200)["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_wrong_query_names_the_parameter() {
    let place = Place::new();
    place.account("acme", "free");
    let cases = [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=%2B1", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("limit=99999999999999999999999", "limit"),
        ("cursor=", "cursor"),
        ("cursor=5", "cursor"),
        ("cursor=c0x1", "cursor"),
        ("cursor=cffffffffffffffffffff", "cursor"),
        ("limit=1&limit=2", "limit"),
        ("limti=1", "limti"),
    ];
    for path in ["/admin/v1/accounts", "/admin/v1/accounts/acme/keys", "/admin/v1/audit"] {
        for (query, field) in cases {
            place.get(&format!("{path}?{query}")).problem(400, "invalid_query", Some(field));
        }
        // A cursor that was never given ends the list or starts it: it is no secret and no danger.
        place.get(&format!("{path}?cursor=cffffffffffffffff")).expect(200);
    }
    let detail = place.get("/admin/v1/audit?limti=1").problem(400, "invalid_query", Some("limti"));
    assert_eq!(detail, "\"limti\" is not known here; did you mean \"limit\"?");
}
