//! `GET /admin/v1/webhook`: how delivering alerts goes.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::{Engine, StoreMode};
use sluicegate_store::alerts::Posted;
use sluicegate_store::directory::StoreError;
use utoipa::ToSchema;

use super::problem::Problem;
use super::{Shared, instant};

/// How delivering alerts goes.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookBody {
    /// Where alerts are sent; null where the policy says nothing.
    #[schema(required, example = "https://alerts.example/sluicegate")]
    url: Option<String>,
    /// How many wait.
    #[schema(example = 0)]
    pending: u64,
    /// How many were delivered.
    #[schema(example = 17)]
    delivered: u64,
    /// How many were dropped: they were three days old, or too many waited.
    #[schema(example = 0)]
    dropped: u64,
    /// Why the last try failed; null if it did not.
    #[schema(required, example = json!(null))]
    last_error: Option<String>,
    /// When the last try was; null before the first.
    #[schema(required, format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    last_at: Option<String>,
}

/// Show how delivering alerts goes
///
/// Where nodes share a store: what they deliver together, and what this node delivers of its own.
#[utoipa::path(
    get,
    path = "/admin/v1/webhook",
    tag = "alerts",
    operation_id = "showWebhook",
    responses((status = 200, description = "How delivering goes", body = WebhookBody))
)]
pub(crate) async fn show(State(admin): State<Shared>) -> Result<Json<WebhookBody>, Problem> {
    let posted = posted(&admin.engine).await?;
    let policy = admin.engine.policy();
    Ok(Json(WebhookBody {
        url: policy.policy().alerts.webhook.as_ref().map(ToString::to_string),
        pending: posted.pending,
        delivered: posted.delivered,
        dropped: posted.dropped,
        last_error: posted.last_error,
        last_at: posted.last_at.map(instant::text),
    }))
}

/// What all nodes deliver together, and what this node delivers of its own. While a shared store is away: the latter.
pub(crate) async fn posted(engine: &Engine) -> Result<Posted, StoreError> {
    match engine.own_alerts() {
        None => engine.alerts().posted().await,
        Some(own) if engine.store_mode() == StoreMode::Degraded => own.posted().await,
        Some(own) => Ok(both(engine.alerts().posted().await?, own.posted().await?)),
    }
}

/// What two of them come to: the last try is the later one.
fn both(one: Posted, other: Posted) -> Posted {
    let (earlier, later) = if one.last_at > other.last_at { (other, one) } else { (one, other) };
    Posted {
        pending: earlier.pending + later.pending,
        delivered: earlier.delivered + later.delivered,
        dropped: earlier.dropped + later.dropped,
        ..later
    }
}
