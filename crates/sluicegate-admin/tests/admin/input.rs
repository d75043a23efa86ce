//! What cannot be read, is too large, of the wrong type, or sent to where nothing is.

use axum::body::Body;
use serde_json::{Value, json};

use crate::place::{Place, authorized};

const ACCOUNTS: &str = "/admin/v1/accounts";

#[test]
fn malformed_json_is_answered_with_its_line_and_column() {
    let place = Place::new();
    let refused = place.text("POST", ACCOUNTS, "application/json", "{\n  \"name\": \"x\",\n  oops\n}");
    let detail = refused.problem(400, "malformed_body", None);
    assert!(detail.contains("at line 3, column 3"), "{detail}");
    let problem = &refused.expect(400)["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&json!(3), &json!(3)));
    let deep = "[".repeat(1_000);
    for text in ["", "{", "{\"name\": \"x\"} trailing", "\u{0}", deep.as_str()] {
        place.text("POST", ACCOUNTS, "application/json", text.to_owned()).problem(
            400,
            "malformed_body",
            None,
        );
    }
    let bytes = Body::from(vec![b'"', 0xff, 0xfe, b'"']);
    place.text("POST", ACCOUNTS, "application/json", bytes).problem(400, "malformed_body", None);
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    let place = Place::new();
    for body in [json!([]), json!("x"), json!(1), json!(true), Value::Null] {
        place.json("POST", ACCOUNTS, &body).problem(422, "invalid_field", None);
    }
}

#[test]
fn an_unknown_field_is_refused_with_a_suggestion() {
    let place = Place::new();
    let refused = place.json("POST", ACCOUNTS, &json!({"name": "x", "teir": "pro"}));
    let detail = refused.problem(422, "invalid_field", Some("teir"));
    assert_eq!(detail, "\"teir\" is not known here; did you mean \"tier\"?");
    let refused = place.json("PUT", "/admin/v1/accounts/acme/tier", &json!({"plan": "pro"}));
    let detail = refused.problem(422, "invalid_field", Some("plan"));
    assert_eq!(detail, "\"plan\" is not known here; known are \"tier\".");
}

#[test]
fn a_body_of_a_mebibyte_is_read_and_a_larger_one_is_not() {
    let place = Place::new();
    let body = |bytes: usize| {
        let start = "{\"tier\":\"free\",\"name\":\"x\"";
        format!("{start}{}}}", " ".repeat(bytes - start.len() - 1))
    };
    place.text("POST", ACCOUNTS, "application/json", body(1 << 20)).expect(201);
    place.text("POST", ACCOUNTS, "application/json", body((1 << 20) + 1)).problem(
        413,
        "body_too_large",
        None,
    );
}

#[test]
fn a_body_of_the_wrong_type_is_refused() {
    let place = Place::new();
    let body = || json!({"name": "x", "tier": "free"}).to_string();
    let plain = place.text("POST", ACCOUNTS, "text/plain", body());
    let detail = plain.problem(415, "unsupported_media_type", Some("Content-Type"));
    assert_eq!(detail, "Send the body with \"Content-Type: application/json\".");
    let none = place.send(authorized("POST", ACCOUNTS).body(Body::from(body())).unwrap());
    none.expect(201);
    for right in ["application/x-www-form-urlencoded", "application/json", "Application/JSON; charset=utf-8"]
    {
        place.text("POST", ACCOUNTS, right, body()).expect(201);
    }
}

#[test]
fn where_nothing_is_nothing_is_found() {
    let place = Place::new();
    let paths = [
        "/admin",
        "/admin/v1",
        "/admin/v1/accounts/",
        "/admin/v1/usage/",
        "/admin/v1/blocks/",
        "/admin/v1/clients",
        "/admin/v1/event",
        "/admin/v2/accounts",
        "//",
        "/admin/v1/accounts/a%2Fb",
        "/admin/v1/accounts/%ff",
        "/admin/v1/accounts/a%00b",
        "/admin/v1/accounts/.hidden",
    ];
    for path in paths {
        place.get(path).problem(404, "not_found", None);
    }
}

#[test]
fn a_wrong_method_is_answered_with_the_right_ones() {
    let place = Place::new();
    let cases = [
        ("PATCH", ACCOUNTS, "GET,HEAD,POST"),
        ("POST", "/admin/v1/accounts/acme", "GET,HEAD,DELETE"),
        ("GET", "/admin/v1/accounts/acme/tier", "PUT"),
        ("PUT", "/health", "GET,HEAD"),
        ("DELETE", "/", "GET,HEAD"),
    ];
    for (method, path, allowed) in cases {
        let refused = place.bare(method, path);
        refused.problem(405, "method_not_allowed", None);
        assert_eq!(refused.header("allow"), Some(allowed), "{method} {path}");
    }
    let head = place.bare("HEAD", ACCOUNTS);
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}
