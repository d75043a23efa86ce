//! `POST /admin/session`: signs in with the admin token.

use axum::Json;
use axum::extract::{FromRequest as _, Query, Request, State};
use bytes::Bytes;
use http::header::SET_COOKIE;
use http::{HeaderName, HeaderValue, Uri};
use sluicegate_store::token::Role;
use utoipa::ToSchema;

use super::{SessionBody, scheme};
use crate::Shared;
use crate::auth::{self, cookie, origin};
use crate::input::{Object, ShortText, json, wrong};
use crate::mount::Mount;
use crate::problem::{Error, Problem};

/// Who signs in.
#[derive(ToSchema)]
#[schema(as = NewSession)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct NewSessionBody {
    /// The token.
    token: String,
}

/// Sign in
///
/// With a token of the role `read` or more, as JSON or as a form. Its cookie opens the API to pages of this server.
#[utoipa::path(
    post,
    path = "/admin/session",
    tag = "session",
    operation_id = "signIn",
    request_body = NewSessionBody,
    responses(
        (status = 200, description = "The session", body = SessionBody,
            headers(("Set-Cookie" = String, description = "Its cookie"))),
        (status = 400, description = "The body cannot be read"),
        (status = 401, description = "The token is wrong"),
        (status = 403, description = "The role is too small, or the request was sent by a page of another origin"),
        (status = 413, description = "The body is too large"),
        (status = 415, description = "The body has the wrong type"),
        (status = 422, description = "A field is wrong"),
        (status = 429, description = "Too many wrong tokens were sent from this address"),
        (status = 503, description = "The system gives no random bytes"),
    )
)]
pub(crate) async fn create(
    State(admin): State<Shared>,
    request: Request,
) -> Result<([(HeaderName, HeaderValue); 1], Json<SessionBody>), Problem> {
    let (parts, body) = request.into_parts();
    // Nobody is signed in by somebody else's page, not even with the right token.
    if origin::of(&parts) == origin::Comes::FromElsewhere {
        return Err(auth::elsewhere());
    }
    let (scheme, mount) = (scheme(&parts), Mount::of(&parts));
    let head = parts.clone();
    let ShortText(body) = ShortText::from_request(Request::from_parts(parts, body), &()).await?;
    let token = token(&body)?;
    let now = admin.engine.now();
    let holder = auth::check_token(&admin, token.trim().as_bytes(), &head, now).await?;
    if !holder.role.includes(Role::Read) {
        let detail = format!(
            "The dashboard needs the role {}, and the token has the role {}.",
            Role::Read,
            holder.role
        );
        return Err(Problem::new(Error::RoleTooSmall, detail));
    }
    tracing::info!(token = holder.name, "signed in to the dashboard");
    let opened = admin.sessions.lock().open(holder, now);
    let (id, lasts) =
        opened.map_err(|_| Problem::new(Error::Unavailable, "The system gives no random bytes."))?;
    Ok(([(SET_COOKIE, cookie::keep(id, mount.cookie_path(), scheme))], Json(SessionBody::of(id, lasts))))
}

/// The token in JSON or in a form, whatever the type says: `curl -d` says the same of both.
fn token(body: &Bytes) -> Result<String, Problem> {
    if body.trim_ascii_start().starts_with(b"{") {
        return Object::of(json(body)?, &["token"])?.text("token");
    }
    let missing = || wrong("token", "is missing");
    let query = str::from_utf8(body).ok().map(|body| format!("/?{}", body.trim()));
    let uri: Uri = query.and_then(|query| query.parse().ok()).ok_or_else(missing)?;
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&uri).map_err(|_| missing())?;
    pairs.into_iter().find(|(name, _)| name == "token").map(|(_, token)| token).ok_or_else(missing)
}
