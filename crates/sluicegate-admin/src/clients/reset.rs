//! `DELETE /admin/v1/clients/{id}/reputation`: forgets what is held against a client.

use axum::extract::State;
use http::StatusCode;
use serde_json::json;
use sluicegate_core::block::Caller;
use sluicegate_store::directory::{Deed, Note};

use super::{ClientPath, nobody};
use crate::Shared;
use crate::auth::Call;
use crate::blocks::noted;
use crate::problem::Problem;

/// Forget what is held against a client
///
/// It has its reputation back, its refusals are forgotten, and its block is lifted. What it has used stays used.
#[utoipa::path(
    delete,
    path = "/admin/v1/clients/{id}/reputation",
    tag = "abuse",
    operation_id = "resetClient",
    params(("id" = String, Path, description = "The client", example = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")),
    responses(
        (status = 204, description = "Nothing is held against it any more"),
        (status = 404, description = "It cannot be a client, or callers without a key are not let in"),
    )
)]
pub(crate) async fn reset(
    State(admin): State<Shared>,
    call: Call,
    ClientPath(id): ClientPath,
) -> Result<StatusCode, Problem> {
    let now = call.now;
    let before = admin.engine.client(id, now).await?.ok_or_else(nobody)?;
    let note = Note {
        deed: Deed::ResetClient,
        target: id.to_string(),
        before: Some(json!({
            "score": before.reputation.map(|known| known.score),
            "strikes": before.strikes.map(|known| known.count),
            "block": before.block.as_ref().map(noted),
        })),
        after: None,
    };
    admin.engine.directory().note(note, &call.writer()).await?;
    if before.block.is_some() {
        admin.engine.unblock(Caller::client(id.0), now).await?;
    }
    admin.engine.forgive(id, now).await?;
    Ok(StatusCode::NO_CONTENT)
}
