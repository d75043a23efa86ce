//! Who may use the API.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::place::{Place, TOKEN};

fn with(place: &Place, authorization: &str) -> crate::place::Reply {
    let request = Request::builder().uri("/admin/v1/accounts").header("authorization", authorization);
    place.send(request.body(Body::empty()).unwrap())
}

#[test]
fn everything_but_health_ready_and_the_page_needs_the_token() {
    let place = Place::new();
    let status = |path: &str| {
        let reply = place.send(Request::builder().uri(path).body(Body::empty()).unwrap());
        (reply.status, reply.header("www-authenticate").map(str::to_owned))
    };
    for path in ["/health", "/ready", "/"] {
        assert_eq!(status(path), (200, None), "{path}");
    }
    let closed = ["accounts", "accounts/acme", "tiers", "policy", "audit", "openapi.json", "nothing"];
    for path in closed.map(|end| format!("/admin/v1/{end}")).iter().chain(&["/metrics".to_owned()]) {
        assert_eq!(status(path), (401, Some("Bearer".to_owned())), "{path}");
    }
}

#[test]
fn a_missing_or_wrong_token_is_a_problem() {
    let place = Place::new();
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic the-admin-token-of-tests",
        "the-admin-token-of-tests",
    ] {
        with(&place, wrong).problem(401, "unauthorized", None);
    }
    for right in [
        "Bearer the-admin-token-of-tests",
        "bearer the-admin-token-of-tests",
        "Bearer  the-admin-token-of-tests",
    ] {
        with(&place, right).expect(200);
    }
}

#[test]
fn wrong_tokens_are_counted_and_audited_and_the_right_one_works() {
    let place = Place::new();
    for _ in 0..3 {
        with(&place, "Bearer guess").problem(401, "unauthorized", None);
    }
    with(&place, &format!("Bearer {TOKEN}")).expect(200);
    // A call without a token is no guess.
    with(&place, "").problem(401, "unauthorized", None);
    let metrics = place.get("/metrics").text;
    assert!(metrics.contains("sluicegate_wrong_tokens_total{port=\"admin\"} 3"), "{metrics}");
    assert_eq!(place.get("/admin/v1/audit").expect(200)["items"], json!([]));
    place.later(60);
    let noted = place.engine.note_access(place.engine.now(), false);
    crate::place::wait(noted).unwrap();
    let audit = place.get("/admin/v1/audit").expect(200);
    let entry = &audit["items"][0];
    assert_eq!((&entry["action"], &entry["who"]), (&json!("signin.refuse"), &json!("sluicegate")));
    assert_eq!(entry["after"]["count"], 3, "{entry}");
    assert_eq!(audit["items"].as_array().unwrap().len(), 1);
}

/// Creates a token, and gives its id and its text.
fn token(place: &Place, body: &Value) -> (String, String) {
    let made = place.json("POST", "/admin/v1/tokens", body).expect(201);
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

fn as_holder(place: &Place, token: &str, method: &str, path: &str, body: &Value) -> crate::place::Reply {
    let request =
        Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
    let request = request.header("content-type", "application/json");
    place.send(request.body(Body::from(body.to_string())).unwrap())
}

#[test]
fn each_role_opens_what_it_includes_and_nothing_else() {
    let place = Place::new();
    let account = |id: &str| json!({"id": id, "name": id, "tier": "free"});
    place.account("acme", "free");
    let calls: [(&str, &str, Value); 5] = [
        ("GET", "/metrics", json!(null)),
        ("GET", "/admin/v1/accounts", json!(null)),
        ("POST", "/admin/v1/accounts/acme/keys", json!({"name": "x"})),
        ("POST", "/admin/v1/accounts", account("new")),
        ("GET", "/admin/v1/tokens", json!(null)),
    ];
    for (reach, role) in ["decide", "metrics", "read", "keys", "operator", "owner"].into_iter().enumerate() {
        let (_, token) = token(&place, &json!({"name": format!("a-{role}"), "role": role}));
        for (place_of_call, (method, path, body)) in calls.iter().enumerate() {
            let body =
                if *path == "/admin/v1/accounts" && *method == "POST" { account(role) } else { body.clone() };
            let reply = as_holder(&place, &token, method, path, &body);
            if place_of_call < reach {
                assert!(reply.status < 300, "{role} {method} {path}: {}", reply.text);
            } else {
                reply.problem(403, "role_too_small", None);
            }
        }
    }
}

#[test]
fn the_actor_is_the_name_of_the_token_and_never_a_headers_word() {
    let place = Place::new();
    let (_, token) = token(&place, &json!({"name": "anna", "role": "operator"}));
    let request = Request::post("/admin/v1/accounts")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header("x-sluicegate-actor", "mallory");
    let body = json!({"id": "one", "name": "x", "tier": "free"}).to_string();
    place.send(request.body(Body::from(body)).unwrap()).expect(201);
    let audit = place.get("/admin/v1/audit").expect(200);
    assert_eq!((&audit["items"][0]["who"], &audit["items"][1]["who"]), (&json!("anna"), &json!("admin")));
    assert_eq!(audit["items"][1]["action"], "token.create");
    assert!(!audit.to_string().contains(&token), "no entry has the token");
}

#[test]
fn a_token_that_expired_or_was_revoked_opens_nothing() {
    let place = Place::new();
    let ends = json!({"name": "ends", "role": "read", "expires_at": "2026-10-05T12:01:00Z"});
    let (_, ending) = token(&place, &ends);
    let (id, revoked) = token(&place, &json!({"name": "gone", "role": "read"}));
    let status = |token: &str| as_holder(&place, token, "GET", "/admin/v1/tiers", &json!(null)).status;
    assert_eq!((status(&ending), status(&revoked)), (200, 200));
    assert_eq!(place.bare("DELETE", &format!("/admin/v1/tokens/{id}")).status, 204);
    assert_eq!((status(&ending), status(&revoked)), (200, 401));
    place.later(60);
    assert_eq!(status(&ending), 401);
    let listed = place.get("/admin/v1/tokens").expect(200);
    assert_eq!(
        (&listed["items"][0]["name"], &listed["items"][0]["status"]),
        (&json!("ends"), &json!("expired"))
    );
    place.bare("DELETE", &format!("/admin/v1/tokens/{id}")).problem(404, "not_found", None);
}

#[test]
fn a_field_of_a_token_that_is_wrong_is_named() {
    let place = Place::new();
    for (body, field) in [
        (json!({"role": "read"}), "name"),
        (json!({"name": "two words", "role": "read"}), "name"),
        (json!({"name": "admin", "role": "read"}), "name"),
        (json!({"name": "x", "role": "root"}), "role"),
        (json!({"name": "x", "role": "read", "may": ["vouch"]}), "may"),
        (json!({"name": "x", "role": "decide", "may": ["all"]}), "may[0]"),
        (json!({"name": "x", "role": "read", "expires_at": "2020-01-01T00:00:00Z"}), "expires_at"),
    ] {
        place.json("POST", "/admin/v1/tokens", &body).problem(422, "invalid_field", Some(field));
    }
    token(&place, &json!({"name": "twice", "role": "read"}));
    let again = place.json("POST", "/admin/v1/tokens", &json!({"name": "twice", "role": "read"}));
    again.problem(409, "already_exists", Some("name"));
}
