//! `GET /admin/v1/usage`: what was used, from the ledger, up to this moment.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::books::{Asked, UsagePayer};
use sluicegate_ledger::usage::{Point, Query, Sums, Usage};
use utoipa::ToSchema;

use super::asked::{UsageParams, UsageQuery};
use super::{number, text};
use crate::auth::Call;
use crate::input::QueryPairs;
use crate::problem::Problem;
use crate::{Shared, instant};

/// What was used.
#[derive(Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageBody {
    /// Whose usage it is; absent if no account was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<PayerBody>,
    /// All of it: what was charged and corrected, less what was given back.
    #[schema(example = 1234)]
    total: i64,
    /// How much of it went beyond the quota.
    #[schema(example = 0)]
    overage: i64,
    /// Requests that were admitted.
    #[schema(example = 1230)]
    requests: i64,
    /// What was given back.
    #[schema(example = 6)]
    refunded: i64,
    /// What of the total was recorded when the hour of its charge was closed already.
    #[schema(example = 0)]
    late: i64,
    /// What of the total was decided while the store was away.
    #[schema(example = 0)]
    degraded: i64,
    /// What of the total is of test keys, which nobody is billed for.
    #[schema(example = 0)]
    test: i64,
    /// The same by time, in order, without the parts in which nothing happened.
    series: Vec<PointBody>,
    /// What was recorded before it is closed, and never changes again; null if nothing is closed yet.
    #[schema(required, format = DateTime, example = "2026-11-16T08:00:00Z")]
    open_from: Option<String>,
    /// Damaged records that are in no sum. If it is not 0, `sluicegate audit verify` tells more.
    #[schema(example = 0)]
    torn: u64,
    /// The node whose usage it is. Each node keeps books of its own requests.
    #[schema(example = "4f2a9c0d1e3b5a67")]
    node: String,
}

/// Whose usage it is.
#[derive(Serialize, ToSchema)]
#[schema(as = UsageAccount)]
pub(crate) struct PayerBody {
    /// What to ask for to see the same account again: its id, or its id, a tilde and its unique id if it is deleted.
    #[schema(example = "acme")]
    name: String,
    /// The unique id under which the ledger knows it. No other account ever has it.
    #[schema(example = "3763536543744000")]
    uid: String,
    /// When it was deleted; null if it is not.
    #[schema(required, format = DateTime, example = "2026-11-01T12:00:00.000Z")]
    deleted_at: Option<String>,
    /// Deleted accounts that had the same id before it, the newest first: what to ask for to see their usage.
    #[schema(example = json!(["acme~3763536543743999"]))]
    earlier: Vec<String>,
}

impl From<UsagePayer> for PayerBody {
    fn from(payer: UsagePayer) -> Self {
        let id = payer.id.as_deref().unwrap_or_default();
        Self {
            name: payer.name(),
            uid: payer.serial.to_string(),
            deleted_at: payer.deleted_at.map(instant::text),
            earlier: payer.earlier.iter().map(|serial| format!("{id}~{serial}")).collect(),
        }
    }
}

/// Usage in a part of time.
#[derive(Serialize, ToSchema)]
#[schema(as = UsagePoint)]
pub(crate) struct PointBody {
    /// Where it begins.
    #[schema(format = DateTime, example = "2026-11-16T07:00:00Z")]
    start: String,
    /// What was used.
    #[schema(example = 120)]
    total: i64,
    /// How much of it went beyond the quota.
    #[schema(example = 0)]
    overage: i64,
    /// Requests that were admitted.
    #[schema(example = 118)]
    requests: i64,
    /// What was given back.
    #[schema(example = 2)]
    refunded: i64,
}

impl From<Point> for PointBody {
    fn from(Point { start, sums }: Point) -> Self {
        let Sums { requests, refunded, .. } = sums;
        Self {
            start: text(start),
            total: number(sums.total()),
            overage: number(sums.net_overage()),
            requests: number(requests),
            refunded: number(refunded),
        }
    }
}

impl UsageBody {
    fn of(usage: Usage, account: Option<UsagePayer>, node: &str) -> Self {
        Self {
            account: account.map(PayerBody::from),
            total: number(usage.sums.total()),
            overage: number(usage.sums.net_overage()),
            requests: number(usage.sums.requests),
            refunded: number(usage.sums.refunded),
            late: number(usage.late.total()),
            degraded: number(usage.degraded.total()),
            test: number(usage.test.total()),
            series: usage.series.into_iter().map(PointBody::from).collect(),
            open_from: (usage.open.number() > 0).then(|| text(usage.open)),
            torn: usage.torn,
            node: node.to_owned(),
        }
    }
}

/// Show what was used
///
/// From the ledger, up to this moment.
#[utoipa::path(
    get,
    path = "/admin/v1/usage",
    tag = "usage",
    operation_id = "showUsage",
    params(UsageParams),
    responses(
        (status = 200, description = "What was used", body = UsageBody),
        (status = 404, description = "There is no such account, key or route"),
    )
)]
pub(crate) async fn show(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
) -> Result<Json<UsageBody>, Problem> {
    let query = UsageQuery::read(pairs, [], call.now)?;
    let account = match &query.asked.account {
        None => None,
        Some(name) => Some(admin.books.payer(name).await?),
    };
    let others = admin.books.query(&Asked { account: None, ..query.asked }).await?;
    let asked = Query { account: account.as_ref().map(|payer| payer.serial), ..others };
    let usage = Arc::clone(&admin.books).usage_of(asked).await?;
    Ok(Json(UsageBody::of(usage, account, admin.books.ledger().node())))
}
