//! `GET /admin/v1/tiers`: the tiers of the policy in force.

use axum::Json;
use axum::extract::State;

use serde::Serialize;
use utoipa::ToSchema;

use super::{ExplainedTier, ExplainedTiers};
use crate::Shared;

/// List the tiers of the policy in force
///
/// Every limit as it is meant, in the order in which limits are asked.
#[utoipa::path(
    get,
    path = "/admin/v1/tiers",
    tag = "policy",
    operation_id = "listTiers",
    responses((status = 200, description = "The tiers", body = TierList))
)]
pub(crate) async fn list(State(admin): State<Shared>) -> Json<TierList> {
    let items = ExplainedTiers::of(admin.engine.policy().policy()).tiers;
    Json(TierList { items, next: None })
}

/// The tiers of the policy in force, all of them at once
#[derive(Serialize, ToSchema)]
pub(crate) struct TierList {
    items: Vec<ExplainedTier>,
    /// Always null: there is no second page
    next: Option<String>,
}
