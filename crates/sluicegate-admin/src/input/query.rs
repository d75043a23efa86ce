//! The query of lists: `limit` and `cursor`.

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use sluicegate_core::file::closest;
use sluicegate_store::directory::{Cursor, FieldError, Page, PageLimit};
use utoipa::IntoParams;

use super::super::problem::{Error, Problem, sentence};

/// Which part of a list.
pub(crate) struct ListQuery(pub(crate) Page);

/// Which part of a list whose cursors are of another kind.
pub(crate) struct PlainListQuery {
    pub(crate) limit: PageLimit,
    pub(crate) cursor: Option<String>,
}

/// The parameters of lists, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct ListParams {
    /// How many entries at most.
    #[param(minimum = 1, maximum = 1000, default = 100, required = false)]
    limit: u16,
    /// The `next` of the page before.
    #[param(pattern = "^c(0|[1-9a-f][0-9a-f]{0,15})$", required = false)]
    cursor: String,
}

impl<S: Send + Sync> FromRequestParts<S> for ListQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PlainListQuery { limit, cursor } = PlainListQuery::from_request_parts(parts, state).await?;
        let cursor = cursor.map(|text| Cursor::parse(&text).map_err(|error| of_field(&error)));
        Ok(Self(Page { limit, cursor: cursor.transpose()? }))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PlainListQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut query = Self { limit: PageLimit::default(), cursor: None };
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in pairs(parts, state).await? {
            if seen.contains(&name) {
                return Err(wrong_query(&name, "is given twice"));
            }
            match name.as_str() {
                "limit" => query.limit = page_limit(&value)?,
                "cursor" => query.cursor = Some(value),
                _ => return Err(unknown(&name, &["limit", "cursor"])),
            }
            seen.push(name);
        }
        Ok(query)
    }
}

/// The parameters of a query as they are.
pub(crate) struct QueryPairs(pub(crate) Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for QueryPairs {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        pairs(parts, state).await.map(Self)
    }
}

async fn pairs<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<(String, String)>, Problem> {
    let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    pairs
        .map(|Query(pairs)| pairs)
        .map_err(|_| Problem::new(Error::InvalidQuery, "The query cannot be read."))
}

/// Digits only: a sign or blanks are no part of a count.
pub(crate) fn page_limit(text: &str) -> Result<PageLimit, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let rows = if digits { text.parse().unwrap_or(u64::MAX) } else { 0 };
    PageLimit::new(rows).map_err(|error| of_field(&error))
}

fn of_field(error: &FieldError) -> Problem {
    wrong_query(error.field, &error.problem)
}

/// A problem with one parameter, as the end of a sentence that starts with it.
pub(crate) fn wrong_query(name: &str, problem: &str) -> Problem {
    Problem::new(Error::InvalidQuery, sentence(name, problem)).field(name)
}

/// A parameter that nobody knows.
pub(crate) fn unknown(name: &str, known: &[&str]) -> Problem {
    let name: String = name.chars().take(80).collect();
    match closest(&name, known.iter().copied()) {
        Some(meant) => wrong_query(&name, &format!("is not known here; did you mean \"{meant}\"?")),
        None => wrong_query(&name, "is not known here"),
    }
}
