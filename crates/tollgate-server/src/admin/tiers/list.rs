//! `GET /admin/v1/tiers`: the tiers of the policy in force.

use axum::Json;
use axum::extract::State;

use super::ExplainedTiers;
use crate::admin::Shared;

/// List the tiers of the policy in force
///
/// Every limit as it is meant, in the order in which limits are asked.
#[utoipa::path(
    get,
    path = "/admin/v1/tiers",
    tag = "policy",
    operation_id = "listTiers",
    responses((status = 200, description = "The tiers", body = ExplainedTiers))
)]
pub(crate) async fn list(State(admin): State<Shared>) -> Json<ExplainedTiers> {
    Json(ExplainedTiers::of(admin.engine.policy().policy()))
}
