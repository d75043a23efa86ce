//! `DELETE /admin/v1/blocks/{id}`, and `DELETE /admin/v1/blocks?client=`: lifts a block on every node.

use axum::extract::{Path, State};
use http::StatusCode;
use sluicegate_core::block::Caller;
use sluicegate_store::directory::{Deed, Note};
use sluicegate_store::key_text::KeyId;

use super::{CallerParams, caller_of, caller_of_key, caller_text, noted};
use crate::auth::Call;
use crate::input::{QueryPairs, wrong_query};
use crate::problem::{Error, Problem};
use crate::{Admin, Shared};

/// Lift a block
///
/// Every node lets the caller in again within a second. What made it be blocked is not forgotten.
#[utoipa::path(
    delete,
    path = "/admin/v1/blocks/{id}",
    tag = "abuse",
    operation_id = "deleteBlock",
    params(("id" = String, Path, description = "The client, or the id of the key",
        example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")),
    responses(
        (status = 204, description = "It is lifted"),
        (status = 404, description = "It is not blocked"),
    )
)]
pub(crate) async fn delete(
    State(admin): State<Shared>,
    call: Call,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    lift(&admin, &id, call).await
}

/// Lift the block of a client
///
/// The same as deleting the block by its id.
#[utoipa::path(
    delete,
    path = "/admin/v1/blocks",
    tag = "abuse",
    operation_id = "deleteBlockOf",
    params(CallerParams),
    responses(
        (status = 204, description = "It is lifted"),
        (status = 404, description = "It is not blocked"),
    )
)]
pub(crate) async fn delete_of(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
) -> Result<StatusCode, Problem> {
    match pairs.as_slice() {
        [(name, id)] if name == "client" => lift(&admin, id, call).await,
        _ => Err(wrong_query("client", "is missing, or not alone")),
    }
}

async fn lift(admin: &Admin, id: &str, call: Call) -> Result<StatusCode, Problem> {
    let not_blocked = || Problem::new(Error::NotFound, "This caller is not blocked.");
    let caller = find(admin, id).await?.ok_or_else(not_blocked)?;
    let now = call.now;
    let block = admin.engine.block_of(caller, now).ok_or_else(not_blocked)?;
    let note =
        Note { deed: Deed::Unblock, target: caller_text(caller), before: Some(noted(&block)), after: None };
    admin.engine.directory().note(note, &call.writer()).await?;
    admin.engine.unblock(caller, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The caller of this id; nothing if it cannot be one.
async fn find(admin: &Admin, id: &str) -> Result<Option<Caller>, Problem> {
    if let Some(caller) = caller_of(id) {
        return Ok(Some(caller));
    }
    match KeyId::parse(id) {
        Some(key) => caller_of_key(admin, key).await.map(Some),
        None => Ok(None),
    }
}
