//! The admin API and the dashboard inside an application.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::routing::get;
use http::{Request, Response};
use sluicegate_tower::Sluicegate;
use tower::ServiceExt as _;

const TOKEN: &str = "an-admin-token-of-some-length";

async fn host() -> Router {
    let opening = Sluicegate::in_memory("{tiers: {free: {rate: 10, quota: 100}}}").admin_token(TOKEN);
    let gate = opening.await.unwrap();
    gate.accounts().ensure("acme", "free").await.unwrap();
    let routes = Router::new().route("/", get(async || "the application")).route_layer(gate.layer());
    routes.nest("/ops", gate.admin_router())
}

async fn ask(app: &Router, path: &str, token: Option<&str>) -> Response<Body> {
    let request = Request::get(path);
    let request = token
        .into_iter()
        .fold(request, |request, token| request.header("Authorization", format!("Bearer {token}")));
    app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn it_works_under_nest_and_needs_its_token() {
    let app = host().await;
    assert_eq!(ask(&app, "/ops/health", None).await.status(), 200);
    assert_eq!(ask(&app, "/ops/admin/v1/accounts", None).await.status(), 401);
    assert_eq!(ask(&app, "/ops/admin/v1/accounts", Some("wrong-but-long-enough")).await.status(), 401);
    let answer = ask(&app, "/ops/admin/v1/accounts", Some(TOKEN)).await;
    assert_eq!(answer.status(), 200);
    let body = to_bytes(answer.into_body(), 100_000).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["items"][0]["id"], "acme");
    let page = ask(&app, "/ops", None).await;
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    // What is not under the prefix is the application's.
    assert_eq!(ask(&app, "/", None).await.status(), 401, "there is no anonymous tier");
    assert_eq!(ask(&app, "/nothing", None).await.status(), 404);
}

#[tokio::test]
async fn a_token_that_cannot_be_used_is_refused_when_it_is_opened() {
    let opened = Sluicegate::in_memory("{tiers: {free: {rate: 1}}}").admin_token("no\nheader").await;
    assert!(opened.unwrap_err().to_string().starts_with("the admin token cannot be used"));
}
