//! `GET /ready`: whether requests should be sent here, for load balancers.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// Whether requests should be sent here.
#[derive(Serialize, ToSchema)]
#[schema(as = Ready)]
pub(crate) struct ReadyBody {
    #[schema(example = true)]
    ready: bool,
}

/// Show whether requests should be sent here
#[utoipa::path(
    get,
    path = "/ready",
    tag = "process",
    operation_id = "ready",
    responses((status = 200, description = "They should", body = ReadyBody))
)]
pub(crate) async fn ready() -> Json<ReadyBody> {
    // The listener is bound after recovery: whoever can ask is answered by an engine that decides.
    Json(ReadyBody { ready: true })
}
