//! `DELETE /admin/v1/accounts/{id}`: deletes an account and revokes its keys.

use axum::extract::State;
use http::StatusCode;

use crate::Shared;
use crate::auth::Call;
use crate::input::AccountPath;
use crate::problem::Problem;

/// Delete an account
///
/// Its keys are revoked. What it used stays in the ledger, under its unique id. Whoever is given its id later is
/// another customer, with limits that are all unused.
#[utoipa::path(
    delete,
    path = "/admin/v1/accounts/{id}",
    tag = "accounts",
    operation_id = "deleteAccount",
    params(("id" = String, Path, description = "The account", example = "acme")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 404, description = "There is no such account"),
    )
)]
pub(crate) async fn delete(
    State(admin): State<Shared>,
    call: Call,
    AccountPath(id): AccountPath,
) -> Result<StatusCode, Problem> {
    admin.engine.directory().delete_account(id.as_str(), &call.writer()).await?;
    Ok(StatusCode::NO_CONTENT)
}
