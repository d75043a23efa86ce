//! `DELETE /admin/v1/tokens/{id}`: makes a token invalid, for good.

use axum::extract::State;
use http::StatusCode;

use crate::Shared;
use crate::auth::Call;
use crate::input::TokenPath;
use crate::problem::Problem;

/// Revoke a token
///
/// It is refused at once here, and by every node within a second. Sessions and connections opened with it end.
#[utoipa::path(
    delete,
    path = "/admin/v1/tokens/{id}",
    tag = "tokens",
    operation_id = "revokeToken",
    params(("id" = String, Path, description = "The token", example = "4fVZ8pQ2mX0c")),
    responses(
        (status = 204, description = "It is revoked"),
        (status = 404, description = "There is no such token"),
    )
)]
pub(crate) async fn revoke(
    State(admin): State<Shared>,
    call: Call,
    TokenPath(id): TokenPath,
) -> Result<StatusCode, Problem> {
    admin.engine.directory().revoke_token(id, &call.writer()).await?;
    Ok(StatusCode::NO_CONTENT)
}
