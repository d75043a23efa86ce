//! `POST /admin/v1/keys/{id}/rotate`: gives a key a new secret.

use axum::Json;
use axum::extract::State;
use sluicegate_core::file::duration_secs;
use sluicegate_core::time::Nanos;
use utoipa::ToSchema;

use super::{KeyBody, SecretBody};
use crate::Shared;
use crate::auth::Call;
use crate::input::{KeyPath, Object, OptionalJsonBody, wrong};
use crate::problem::Problem;

/// Time for a deployment and its roll-back.
const OVERLAP_DEFAULT_SECS: u32 = 24 * 3_600;

/// Two secrets for longer than a month are two keys.
const OVERLAP_MAX_SECS: u32 = 30 * 86_400;

/// How a secret is changed.
#[derive(ToSchema)]
#[schema(as = Rotation)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes what is read by hand, so that every complaint names its field")]
pub(crate) struct RotationBody {
    /// How long the old secret still lives, at most 30d; 0s ends it at once; absent: 24h.
    #[schema(pattern = "^([0-9]+(s|m|h|d))+$", example = "24h")]
    overlap: Option<String>,
}

/// Give a key a new secret
///
/// The answer shows it, this once. The old one lives for the overlap.
#[utoipa::path(
    post,
    path = "/admin/v1/keys/{id}/rotate",
    tag = "keys",
    operation_id = "rotateKey",
    params(("id" = String, Path, description = "The key", example = "4fVZ8pQ2mX0c")),
    request_body = Option<RotationBody>,
    responses(
        (status = 200, description = "The key with its new secret", body = SecretBody),
        (status = 404, description = "There is no such key"),
        (status = 409, description = "The key is revoked or has expired"),
        (status = 422, description = "A field is wrong"),
    )
)]
pub(crate) async fn rotate(
    State(admin): State<Shared>,
    call: Call,
    KeyPath(id): KeyPath,
    OptionalJsonBody(body): OptionalJsonBody,
) -> Result<Json<SecretBody>, Problem> {
    let now = call.now;
    let overlap = match Object::of(body, &["overlap"])?.optional_text("overlap")? {
        Some(text) => overlap(&text)?,
        None => Nanos::from_secs(OVERLAP_DEFAULT_SECS),
    };
    let (key, secret) = admin.engine.directory().rotate_key(id, overlap, &call.writer()).await?;
    // A secret that was made is shown, also if nothing can be read any more.
    let shown = KeyBody::read(&key, &admin, now).await.unwrap_or_else(|_| KeyBody::of(&key, None, now));
    Ok(Json(SecretBody::of(shown, &secret)))
}

fn overlap(text: &str) -> Result<Nanos, Problem> {
    let Some(secs) = duration_secs(text) else {
        return Err(wrong("overlap", "is not a duration such as 30m, 24h or 7d"));
    };
    match u32::try_from(secs) {
        Ok(secs @ 0..=OVERLAP_MAX_SECS) => Ok(Nanos::from_secs(secs)),
        _ => Err(wrong("overlap", "is longer than 30d")),
    }
}
