//! `GET /admin/v1/decisions`: what was refused lately.

use axum::Json;
use axum::extract::State;
use sluicegate_engine::DecisionId;
use sluicegate_engine::pulse::Which;

use super::ExplanationBody;
use crate::Shared;
use crate::asked::{DecisionParams, read_count};
use crate::auth::Call;
use crate::input::{QueryPairs, unknown, wrong_query};
use crate::list::List;
use crate::problem::Problem;

const LIMIT_DEFAULT: usize = 50;
const LIMIT_MAX: usize = 200;

/// List what was refused lately
///
/// The newest first, of the last hour, as this node has seen it.
#[utoipa::path(
    get,
    path = "/admin/v1/decisions",
    tag = "decisions",
    operation_id = "listDecisions",
    params(DecisionParams),
    responses((status = 200, description = "A page of denials", body = List<ExplanationBody>))
)]
pub(crate) async fn list(
    State(admin): State<Shared>,
    call: Call,
    QueryPairs(pairs): QueryPairs,
) -> Result<Json<List<ExplanationBody>>, Problem> {
    let (mut account, mut limit, mut before) = (None, LIMIT_DEFAULT, None);
    for (name, value) in pairs {
        match name.as_str() {
            // As a form sends it that was left empty.
            "account" => account = Some(value).filter(|value| !value.is_empty()),
            "limit" => limit = read_count("limit", &value, LIMIT_MAX)?,
            "cursor" => {
                let id = DecisionId::parse(&value);
                before = Some(id.ok_or_else(|| wrong_query("cursor", "is not the next of a page"))?);
            }
            _ => return Err(unknown(&name, &["account", "limit", "cursor"])),
        }
    }
    let which = Which { account: account.as_deref(), before };
    // One more tells whether there is more.
    let mut found = admin.engine.pulse().explanations(which, limit + 1, call.now);
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| last.brief.id.to_string());
    Ok(Json(List::new(found.iter().map(|one| ExplanationBody::of(one)).collect(), next)))
}
