//! The dashboard: pages for people, and what they are made of. It is all in the program; nothing is fetched from
//! elsewhere, and nothing on the pages is anybody's secret: what they show they ask of the API.

mod assets;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};

use super::Shared;
use super::mount::Mount;
use super::problem::{Error, Problem};

/// Scripts and styles come from this server, requests go to it, and no other page shows ours in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Pages without anything behind their names.
const PAGES: [&str; 6] = ["/accounts", "/tiers", "/abuse", "/ledger", "/live", "/explain"];

/// Pages of one thing each, by the first part of their paths.
const PAGES_OF: [&str; 2] = ["/accounts/", "/explain/"];

const ASSETS: &str = "/assets/";

/// Whether anybody may see what is at this path, because it is the same for everybody.
pub(super) fn is_open(path: &str) -> bool {
    let of_one = |start: &&str| path.strip_prefix(*start).is_some_and(|rest| !rest.contains('/'));
    PAGES.contains(&path) || PAGES_OF.iter().any(of_one) || path.starts_with(ASSETS)
}

/// The pages and what they are made of, beside the API.
pub(super) fn routes(router: Router<Shared>) -> Router<Shared> {
    let router = PAGES.iter().fold(router, |router, path| router.route(path, get(home)));
    let router =
        PAGES_OF.iter().fold(router, |router, start| router.route(&format!("{start}{{id}}"), get(home)));
    router.route(&format!("{ASSETS}{{*name}}"), get(asset))
}

/// Show the dashboard
///
/// A page for people. It wants the admin token once, and asks this API for what it shows.
#[utoipa::path(
    get,
    path = "/",
    tag = "process",
    operation_id = "home",
    responses((status = 200, description = "A page for people", body = String, content_type = "text/html"))
)]
pub(crate) async fn home(mount: Mount, uri: Uri, headers: HeaderMap) -> Response {
    let page = assets::page(&mount, uri.path());
    answer(assets::PAGE_KIND, &assets::tag(&page), page, &headers)
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match assets::find(&name) {
        Some(asset) => answer(asset.kind(), asset.tag(), asset.text(), &headers),
        None => Problem::new(Error::NotFound, "There is nothing at this path.").into_response(),
    }
}

/// Browsers ask each time whether what they have is still right, and are told so in a few bytes.
fn answer(kind: &'static str, tag: &str, text: impl IntoResponse, asked: &HeaderMap) -> Response {
    let is_known = asked.get_all(IF_NONE_MATCH).iter().any(|known| {
        known
            .to_str()
            .is_ok_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag))
    });
    let headers: [(HeaderName, HeaderValue); 6] = [
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (ETAG, HeaderValue::from_str(tag).unwrap_or(HeaderValue::from_static("\"\""))),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_is_what_the_dashboard_has_and_nothing_beside_it() {
        for open in
            ["/accounts", "/accounts/acme", "/explain/dec_1", "/assets/app.js", "/assets/pages/live.js"]
        {
            assert!(is_open(open), "{open}");
        }
        for closed in
            ["/accounts/acme/keys", "/admin/v1/accounts", "/metrics", "/tiers/x", "/assets", "/accountsx"]
        {
            assert!(!is_open(closed), "{closed}");
        }
    }
}
