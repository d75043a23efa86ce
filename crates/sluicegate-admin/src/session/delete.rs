//! `DELETE /admin/session`: signs out.

use axum::extract::{Request, State};
use http::header::SET_COOKIE;
use http::{HeaderName, HeaderValue, StatusCode};

use super::scheme;
use crate::Shared;
use crate::auth::{self, Call, cookie};
use crate::mount::Mount;
use crate::problem::Problem;

/// Sign out
///
/// Whoever is not signed in is not afterwards, either.
#[utoipa::path(
    delete,
    path = "/admin/session",
    tag = "session",
    operation_id = "signOut",
    responses(
        (status = 204, description = "Nobody is signed in"),
        (status = 403, description = "The request does not come from the dashboard"),
    )
)]
pub(crate) async fn delete(
    State(admin): State<Shared>,
    call: Call,
    request: Request,
) -> Result<(StatusCode, [(HeaderName, HeaderValue); 1]), Problem> {
    let (parts, _) = request.into_parts();
    if let Some((id, ..)) = auth::session(&admin, &parts.headers, call.now) {
        auth::check_forged(id, &parts)?;
        admin.sessions.lock().close(id);
    }
    let cookie = cookie::forget(Mount::of(&parts).cookie_path(), scheme(&parts));
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]))
}
