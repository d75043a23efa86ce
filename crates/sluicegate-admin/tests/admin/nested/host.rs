//! An application that mounts the router, and a client that treats cookies as browsers do.

use std::cell::RefCell;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::place::{Place, TOKEN};

/// Where the router is mounted in most tests.
pub(crate) const PREFIXES: [&str; 3] = ["", "/ops", "/a/b"];

const AUTHORITY: &str = "app.example";
const ORIGIN: &str = "http://app.example";

/// An application with routes and a fallback of its own, and these routers below these prefixes.
pub(crate) fn application(mounted: &[(&str, &Place)]) -> Router {
    let fallback = || async { (StatusCode::NOT_FOUND, "the application has no such page") };
    let application = Router::new()
        .route("/", get(|| async { "the application" }))
        .route("/opsx", get(|| async { "another page" }))
        .fallback(fallback);
    mounted
        .iter()
        .fold(application, |application, (prefix, place)| application.nest(prefix, place.router.clone()))
}

/// The router below this prefix of an application, or by itself if there is none.
pub(crate) fn mounted_at(prefix: &str, place: &Place) -> Router {
    if prefix.is_empty() { place.router.clone() } else { application(&[(prefix, place)]) }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }
}

struct Cookie {
    path: String,
    /// `name=value`.
    pair: String,
}

/// A browser with its cookies.
pub(crate) struct Browser {
    application: Router,
    cookies: RefCell<Vec<Cookie>>,
}

impl Browser {
    pub(crate) fn new(application: Router) -> Self {
        Self { application, cookies: RefCell::default() }
    }

    /// The cookies that are sent to this path: those with longer paths first (RFC 6265).
    pub(crate) fn cookies_for(&self, path: &str) -> Vec<String> {
        let path = path.split('?').next().unwrap();
        let matches = |cookie: &&Cookie| {
            path.strip_prefix(cookie.path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || cookie.path.ends_with('/'))
        };
        let cookies = self.cookies.borrow();
        let mut sent: Vec<&Cookie> = cookies.iter().filter(matches).collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        sent.iter().map(|cookie| cookie.pair.clone()).collect()
    }

    fn store(&self, headers: &HeaderMap) {
        for line in headers.get_all("set-cookie") {
            let line = line.to_str().unwrap();
            let pair = line.split(';').next().unwrap().to_owned();
            let path = line.split("; ").find_map(|part| part.strip_prefix("Path=")).unwrap().to_owned();
            let name = pair.split('=').next().unwrap();
            let mut cookies = self.cookies.borrow_mut();
            cookies.retain(|old| old.path != path || old.pair.split('=').next().unwrap() != name);
            if !line.contains("Max-Age=0") {
                cookies.push(Cookie { path, pair });
            }
        }
    }

    /// Sends what a page of this origin would, and returns before the body has come.
    pub(crate) async fn begin(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        more: &[(&str, &str)],
    ) -> Response<Body> {
        let cookies = self.cookies_for(path).join("; ");
        let mut request = Request::builder().method(method).uri(path).header("host", AUTHORITY);
        request = request.header("origin", ORIGIN).header("content-type", "application/json");
        if !cookies.is_empty() {
            request = request.header("cookie", cookies);
        }
        let request = more.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let body = body.map_or_else(Body::empty, |body| body.to_string().into());
        let response = self.application.clone().call(request.body(body).unwrap()).await.unwrap();
        self.store(response.headers());
        response
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        more: &[(&str, &str)],
    ) -> Answer {
        let (parts, body) = self.begin(method, path, body, more).await.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, &[]).await
    }

    /// Signs in below this prefix. Returns the CSRF token.
    pub(crate) async fn sign_in(&self, prefix: &str) -> String {
        let path = format!("{prefix}/admin/session");
        let session = self.send("POST", &path, Some(json!({"token": TOKEN})), &[]).await;
        session.json(200)["csrf"].as_str().unwrap().to_owned()
    }
}
