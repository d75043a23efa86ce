//! `GET /admin/v1/alerts`: what people should hear of, the newest first.

mod query;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tollgate_engine::StoreMode;
use tollgate_store::alerts::{Alert, AlertKind, News, RateCaller};
use utoipa::ToSchema;

use super::list::List;
use super::pressure::address_text;
use super::problem::Problem;
use super::{Shared, instant};
use query::{AlertParams, AlertQuery};

/// One alert.
#[derive(Serialize, ToSchema, Default)]
#[schema(as = Alert)]
pub(crate) struct AlertBody {
    /// Its id: no other alert has it.
    #[schema(example = "alr_01k8zv4qe0h3n8d5rj2m7w9xab")]
    id: String,
    /// What happened: `caller.rate`, `refusals.share`, `address.refusals`, `store.degraded`, `reload.rejected`,
    /// `ledger.drift`, `quota.threshold` or `quota.overage`.
    #[serde(rename = "type")]
    #[schema(example = "quota.threshold")]
    kind: &'static str,
    /// Whether it goes on: `firing` or `resolved`; `noted` where there is nothing that could end.
    #[schema(example = "noted")]
    state: &'static str,
    /// A sentence for people.
    #[schema(example = "acme has used 80 % of its quota.")]
    title: String,
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "acme")]
    account: Option<String>,
    /// The caller without a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "cl_0123456789abcdef0123456789abcdef")]
    client: Option<String>,
    /// The limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "quota")]
    limit: Option<String>,
    /// The key whose own limit it is; absent where the keys of the account share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, pattern = "^[0-9A-Za-z]{12}$", example = "4fVZ8pQ2mX0c")]
    key: Option<String>,
    /// At least so much of it is used: 50, 80, 90 or 100; for overage 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 80)]
    percent: Option<u8>,
    /// What was used; of a rate, in the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 40_210)]
    used: Option<u64>,
    /// Of how much; of a rate, what it admits in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 50_000)]
    limit_amount: Option<u64>,
    /// When the period of a quota ends; null where its window slides. Only for quotas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, example = "2026-12-01T00:00:00.000Z")]
    period_end: Option<Option<String>>,
    /// How many requests were refused within a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 6)]
    refused: Option<u64>,
    /// Of how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 100)]
    requests: Option<u64>,
    /// What stands for the address: a keyed hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "8796a5b4c3d2e1f0")]
    address: Option<String>,
    /// How often it was refused within an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1_001)]
    refusals: Option<u64>,
    /// The node that it is about, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "00c0ffee00c0ffee")]
    node: Option<String>,
    /// How many problems the policy file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1)]
    problems: Option<u64>,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "policy.yaml:3:9: the tier \"pro\" is not defined")]
    first_problem: Option<String>,
    /// How many meters differ from the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1)]
    quotas: Option<u64>,
    /// By how much.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 12)]
    units: Option<u64>,
    /// When it was noticed.
    #[schema(format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    at: String,
    /// When it was over; null while it goes on, and where there is nothing that could end.
    #[schema(required, format = DateTime, example = json!(null))]
    resolved_at: Option<String>,
}

impl From<News> for AlertBody {
    fn from(news: News) -> Self {
        let common = Self {
            kind: news.kind.as_str(),
            state: news.state().as_str(),
            title: news.title(),
            at: instant::text(news.at),
            resolved_at: news.resolved_at.map(instant::text),
            id: news.id,
            ..Self::default()
        };
        let (percent, quota) = match news.kind {
            AlertKind::QuotaThreshold { percent, quota } => (percent, quota),
            AlertKind::QuotaOverage(quota) => (100, quota),
            other => return common.with(other),
        };
        Self {
            account: Some(quota.account),
            limit: Some(quota.limit),
            key: quota.key,
            percent: Some(percent),
            used: Some(quota.used),
            limit_amount: Some(quota.amount),
            period_end: Some(quota.period_end.map(instant::text)),
            ..common
        }
    }
}

impl AlertBody {
    /// With what there is to say of something that ends.
    fn with(self, kind: AlertKind) -> Self {
        match kind {
            AlertKind::QuotaThreshold { .. } | AlertKind::QuotaOverage(_) => self,
            AlertKind::CallerRate(rate) => {
                let (account, key, client) = match rate.caller {
                    RateCaller::Account { id, key } => (Some(id), key, None),
                    RateCaller::Client(id) => (None, None, Some(id)),
                };
                let (used, limit_amount) = (Some(rate.used), Some(rate.per_minute));
                Self { account, key, client, limit: Some(rate.limit), used, limit_amount, ..self }
            }
            AlertKind::RefusalsShare { refused, requests } => {
                Self { refused: Some(refused), requests: Some(requests), ..self }
            }
            AlertKind::AddressRefusals { address, refusals } => {
                Self { address: Some(address_text(address)), refusals: Some(refusals), ..self }
            }
            AlertKind::StoreDegraded { node } => Self { node: Some(node), ..self },
            AlertKind::ReloadRejected { node, problems, first } => {
                Self { node, problems: Some(problems), first_problem: Some(first), ..self }
            }
            AlertKind::LedgerDrift { quotas, units } => {
                Self { quotas: Some(quotas), units: Some(units), ..self }
            }
        }
    }
}

/// List what happened that people should hear of
///
/// The newest first. The last 1,000 are kept, and those that fire. Quotas are announced at 50, 80, 90 and 100 %, and when
/// overage begins: each once for a period. Everything else fires when it begins and is resolved when it is over. While a
/// shared store is away, this node lists its own.
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
