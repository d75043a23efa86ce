//! `GET /admin/v1/accounts`: the accounts, in the order in which they were made.

use axum::Json;
use axum::extract::State;

use super::AccountBody;
use crate::Shared;
use crate::input::{ListParams, ListQuery};
use crate::list::List;
use crate::problem::Problem;

/// List the accounts
#[utoipa::path(
    get,
    path = "/admin/v1/accounts",
    tag = "accounts",
    operation_id = "listAccounts",
    params(ListParams),
    responses((status = 200, description = "A page of accounts", body = List<AccountBody>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    ListQuery(page): ListQuery,
) -> Result<Json<List<AccountBody>>, Problem> {
    let accounts = admin.engine.directory().list_accounts(page).await?;
    Ok(Json(List::of(accounts, AccountBody::from)))
}
