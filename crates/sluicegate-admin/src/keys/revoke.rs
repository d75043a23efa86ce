//! `DELETE /admin/v1/keys/{id}`: makes a key invalid, for good.

use axum::extract::State;
use http::StatusCode;

use crate::Shared;
use crate::auth::Call;
use crate::input::KeyPath;
use crate::problem::Problem;

/// Revoke a key
///
/// It is invalid from the next request on, for good. One that is revoked already stays as it is.
#[utoipa::path(
    delete,
    path = "/admin/v1/keys/{id}",
    tag = "keys",
    operation_id = "revokeKey",
    params(("id" = String, Path, description = "The key", example = "4fVZ8pQ2mX0c")),
    responses(
        (status = 204, description = "It is revoked"),
        (status = 404, description = "There is no such key"),
    )
)]
pub(crate) async fn revoke(
    State(admin): State<Shared>,
    call: Call,
    KeyPath(id): KeyPath,
) -> Result<StatusCode, Problem> {
    admin.engine.directory().revoke_key(id, &call.writer()).await?;
    Ok(StatusCode::NO_CONTENT)
}
