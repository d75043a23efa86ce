//! What is the router's and what is the application's, and the paths at which the dashboard is.

use axum::Router;
use axum::routing::get;

use super::host::{Browser, PREFIXES, application, mounted_at};
use crate::place::{Place, TOKEN, wait};

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

#[test]
fn the_application_keeps_its_routes_and_its_fallback() {
    let place = Place::new();
    let browser = Browser::new(application(&[("/ops", &place)]));
    wait(async {
        assert_eq!(browser.get("/").await.text, "the application");
        assert_eq!(browser.get("/opsx").await.text, "another page");
        for path in ["/nothing", "/admin/v1/accounts", "/assets/app.js", "/health", "/opsx/health"] {
            let answer = browser.get(path).await;
            assert_eq!(
                (answer.status, answer.text.as_str()),
                (404, "the application has no such page"),
                "{path}"
            );
        }
        let answer = browser.send("POST", "/opsx", None, &[]).await;
        assert_eq!((answer.status, answer.text.as_str()), (405, ""));
    });
}

#[test]
fn what_is_not_there_below_the_prefix_is_a_problem_of_the_router() {
    for prefix in PREFIXES {
        let place = Place::new();
        let browser = Browser::new(mounted_at(prefix, &place));
        let authorization = bearer();
        let token = [("authorization", authorization.as_str())];
        wait(async {
            let nothing = format!("{prefix}/nothing");
            assert_eq!(browser.get(&nothing).await.json(401)["error"], "unauthorized");
            assert_eq!(browser.send("GET", &nothing, None, &token).await.json(404)["error"], "not_found");
            let health = format!("{prefix}/health");
            let answer = browser.send("DELETE", &health, None, &token).await;
            assert_eq!(answer.json(405)["error"], "method_not_allowed");
            assert_eq!(answer.header("allow"), "GET,HEAD");
            assert_eq!(browser.get(&health).await.json(200)["status"], "ok");
            let metrics = browser.send("GET", &format!("{prefix}/metrics"), None, &token).await;
            assert_eq!(metrics.status, 200);
        });
    }
}

#[test]
fn the_dashboard_is_where_the_application_routes_it() {
    let place = Place::new();
    let router = || place.router.clone();
    let trimmed = || Router::new().nest("/ops", router());
    for (application, path, home) in [
        (trimmed(), "/ops", ""),
        (trimmed().route("/ops/", get(|| async { axum::response::Redirect::permanent("/ops") })), "/ops", ""),
        (Router::new().nest("/ops/", router()), "/ops/", "/"),
        (Router::new().nest_service("/ops", router()), "/ops", ""),
        (Router::new().nest_service("/ops", router()), "/ops/", ""),
        (Router::new().nest("/a", Router::new().nest("/b", router())), "/a/b", ""),
        (Router::new().fallback_service(router()), "/", "/"),
        (Router::new().merge(router()), "/", "/"),
    ] {
        let page = wait(Browser::new(application).get(path));
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(page.text.contains(&format!("data-home=\"{home}\"")), "{path}: {}", page.text);
        let prefix = path.trim_end_matches('/');
        let assets = if prefix.is_empty() { "./assets/".to_owned() } else { format!("{prefix}/assets/") };
        assert!(page.text.contains(&format!("src=\"{assets}app.js\"")), "{path}: {}", page.text);
    }
}

/// axum routes `/ops/` to the application: nothing in a nested router can match it. The documentation says what to do.
#[test]
fn a_trailing_slash_is_the_applications_under_nest_and_the_dashboards_under_nest_service() {
    let place = Place::new();
    let nested = Browser::new(application(&[("/ops", &place)]));
    assert_eq!(wait(nested.get("/ops/")).text, "the application has no such page");
    let service = Browser::new(Router::new().nest_service("/ops", place.router.clone()));
    assert_eq!(wait(service.get("/ops/")).text, wait(service.get("/ops")).text);
}

#[test]
fn a_prefix_with_parameters_is_the_one_of_the_request() {
    let place = Place::new();
    let browser = Browser::new(Router::new().nest_service("/{team}/ops", place.router.clone()));
    wait(async {
        let csrf = browser.sign_in("/red/ops").await;
        let account = serde_json::json!({"id": "acme", "name": "Acme", "tier": "pro"});
        let csrf = [("x-sluicegate-csrf", csrf.as_str())];
        let made = browser.send("POST", "/red/ops/admin/v1/accounts", Some(account), &csrf).await;
        assert_eq!((made.status, made.header("location")), (201, "/red/ops/admin/v1/accounts/acme"));
        assert!(browser.cookies_for("/blue/ops").is_empty());
        let page = browser.get("/a;b\"c/ops/tiers").await;
        assert!(page.status == 200 && page.text.contains("src=\"./assets/app.js\""), "{}", page.text);
    });
}

#[test]
fn the_description_names_the_prefix() {
    let place = Place::new();
    for prefix in ["/ops", "/a/b"] {
        let browser = Browser::new(mounted_at(prefix, &place));
        let authorization = bearer();
        let path = format!("{prefix}/admin/v1/openapi.json");
        let answer = wait(browser.send("GET", &path, None, &[("authorization", &authorization)]));
        let mut document = answer.json(200);
        assert_eq!(document["servers"], serde_json::json!([{"url": prefix}]));
        document.as_object_mut().unwrap().remove("servers");
        assert_eq!(document, crate::openapi::document());
    }
}
