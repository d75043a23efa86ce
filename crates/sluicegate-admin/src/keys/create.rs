//! `POST /admin/v1/accounts/{id}/keys`: makes a key.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use http::header::LOCATION;
use serde_json::Value;
use sluicegate_core::file::closest;
use sluicegate_core::time::Timestamp;
use sluicegate_store::directory::{DisplayName, KeyRestrictions, NewKey, Scopes};
use sluicegate_store::key_text::KeyEnv;
use utoipa::ToSchema;

use super::{Env, KeyBody, SecretBody, restrictions};
use crate::Shared;
use crate::auth::Call;
use crate::input::{AccountPath, JsonBody, Object, wrong};
use crate::instant::{self, BadInstant};
use crate::mount::Mount;
use crate::problem::Problem;

/// A key to be made.
#[derive(ToSchema)]
#[schema(as = NewKey)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct NewKeyBody {
    /// What people call it.
    #[schema(max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", example = "production")]
    name: String,
    /// What it is for; absent: live.
    env: Option<Env>,
    /// What it may be used for; `*` admits everything; absent: nothing that demands a scope.
    #[schema(max_items = 50, example = json!(["convert:write"]))]
    scopes: Option<Vec<Scope>>,
    /// From when on it is invalid, which has to lie in the future; absent: never.
    #[schema(format = DateTime, example = "2099-11-01T12:00:00Z")]
    expires_at: Option<String>,
    /// The networks that it may be used from; absent or empty: every address.
    #[schema(max_items = 50, example = json!(["192.0.2.0/24"]))]
    allowed_ips: Option<Vec<String>>,
    /// The origins of web pages that it may be used from, such as https://app.example.com or https://*.example.com;
    /// absent or empty: every one, and callers that are no browsers.
    #[schema(max_items = 50, example = json!(["https://app.example.com"]))]
    allowed_origins: Option<Vec<String>>,
    /// Its own limits below those of its account: `rate`, `burst`, `burst_multiplier`, `quota`, `quota_window`,
    /// `quota_status`, `concurrency` and `limits`, as in a tier; absent: none.
    #[schema(value_type = Option<Object>, example = json!({"rate": "5/s", "quota": 1000}))]
    limits: Option<Value>,
}

/// A scope.
#[derive(ToSchema)]
#[schema(pattern = "^[A-Za-z0-9:._*-]{1,64}$")]
#[expect(dead_code, reason = "it describes what is read by hand")]
pub(crate) struct Scope(String);

/// Make a key
///
/// The answer shows the secret, this once.
#[utoipa::path(
    post,
    path = "/admin/v1/accounts/{id}/keys",
    tag = "keys",
    operation_id = "createKey",
    params(("id" = String, Path, description = "The account", example = "acme")),
    request_body = NewKeyBody,
    responses(
        (status = 201, description = "The key with its secret", body = SecretBody,
            headers(("Location" = String, description = "The path of the key"))),
        (status = 404, description = "There is no such account"),
        (status = 409, description = "The account has made too many keys"),
        (status = 422, description = "A field is wrong"),
    )
)]
pub(crate) async fn create(
    State(admin): State<Shared>,
    call: Call,
    mount: Mount,
    AccountPath(id): AccountPath,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, [(http::HeaderName, String); 1], Json<SecretBody>), Problem> {
    let now = call.now;
    let known: Vec<&str> =
        ["name", "env", "scopes", "expires_at"].into_iter().chain(restrictions::MEMBERS).collect();
    let mut body = Object::of(body, &known)?;
    let new = read(&mut body, now)?;
    let given = restrictions::read(&mut body, id.as_str(), &admin).await?;
    let restrictions = KeyRestrictions {
        allowed_ips: given.allowed_ips.unwrap_or_default(),
        allowed_origins: given.allowed_origins.unwrap_or_default(),
        limits: given.limits,
    };
    let directory = admin.engine.directory();
    let by = call.writer();
    let (key, secret) = directory.create_restricted_key(id.as_str(), new, restrictions, &by).await?;
    let location = mount.path(&format!("/admin/v1/keys/{}", key.id));
    Ok((
        StatusCode::CREATED,
        [(LOCATION, location)],
        Json(SecretBody::of(KeyBody::of(&key, None, now), &secret)),
    ))
}

fn read(body: &mut Object, now: Timestamp) -> Result<NewKey, Problem> {
    let scopes = body.optional_texts("scopes")?.unwrap_or_default();
    Ok(NewKey {
        name: DisplayName::new(&body.text("name")?)?,
        env: body.optional_text("env")?.map_or(Ok(KeyEnv::Live), |name| env(&name))?,
        scopes: Scopes::new(scopes.iter().map(String::as_str))?,
        expires_at: body.optional_text("expires_at")?.map(|text| future(&text, now)).transpose()?,
    })
}

fn env(name: &str) -> Result<KeyEnv, Problem> {
    let known = [KeyEnv::Live.as_str(), KeyEnv::Test.as_str()];
    KeyEnv::parse(name).ok_or_else(|| match closest(name, known) {
        Some(meant) => wrong("env", &format!("is not known; did you mean \"{meant}\"?")),
        None => wrong("env", "is not \"live\" or \"test\""),
    })
}

/// An instant that lies in the future.
pub(crate) fn future(text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    match instant::parse(text) {
        Ok(at) if at > now => Ok(at),
        Ok(_) => Err(wrong("expires_at", "does not lie in the future")),
        Err(BadInstant::Form) => Err(wrong("expires_at", "is not a time such as 2027-01-31T12:00:00Z")),
        Err(BadInstant::TooLate) => {
            Err(wrong("expires_at", "is after the year 2105; leave it out for never"))
        }
    }
}
