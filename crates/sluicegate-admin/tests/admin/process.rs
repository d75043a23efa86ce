//! How the process is doing: for people, load balancers and Prometheus.

use serde_json::json;

use crate::golden;
use crate::place::Place;

#[test]
fn health_says_how_it_is_doing_and_ready_that_it_is() {
    let place = Place::new();
    place.later(90);
    let health = place.get("/health");
    health.expect(200);
    golden::check_json("health.json", &health.text.replace(env!("CARGO_PKG_VERSION"), "<version>"));
    assert_eq!(place.get("/ready").expect(200), json!({"ready": true}));
}

#[test]
fn metrics_are_text_for_prometheus() {
    let place = Place::new();
    place.account("acme", "pro");
    place.account("gone", "pro");
    place.key("acme");
    place.bare("DELETE", "/admin/v1/accounts/gone").expect_nothing();
    let metrics = place.get("/metrics");
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    golden::check("metrics.txt", &metrics.text.replace(env!("CARGO_PKG_VERSION"), "<version>"));
}

#[test]
fn the_page_says_where_the_api_is() {
    let page = Place::new().get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.text.contains("/admin/v1/openapi.json"));
}
