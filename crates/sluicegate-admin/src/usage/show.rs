//! `GET /admin/v1/usage`: what was used, from the ledger, up to this moment.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_ledger::usage::{Point, Sums, Usage};
use utoipa::ToSchema;

use super::asked::{UsageParams, UsageQuery};
use super::{number, text};
use crate::Shared;
use crate::auth::Call;
use crate::input::QueryPairs;
use crate::problem::Problem;

/// What was used.
#[derive(Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageBody {
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
    /// What of the total was recorded when its hour was closed already.
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
    /// What comes before it is closed, and never changes again; null if nothing is closed yet.
    #[schema(required, format = DateTime, example = "2026-11-16T08:00:00Z")]
    open_from: Option<String>,
    /// Damaged records that are in no sum. If it is not 0, `sluicegate audit verify` tells more.
    #[schema(example = 0)]
    torn: u64,
    /// The node whose usage it is. Each node keeps books of its own requests.
    #[schema(example = "4f2a9c0d1e3b5a67")]
    node: String,
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
    fn of(usage: Usage, node: &str) -> Self {
        Self {
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
    let usage = Arc::clone(&admin.books).usage(&query.asked).await?;
    Ok(Json(UsageBody::of(usage, admin.books.ledger().node())))
}
