//! The pages below a prefix in a real browser: `browser.py` drives Chromium.

use std::net::Ipv4Addr;
use std::path::Path;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};
use sluicegate_testkit::python;
use tokio::net::TcpListener;
use tower_service::Service as _;

use super::host::application;
use crate::place::{Place, TOKEN};

/// Opens and uses every page of the router in this application.
fn use_every_page(place: &Place, application: Router, mount: &Value) {
    place.account("acme", "pro");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let address = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(axum::serve(listener, application).into_future());
        address
    });
    let mut told = json!({"origin": format!("http://{address}"), "token": TOKEN});
    told.as_object_mut().unwrap().extend(mount.as_object().unwrap().clone());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin/nested/browser.py");
    let found = python::run(&script, &[told.to_string()]);
    assert_eq!(found["complaints"], json!([]), "{found:#}");
    assert_eq!(found["outside"], json!([]), "{found:#}");
    assert_eq!(found["pages"], 9, "{found:#}");
    let newest = &place.get("/admin/v1/audit").expect(200)["items"][0];
    assert_eq!((&newest["target"], &newest["who"]), (&json!("globex"), &json!("admin (dashboard)")));
}

#[test]
fn every_page_works_below_a_prefix_of_an_application() {
    let place = Place::new();
    let mount = json!({"prefix": "/ops", "home": "/ops", "cookie_path": "/ops"});
    use_every_page(&place, application(&[("/ops", &place)]), &mount);
}

/// As a proxy in front of the server: the router does not see the prefix.
async fn strip_prefix(State(mut router): State<Router>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().unwrap().as_str();
    parts.uri = path.strip_prefix("/ops").unwrap_or("/nothing").parse().unwrap();
    parts.extensions.clear();
    router.call(Request::from_parts(parts, body)).await.unwrap()
}

#[test]
fn every_page_works_behind_a_proxy_that_strips_a_prefix() {
    let place = Place::new();
    let proxy = Router::new().fallback(strip_prefix).with_state(place.router.clone());
    use_every_page(&place, proxy, &json!({"prefix": "/ops", "home": "/ops/", "cookie_path": "/"}));
}
