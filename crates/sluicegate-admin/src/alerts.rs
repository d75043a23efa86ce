//! `GET /admin/v1/alerts`: what people should hear of, the newest first.

mod query;

use axum::Json;
use axum::extract::State;
use sluicegate_engine::StoreMode;
use sluicegate_node::webhook::AlertBody;
use sluicegate_store::alerts::Alert;

use super::Shared;
use super::list::List;
use super::problem::Problem;
use query::{AlertParams, AlertQuery};

/// List what happened that people should hear of
///
/// The newest first. The last 1,000 are kept, and those that fire. Quotas are announced at 50, 80, 90 and 100 %, and
/// when overage begins: each once for a period. Everything else fires when it begins and is resolved when it is over.
/// While a shared store is away, this node lists its own.
#[utoipa::path(
    get,
    path = "/admin/v1/alerts",
    tag = "alerts",
    operation_id = "listAlerts",
    params(AlertParams),
    responses((status = 200, description = "A page of alerts", body = List<AlertBody>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    AlertQuery { page, which }: AlertQuery,
) -> Result<Json<List<AlertBody>>, Problem> {
    let engine = &admin.engine;
    let own = engine.own_alerts().filter(|_| engine.store_mode() == StoreMode::Degraded);
    let alerts = own.unwrap_or_else(|| engine.alerts()).list(page, which).await?;
    Ok(Json(List::of(alerts, |alert: Alert| AlertBody::from(alert.news))))
}
