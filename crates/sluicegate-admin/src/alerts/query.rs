//! The query of the list of alerts: that of every list, and `state`.

use axum::extract::FromRequestParts;
use http::request::Parts;
use sluicegate_store::alerts::{AlertState, Which};
use sluicegate_store::directory::{Cursor, Page, PageLimit};
use utoipa::IntoParams;

use super::super::input::{QueryPairs, page_limit, unknown, wrong_query};
use super::super::problem::Problem;

/// Which part of the list, of which alerts.
pub(crate) struct AlertQuery {
    pub(crate) page: Page,
    pub(crate) which: Which,
}

/// The parameters, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct AlertParams {
    /// How many entries at most.
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    limit: u16,
    /// The `next` of the page before.
    #[param(pattern = "^c(0|[1-9a-f][0-9a-f]{0,15})$", required = false)]
    cursor: String,
    /// Only those in this state.
    #[param(pattern = "^(firing|resolved|noted)$", required = false)]
    state: String,
}

impl<S: Send + Sync> FromRequestParts<S> for AlertQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let QueryPairs(pairs) = QueryPairs::from_request_parts(parts, state).await?;
        let (mut limit, mut cursor, mut which) = (None, None, None);
        for (name, value) in pairs {
            let twice = match name.as_str() {
                "limit" => limit.replace(page_limit(&value)?).is_some(),
                "cursor" => {
                    let parsed = Cursor::parse(&value);
                    let parsed = parsed.map_err(|error| wrong_query(error.field, &error.problem))?;
                    cursor.replace(parsed).is_some()
                }
                "state" => which.replace(state_of(&value)?).is_some(),
                _ => return Err(unknown(&name, &["limit", "cursor", "state"])),
            };
            if twice {
                return Err(wrong_query(&name, "is given twice"));
            }
        }
        let page = Page { limit: limit.unwrap_or_else(PageLimit::default), cursor };
        Ok(Self { page, which: which.map_or(Which::All, Which::In) })
    }
}

fn state_of(text: &str) -> Result<AlertState, Problem> {
    let states = [AlertState::Firing, AlertState::Resolved, AlertState::Noted];
    let found = states.into_iter().find(|state| state.as_str() == text);
    found.ok_or_else(|| wrong_query("state", "is not firing, resolved or noted"))
}
