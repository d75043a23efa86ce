//! The dashboard: what it is made of, and how a browser is told to treat it.

use axum::body::Body;
use http::Request;

use crate::place::{Place, Reply};

fn open(place: &Place, path: &str, headers: &[(&str, &str)]) -> Reply {
    let request =
        headers.iter().fold(Request::builder().uri(path), |it, (name, value)| it.header(*name, *value));
    place.send(request.body(Body::empty()).unwrap())
}

const PAGES: [&str; 9] = [
    "/",
    "/accounts",
    "/accounts/acme",
    "/tiers",
    "/abuse",
    "/ledger",
    "/live",
    "/explain",
    "/explain/dec_1",
];

#[test]
fn every_page_loads_directly_and_allows_nothing_from_elsewhere() {
    let place = Place::new();
    for path in PAGES {
        let page = open(&place, path, &[]);
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{path}"
        );
        let policy = page.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]
        {
            assert!(policy.contains(part), "{path}: {part}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    }
    for path in ["/accounts/acme/keys", "/nothing", "/tiers/free"] {
        assert_eq!(open(&place, path, &[]).status, 401, "{path}");
    }
}

#[test]
fn an_asset_is_sent_again_only_when_it_has_changed() {
    let place = Place::new();
    let script = open(&place, "/assets/app.js", &[]);
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_eq!(script.header("cache-control"), Some("no-cache"));
    let tag = script.header("etag").unwrap().to_owned();
    for known in [tag.clone(), format!("\"other\", {tag}"), format!("W/{tag}")] {
        let again = open(&place, "/assets/app.js", &[("if-none-match", &known)]);
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{known}");
        assert_eq!(again.header("etag"), Some(tag.as_str()));
    }
    assert_eq!(open(&place, "/assets/app.js", &[("if-none-match", "\"other\"")]).status, 200);
    for path in ["/assets/nothing.js", "/assets/../admin.rs", "/assets/pages"] {
        open(&place, path, &[]).problem(404, "not_found", None);
    }
}

#[test]
fn the_page_loads_what_is_there() {
    let place = Place::new();
    let page = open(&place, "/", &[]).text;
    let named: Vec<&str> =
        page.split("\"./assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(named.len() >= 4, "{named:?}");
    for name in named {
        assert_eq!(open(&place, &format!("/assets/{name}"), &[]).status, 200, "{name}");
    }
}
