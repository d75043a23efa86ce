//! An application with a limited route and JSON of its own.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use sluicegate_tower::Sluicegate;
use tower::ServiceExt as _;

/// The application's own document. Its keys are not in the order of the alphabet.
pub fn document() -> Value {
    json!({"b": 1, "a": 2})
}

/// The application behind the layer.
pub fn application(gate: &Sluicegate) -> Router {
    Router::new().route("/", get(async || Json(document()))).route_layer(gate.layer())
}

/// Sends a request with this key, and returns the status and the body of the response.
///
/// # Panics
///
/// If the response cannot be read.
pub async fn call(application: &Router, key: Option<&str>) -> (StatusCode, String) {
    let mut request = Request::get("/");
    if let Some(key) = key {
        request = request.header("X-API-Key", key);
    }
    let request = request.body(Body::empty()).expect("the request is valid");
    let response = application.clone().oneshot(request).await.expect("a router does not fail");
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.expect("the body is short");
    (status, String::from_utf8(body.into()).expect("the body is text"))
}
