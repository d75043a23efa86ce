//! `PATCH /admin/v1/keys/{id}`: changes what a key is called and may be used for.

use axum::Json;
use axum::extract::State;
use serde_json::Value;
use sluicegate_store::directory::{DisplayName, KeyUpdate, Scopes, What};
use utoipa::ToSchema;

use super::create::{Scope, future};
use super::{KeyBody, restrictions};
use crate::Shared;
use crate::auth::Call;
use crate::input::{JsonBody, KeyPath, Object};
use crate::problem::Problem;

/// What of a key is changed. What is absent stays as it is.
#[derive(ToSchema)]
#[schema(as = KeyUpdate)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct KeyUpdateBody {
    /// What people call it.
    #[schema(
        nullable = false,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
        example = "production"
    )]
    name: Option<String>,
    /// What it may be used for.
    #[schema(nullable = false, max_items = 50, example = json!(["convert:write"]))]
    scopes: Option<Vec<Scope>>,
    /// From when on it is invalid, which has to lie in the future; null: never.
    #[schema(format = DateTime, example = "2099-11-01T12:00:00Z")]
    expires_at: Option<String>,
    /// The networks that it may be used from; null or empty: every address.
    #[schema(max_items = 50, example = json!(["192.0.2.0/24"]))]
    allowed_ips: Option<Vec<String>>,
    /// The origins of web pages that it may be used from; null or empty: every one, and callers that are no browsers.
    #[schema(max_items = 50, example = json!(["https://app.example.com"]))]
    allowed_origins: Option<Vec<String>>,
    /// Its own limits below those of its account; null: none.
    #[schema(value_type = Option<Object>, example = json!({"rate": "5/s", "quota": 1000}))]
    limits: Option<Value>,
}

/// Change a key
///
/// The change holds from the next request on, on every node within a second. Its secret stays.
#[utoipa::path(
    patch,
    path = "/admin/v1/keys/{id}",
    tag = "keys",
    operation_id = "updateKey",
    params(("id" = String, Path, description = "The key", example = "4fVZ8pQ2mX0c")),
    request_body = KeyUpdateBody,
    responses(
        (status = 200, description = "The key", body = KeyBody),
        (status = 404, description = "There is no such key"),
        (status = 409, description = "The key is revoked"),
        (status = 422, description = "A field is wrong"),
    )
)]
pub(crate) async fn update(
    State(admin): State<Shared>,
    call: Call,
    KeyPath(id): KeyPath,
    JsonBody(body): JsonBody,
) -> Result<Json<KeyBody>, Problem> {
    let directory = admin.engine.directory();
    let found = directory.find_key(id).await?.ok_or_else(|| Problem::not_found(What::Key))?;
    let known = ["name", "scopes", "expires_at", "allowed_ips", "allowed_origins", "limits"];
    let cleared = |field: &str| body.get(field).is_some_and(Value::is_null);
    let cleared = ["expires_at", "allowed_ips", "allowed_origins", "limits"].map(cleared);
    let mut body = Object::of(body, &known)?;
    let scopes = body.optional_texts("scopes")?;
    let scopes = scopes.map(|scopes| Scopes::new(scopes.iter().map(String::as_str))).transpose()?;
    let name = body.optional_text("name")?.map(|name| DisplayName::new(&name)).transpose()?;
    let expires_at = body.optional_text("expires_at")?.map(|text| future(&text, call.now)).transpose()?;
    let given = restrictions::read(&mut body, found.account.as_str(), &admin).await?;
    let [never, every_ip, every_origin, no_limits] = cleared;
    let change = KeyUpdate {
        name,
        scopes,
        expires_at: expires_at.map(Some).or(never.then_some(None)),
        allowed_ips: given.allowed_ips.or_else(|| every_ip.then(Default::default)),
        allowed_origins: given.allowed_origins.or_else(|| every_origin.then(Default::default)),
        limits: given.limits.map(Some).or(no_limits.then_some(None)),
    };
    let now = call.now;
    let key = directory.update_key(id, change, &call.writer()).await?;
    KeyBody::read(&key, &admin, now).await.map(Json)
}
