//! `GET /admin/v1/keys/{id}`: one key.

use axum::Json;
use axum::extract::State;
use sluicegate_store::directory::What;

use super::KeyBody;
use crate::Shared;
use crate::auth::Call;
use crate::input::KeyPath;
use crate::problem::Problem;

/// Show a key
#[utoipa::path(
    get,
    path = "/admin/v1/keys/{id}",
    tag = "keys",
    operation_id = "showKey",
    params(("id" = String, Path, description = "The key", example = "4fVZ8pQ2mX0c")),
    responses(
        (status = 200, description = "The key", body = KeyBody),
        (status = 404, description = "There is no such key"),
    )
)]
pub(crate) async fn show(
    State(admin): State<Shared>,
    call: Call,
    KeyPath(id): KeyPath,
) -> Result<Json<KeyBody>, Problem> {
    let key = admin.engine.directory().find_key(id).await?;
    let key = key.ok_or_else(|| Problem::not_found(What::Key))?;
    KeyBody::read(&key, &admin, call.now).await.map(Json)
}
