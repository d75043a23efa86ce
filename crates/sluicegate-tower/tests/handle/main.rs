//! The handle as an application uses it: opening, accounts and keys, reloads, background work, and what goes wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod accounts;
#[cfg(feature = "admin")]
mod admin;
mod errors;
#[cfg(feature = "export")]
mod export;
mod lifetime;
mod nested;
#[cfg(feature = "otlp")]
mod otlp;
mod policy;
#[cfg(feature = "redis")]
mod redis;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, Response};
use sluicegate_tower::SluicegateLayer;
use tower::ServiceExt as _;

/// An application behind this layer.
fn app(layer: SluicegateLayer) -> Router {
    Router::new().route("/", get(async || "hello")).layer(layer)
}

/// Sends a request with this key, or without one.
async fn send(app: &Router, key: Option<&str>) -> Response<Body> {
    let request = Request::get("/");
    let request = key.into_iter().fold(request, |request, key| request.header("X-API-Key", key));
    app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}
