//! `POST /admin/v1/tokens`: creates a token.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use http::header::LOCATION;
use serde_json::Value;
use sluicegate_core::file::closest;
use sluicegate_core::time::Timestamp;
use sluicegate_store::token::{May, NewToken, Permissions, Role, TokenName};
use utoipa::ToSchema;

use super::{MayWord, RoleWord, TokenBody, TokenSecretBody};
use crate::Shared;
use crate::auth::Call;
use crate::input::{JsonBody, Object, wrong};
use crate::keys::create::future;
use crate::mount::Mount;
use crate::problem::Problem;

/// A token to be created.
#[derive(ToSchema)]
#[schema(as = NewToken)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct NewTokenBody {
    /// Its name, which no other token has.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._@-]+$", example = "prometheus")]
    name: String,
    /// Its role.
    role: RoleWord,
    /// What a token with the role `decide` may do beyond asking for decisions; absent: nothing.
    may: Option<Vec<MayWord>>,
    /// From when on it is invalid, which has to lie in the future; absent: never.
    #[schema(format = DateTime, example = "2099-11-01T12:00:00Z")]
    expires_at: Option<String>,
}

/// Create a token
///
/// The answer shows it, this once.
#[utoipa::path(
    post,
    path = "/admin/v1/tokens",
    tag = "tokens",
    operation_id = "createToken",
    request_body = NewTokenBody,
    responses(
        (status = 201, description = "The token", body = TokenSecretBody,
            headers(("Location" = String, description = "The path of the token"))),
        (status = 409, description = "There is a token of this name, or there are too many"),
        (status = 422, description = "A field is wrong"),
    )
)]
pub(crate) async fn create(
    State(admin): State<Shared>,
    call: Call,
    mount: Mount,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, [(http::HeaderName, String); 1], Json<TokenSecretBody>), Problem> {
    let now = call.now;
    let new = read(body, now)?;
    let (token, secret) = admin.engine.directory().create_token(new, &call.writer()).await?;
    let location = mount.path(&format!("/admin/v1/tokens/{}", token.id));
    let body = TokenSecretBody { record: TokenBody::of(&token, now), token: secret.expose().to_owned() };
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(body)))
}

fn read(body: Value, now: Timestamp) -> Result<NewToken, Problem> {
    let mut body = Object::of(body, &["name", "role", "may", "expires_at"])?;
    let name = TokenName::new(&body.text("name")?)?;
    let role = role(&body.text("role")?)?;
    let may = body.optional_texts("may")?.unwrap_or_default();
    let may = may.iter().enumerate().map(|(at, word)| {
        May::parse(word).ok_or_else(|| wrong(&format!("may[{at}]"), "is neither \"vouch\" nor \"refund\""))
    });
    let may = may.collect::<Result<Permissions, _>>()?;
    let expires_at = body.optional_text("expires_at")?.map(|text| future(&text, now)).transpose()?;
    Ok(NewToken { name, role, may, expires_at })
}

fn role(word: &str) -> Result<Role, Problem> {
    Role::parse(word).ok_or_else(|| {
        let words = Role::ALL.map(Role::as_str);
        let help = match closest(word, words) {
            Some(meant) => format!("is not a role; did you mean \"{meant}\"?"),
            None => format!("is not a role; the roles are {}", words.join(", ")),
        };
        wrong("role", &help)
    })
}
