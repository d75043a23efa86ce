//! `GET /admin/v1/accounts/{id}`: one account.

use axum::Json;
use axum::extract::State;
use sluicegate_store::directory::What;

use super::AccountBody;
use crate::Shared;
use crate::input::AccountPath;
use crate::problem::Problem;

/// Show an account
#[utoipa::path(
    get,
    path = "/admin/v1/accounts/{id}",
    tag = "accounts",
    operation_id = "showAccount",
    params(("id" = String, Path, description = "The account", example = "acme")),
    responses(
        (status = 200, description = "The account", body = AccountBody),
        (status = 404, description = "There is no such account"),
    )
)]
pub(crate) async fn show(
    State(admin): State<Shared>,
    AccountPath(id): AccountPath,
) -> Result<Json<AccountBody>, Problem> {
    let account = admin.engine.directory().find_account(id.as_str()).await?;
    account.map(|account| Json(account.into())).ok_or_else(|| Problem::not_found(What::Account))
}
