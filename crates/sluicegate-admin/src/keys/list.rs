//! `GET /admin/v1/accounts/{id}/keys`: the keys of an account, revoked ones included.

use axum::Json;
use axum::extract::State;

use super::KeyBody;
use crate::Shared;
use crate::auth::Call;
use crate::input::{AccountPath, ListParams, ListQuery};
use crate::list::List;
use crate::problem::Problem;

/// List the keys of an account
///
/// In the order in which they were made, revoked ones included.
#[utoipa::path(
    get,
    path = "/admin/v1/accounts/{id}/keys",
    tag = "keys",
    operation_id = "listKeys",
    params(("id" = String, Path, description = "The account", example = "acme"), ListParams),
    responses(
        (status = 200, description = "A page of keys", body = List<KeyBody>),
        (status = 404, description = "There is no such account"),
    )
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    call: Call,
    AccountPath(id): AccountPath,
    ListQuery(page): ListQuery,
) -> Result<Json<List<KeyBody>>, Problem> {
    let keys = admin.engine.directory().list_keys(id.as_str(), page).await?;
    let serials: Vec<u64> = keys.items.iter().map(|key| key.serial).collect();
    let used = admin.engine.directory().last_used(&serials).await?;
    let mut used = used.into_iter();
    Ok(Json(List::of(keys, |key| KeyBody::of(&key, used.next().flatten(), call.now))))
}
