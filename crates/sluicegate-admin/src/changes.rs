//! What is changed by calls is told to those who listen, in one place: whatever call was done that writes.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::LOCATION;
use http::{Method, Uri};
use sluicegate_engine::pulse::{Change, Changed};

use super::Shared;
use super::auth::Call;
use super::mount::matched_route;

/// What a call does, by its method and its path.
const DEEDS: [(&str, &str, Changed, &str); 15] = [
    ("POST", "/admin/v1/accounts", Changed::Account, "made account"),
    ("DELETE", "/admin/v1/accounts/{id}", Changed::Account, "deleted account"),
    ("PUT", "/admin/v1/accounts/{id}/tier", Changed::Account, "gave another tier to account"),
    ("PUT", "/admin/v1/accounts/{id}/custom", Changed::Account, "gave negotiated limits to account"),
    ("POST", "/admin/v1/accounts/{id}/keys", Changed::Key, "made key"),
    ("DELETE", "/admin/v1/keys/{id}", Changed::Key, "revoked key"),
    ("PATCH", "/admin/v1/keys/{id}", Changed::Key, "changed key"),
    ("POST", "/admin/v1/keys/revoke", Changed::Key, "revoked keys:"),
    ("POST", "/admin/v1/keys/{id}/rotate", Changed::Key, "gave a new secret to key"),
    ("POST", "/admin/v1/tokens", Changed::Token, "created token"),
    ("DELETE", "/admin/v1/tokens/{id}", Changed::Token, "revoked token"),
    ("POST", "/admin/v1/blocks", Changed::Block, "blocked"),
    ("DELETE", "/admin/v1/blocks", Changed::Block, "lifted the block of"),
    ("DELETE", "/admin/v1/blocks/{id}", Changed::Block, "lifted the block of"),
    ("DELETE", "/admin/v1/clients/{id}/reputation", Changed::Block, "forgave client"),
];

/// Whom a call was about, in the extensions of an answer whose path does not say it.
#[derive(Clone, Debug)]
pub(crate) struct About(pub(crate) String);

/// Answers a call, and tells what it has changed.
pub(crate) async fn tell(State(admin): State<Shared>, request: Request, next: Next) -> Response {
    let path = matched_route(request.extensions()).map(str::to_owned);
    let call = request.extensions().get::<Call>().cloned();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    let (Some(path), Some(call)) = (path, call) else { return response };
    if let Some((what, deed)) = deed_of(&method, &path)
        && response.status().is_success()
        && !is_preview(&uri)
    {
        let about = subject(&uri, &path, &response);
        let text = format!("{} {deed} {about}.", call.who());
        admin.engine.pulse().tell(Change { at: call.now, what, text });
    }
    response
}

fn deed_of(method: &Method, path: &str) -> Option<(Changed, &'static str)> {
    let is_it = |(of, at, ..): &&(&str, &str, Changed, &str)| *of == method.as_str() && *at == path;
    DEEDS.iter().find(is_it).map(|(_, _, what, deed)| (*what, *deed))
}

/// Whether it was only to be shown what a call would do.
fn is_preview(uri: &Uri) -> bool {
    uri.query().unwrap_or_default().split('&').any(|pair| pair == "preview=true")
}

/// Whom it was about: what the answer or the path says.
fn subject(uri: &Uri, path: &str, response: &Response) -> String {
    if let Some(About(subject)) = response.extensions().get() {
        return subject.clone();
    }
    let made = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    if let Some(made) = made.and_then(|made| made.rsplit('/').next()) {
        return made.to_owned();
    }
    let named = path.split('/').zip(uri.path().split('/')).find(|(pattern, _)| *pattern == "{id}");
    let asked = uri.query().and_then(|query| query.strip_prefix("client="));
    named.map(|(_, segment)| segment).or(asked).unwrap_or("a caller").to_owned()
}
