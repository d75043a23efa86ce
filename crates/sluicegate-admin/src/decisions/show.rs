//! `GET /admin/v1/decisions/{id}`: why a request was refused.

use axum::Json;
use axum::extract::{Path, State};
use sluicegate_engine::DecisionId;

use super::ExplanationBody;
use crate::Shared;
use crate::auth::Call;
use crate::problem::{Error, Problem};

/// Show why a request was refused
///
/// Every denial of this node is kept for an hour, the last 65,536 of them. Nothing is kept of requests that were
/// admitted: the ledger has those.
#[utoipa::path(
    get,
    path = "/admin/v1/decisions/{id}",
    tag = "decisions",
    operation_id = "explainDecision",
    params(("id" = String, Path, description = "The decision", example = "dec_01k8zv4qe0h3n8d5rj2m7w9xab")),
    responses(
        (status = 200, description = "Why it was refused", body = ExplanationBody),
        (status = 404, description = "It was admitted, is too old, or was never made here"),
    )
)]
pub(crate) async fn show(
    State(admin): State<Shared>,
    call: Call,
    Path(id): Path<String>,
) -> Result<Json<ExplanationBody>, Problem> {
    let id = DecisionId::parse(&id);
    let found = id.and_then(|id| admin.engine.pulse().explanation(id, call.now));
    let detail =
        "No denial with this id is known: it was admitted, is older than an hour, or was made elsewhere.";
    found
        .map(|explanation| Json(ExplanationBody::of(&explanation)))
        .ok_or_else(|| Problem::new(Error::NotFound, detail))
}
