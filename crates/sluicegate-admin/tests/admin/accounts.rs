//! Accounts: made, shown, given another tier, deleted.

use serde_json::{Value, json};

use crate::golden;
use crate::place::{Place, authorized, send, wait};

const ACCOUNTS: &str = "/admin/v1/accounts";

#[test]
fn an_account_is_made_shown_and_deleted() {
    let place = Place::new();
    let (name, timezone) = (" Acme Ltd. ", "europe/berlin");
    let body = json!({"id": "acme", "name": name, "tier": "pro", "billing_day": 31, "timezone": timezone});
    let made = place.json("POST", ACCOUNTS, &body);
    assert_eq!(made.header("location"), Some("/admin/v1/accounts/acme"));
    let account = made.expect(201);
    golden::check_json("account.json", &made.text);
    assert_eq!(place.get("/admin/v1/accounts/acme").expect(200), account);
    place.bare("DELETE", "/admin/v1/accounts/acme").expect_nothing();
    for method in ["GET", "DELETE"] {
        place.bare(method, "/admin/v1/accounts/acme").problem(404, "not_found", None);
    }
}

#[test]
fn an_account_without_an_id_gets_one_that_can_be_used() {
    let place = Place::new();
    let made = place.json("POST", ACCOUNTS, &json!({"name": "", "tier": "free", "id": null}));
    let account = made.expect(201);
    let id = account["id"].as_str().unwrap();
    assert!(id.starts_with("acct_"), "{id}");
    assert_eq!(place.get(made.header("location").unwrap()).expect(200)["id"], id);
    assert_eq!(account["timezone"], Value::Null);
}

#[test]
fn what_is_wrong_with_a_new_account_names_its_field() {
    let place = Place::new();
    let good = json!({"id": "acme", "name": "Acme", "tier": "pro", "billing_day": 1, "timezone": "UTC"});
    let cases = [
        ("id", json!("no spaces")),
        ("id", json!("")),
        ("id", json!("x".repeat(65))),
        ("id", json!(7)),
        ("name", json!("two\nlines")),
        ("name", json!("x".repeat(201))),
        ("name", json!(["Acme"])),
        ("name", Value::Null),
        ("tier", json!({"name": "pro"})),
        ("tier", Value::Null),
        ("billing_day", json!(0)),
        ("billing_day", json!(32)),
        ("billing_day", json!(300)),
        ("billing_day", json!(-1)),
        ("billing_day", json!(1.5)),
        ("billing_day", json!("1")),
        ("timezone", json!("Mars/Olympus")),
        ("timezone", json!(1)),
    ];
    for (field, value) in cases {
        let mut body = good.clone();
        body[field] = value.clone();
        let detail = place.json("POST", ACCOUNTS, &body).problem(422, "invalid_field", Some(field));
        assert!(detail.starts_with(&format!("\"{field}\" ")) && detail.ends_with('.'), "{detail}");
    }
    assert_eq!(place.get(ACCOUNTS).expect(200)["items"], json!([]));
}

#[test]
fn an_undefined_tier_is_refused_and_the_nearest_suggested() {
    let place = Place::new();
    let create = |tier: &str| place.json("POST", ACCOUNTS, &json!({"name": "x", "tier": tier}));
    let detail = create("por").problem(422, "undefined_tier", Some("tier"));
    assert_eq!(detail, "No tier is called \"por\"; did you mean \"pro\"?");
    let detail = create("platinum").problem(422, "undefined_tier", Some("tier"));
    assert_eq!(detail, "No tier is called \"platinum\"; defined are free, pro, internal.");
    create("custom:acme").problem(422, "undefined_tier", Some("tier"));
    create(&"x".repeat(100_000)).problem(422, "undefined_tier", Some("tier"));
}

#[test]
fn an_id_is_given_once_and_again_after_a_deletion() {
    let place = Place::new();
    place.account("acme", "free");
    let again = json!({"id": "acme", "name": "Other", "tier": "pro"});
    place.json("POST", ACCOUNTS, &again).problem(409, "already_exists", Some("id"));
    assert_eq!(place.get("/admin/v1/accounts/acme").expect(200)["name"], "acme");
    place.bare("DELETE", "/admin/v1/accounts/acme").expect_nothing();
    assert_eq!(place.json("POST", ACCOUNTS, &again).expect(201)["name"], "Other");
}

#[test]
fn of_two_who_want_one_id_at_once_one_gets_it() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for round in 0..20 {
        let create = || {
            let body = json!({"id": format!("acct-{round}"), "name": "x", "tier": "free"}).to_string();
            let request = authorized("POST", ACCOUNTS).header("content-type", "application/json");
            runtime.spawn(send(place.router.clone(), request.body(body.into()).unwrap()))
        };
        let (one, other) = (create(), create());
        let mut statuses =
            runtime.block_on(async { [one.await.unwrap().status, other.await.unwrap().status] });
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409]);
    }
}

#[test]
fn another_tier_applies_at_once() {
    let place = Place::new();
    place.account("acme", "free");
    let set = |tier: &str| place.json("PUT", "/admin/v1/accounts/acme/tier", &json!({"tier": tier}));
    let account = set("pro").expect(200);
    assert_eq!((&account["id"], &account["tier"]), (&json!("acme"), &json!("pro")));
    let names = |limits: &Value| {
        let names = limits["items"].as_array().unwrap().iter().map(|limit| limit["name"].to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    let limits = place.get("/admin/v1/accounts/acme/limits").expect(200);
    assert_eq!(names(&limits), r#""rate" "searches" "concurrency" "quota""#);
    set("prp").problem(422, "undefined_tier", Some("tier"));
    assert_eq!(place.get("/admin/v1/accounts/acme").expect(200)["tier"], "pro");
    let missing = place.json("PUT", "/admin/v1/accounts/acme/tier", &json!({}));
    missing.problem(422, "invalid_field", Some("tier"));
    let nobody = place.json("PUT", "/admin/v1/accounts/nobody/tier", &json!({"tier": "pro"}));
    nobody.problem(404, "not_found", None);
}

#[test]
fn an_account_may_have_a_tier_that_bypasses() {
    let place = Place::new();
    place.account("jobs", "internal");
    place.key("jobs");
    assert_eq!(place.get("/admin/v1/accounts/jobs/limits").expect(200), json!({"items": []}));
}

#[test]
fn a_full_disk_is_no_success_and_says_what_to_do() {
    let place = Place::new();
    place.account("acme", "free");
    wait(place.engine.directory().database().unwrap().limit_pages(1)).unwrap();
    let mut replies = (0..200).map(|round| {
        let name = format!("{round}{}", "x".repeat(190));
        place.json("POST", ACCOUNTS, &json!({"id": format!("acct-{round}"), "name": name, "tier": "free"}))
    });
    let refused = replies.find(|reply| reply.status != 201).unwrap();
    let detail = refused.problem(503, "unavailable", None);
    assert!(detail.starts_with("The disk is full; nothing was written;"), "{detail}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    place.get("/admin/v1/accounts/acme").expect(200);
}
