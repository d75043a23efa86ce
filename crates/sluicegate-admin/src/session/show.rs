//! `GET /admin/session`: whether somebody is signed in.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;

use super::SessionBody;
use crate::Shared;
use crate::auth::{self, Call};

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
    let found = auth::session(&admin, &headers, call.now);
    Json(found.map_or(SessionBody::NONE, |(id, lasts, _)| SessionBody::of(id, lasts)))
}
