//! `GET /admin/session`: whether somebody is signed in.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;

use super::SessionBody;
use crate::admin::Shared;
use crate::admin::auth::{Call, cookie};

/// Show whether somebody is signed in
///
/// With the cookie of a session, the answer has what requests that change something send along.
#[utoipa::path(
    get,
    path = "/admin/session",
    tag = "session",
    operation_id = "showSession",
    responses((status = 200, description = "The session, or that there is none", body = SessionBody))
)]
pub(crate) async fn show(State(admin): State<Shared>, call: Call, headers: HeaderMap) -> Json<SessionBody> {
    let found = cookie::read(&headers)
        .and_then(|id| admin.sessions.lock().find(id, call.now).map(|lasts| SessionBody::of(id, lasts)));
    Json(found.unwrap_or(SessionBody::NONE))
}
