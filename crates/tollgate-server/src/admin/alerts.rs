//! `GET /admin/v1/alerts`: what people should hear of, the newest first.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tollgate_store::alerts::{Alert, AlertKind, News, QuotaUse};
use utoipa::ToSchema;

use super::input::{ListParams, ListQuery};
use super::list::List;
use super::problem::Problem;
use super::{Shared, instant};

/// One alert.
#[derive(Serialize, ToSchema)]
#[schema(as = Alert)]
pub(crate) struct AlertBody {
    /// Its id: no other alert has it.
    #[schema(example = "alr_01k8zv4qe0h3n8d5rj2m7w9xab")]
    id: String,
    /// What happened: `quota.threshold` or `quota.overage`.
    #[serde(rename = "type")]
    #[schema(example = "quota.threshold")]
    kind: &'static str,
    /// The account.
    #[schema(example = "acme")]
    account: String,
    /// The limit.
    #[schema(example = "quota")]
    limit: String,
    /// The key whose own quota it is; absent where the keys of the account share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    key: Option<String>,
    /// At least so much of it is used: 50, 80, 90 or 100; for overage 100.
    #[schema(example = 80)]
    percent: u8,
    /// What was used.
    #[schema(example = 40_210)]
    used: u64,
    /// Of how much.
    #[schema(example = 50_000)]
    limit_amount: u64,
    /// When the period ends; null where the window slides.
    #[schema(required, format = DateTime, example = "2026-12-01T00:00:00.000Z")]
    period_end: Option<String>,
    /// When it was noticed.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    at: String,
}

impl From<Alert> for AlertBody {
    fn from(alert: Alert) -> Self {
        let News { id, at, kind } = alert.news;
        let word = kind.as_str();
        let (percent, quota) = match kind {
            AlertKind::QuotaThreshold { percent, quota } => (percent, quota),
            AlertKind::QuotaOverage(quota) => (100, quota),
        };
        let QuotaUse { account, limit, key, used, amount, period_end } = quota;
        Self {
            id,
            kind: word,
            account,
            limit,
            key,
            percent,
            used,
            limit_amount: amount,
            period_end: period_end.map(instant::text),
            at: instant::text(at),
        }
    }
}

/// List what happened that people should hear of
///
/// The newest first. The last 1,000 are kept. Quotas are announced at 50, 80, 90 and 100 %, and when overage begins: each
/// once for a period.
#[utoipa::path(
    get,
    path = "/admin/v1/alerts",
    tag = "alerts",
    operation_id = "listAlerts",
    params(ListParams),
    responses((status = 200, description = "A page of alerts", body = List<AlertBody>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    ListQuery(page): ListQuery,
) -> Result<Json<List<AlertBody>>, Problem> {
    let alerts = admin.engine.alerts().list(page).await?;
    Ok(Json(List::of(alerts, AlertBody::from)))
}
