//! `GET /admin/v1/top`: who sends most, and who is refused most.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use sluicegate_engine::pulse::{Caller, TopBy, TopCaller};
use utoipa::ToSchema;

use super::asked::{TopParams, read_count};
use super::auth::Call;
use super::input::{QueryPairs, unknown, wrong_query};
use super::problem::Problem;
use super::{Shared, instant};

const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 100;

/// Who sends or is refused most.
#[derive(Serialize, ToSchema)]
#[schema(as = Top)]
pub(crate) struct TopBody {
    /// Since when it was counted: one to two minutes ago.
    #[schema(format = DateTime, example = "2026-11-01T11:58:30.000Z")]
    since: String,
    /// The most first.
    items: Vec<TopItem>,
}

/// One of them.
#[derive(Serialize, ToSchema)]
pub(crate) struct TopItem {
    /// What it is: `account` or `client`.
    #[schema(example = "account")]
    kind: &'static str,
    /// The account, or the client.
    #[schema(example = "acme")]
    id: String,
    /// Its tier; null where it was not looked up, because the caller is blocked.
    #[schema(required, example = "pro")]
    tier: Option<String>,
    /// How many, about.
    #[schema(example = 12_320)]
    count: u64,
    /// By how much the count may be wrong: 0 means that it is exact.
    #[schema(example = 64)]
    error_at_most: u64,
}

impl From<TopCaller> for TopItem {
    fn from(top: TopCaller) -> Self {
        let (kind, id) = match top.caller {
            Caller::Account(account) => ("account", account.to_string()),
            Caller::Client(client) => ("client", client.to_string()),
        };
        let tier = top.tier.map(|tier| tier.as_str().to_owned());
        Self { kind, id, tier, count: top.count, error_at_most: top.error }
    }
}

/// List who sends or is refused most
///
/// Over the last one to two minutes, as this node has seen it. At most 256 callers are kept, so a count may be too
/// large by one in 256 of all requests; above 1,000 requests a second one in 32 is looked at and counts for 32.
/// `error_at_most` has both.
#[utoipa::path(
    get,
    path = "/admin/v1/top",
    tag = "decisions",
    operation_id = "showTop",
    params(TopParams),
    responses((status = 200, description = "The most first", body = TopBody))
)]
pub(crate) async fn top(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
) -> Result<Json<TopBody>, Problem> {
    let (mut by, mut limit) = (TopBy::Requests, LIMIT_DEFAULT);
    for (name, value) in pairs {
        match (name.as_str(), value.as_str()) {
            ("by", "requests") => by = TopBy::Requests,
            ("by", "refusals") => by = TopBy::Refusals,
            ("by", _) => return Err(wrong_query("by", "is not \"requests\" or \"refusals\"")),
            ("limit", text) => limit = read_count("limit", text, LIMIT_MAX)?,
            _ => return Err(unknown(&name, &["by", "limit"])),
        }
    }
    let top = admin.engine.pulse().top(by, limit, call.now);
    let items = top.callers.into_iter().map(TopItem::from).collect();
    Ok(Json(TopBody { since: instant::text(top.since), items }))
}
