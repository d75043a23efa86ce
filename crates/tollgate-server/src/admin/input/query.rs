//! The query of lists: `limit` and `cursor`.

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use tollgate_core::file::closest;
use tollgate_store::directory::{Cursor, FieldError, Page, PageLimit};
use utoipa::IntoParams;

use super::super::problem::{Error, Problem, sentence};

/// Which part of a list.
pub(crate) struct ListQuery(pub(crate) Page);

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
        let mut page = Page::default();
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in pairs(parts, state).await? {
            if seen.contains(&name) {
                return Err(wrong(&name, "is given twice"));
            }
            match name.as_str() {
                "limit" => page.limit = limit(&value)?,
                "cursor" => page.cursor = Some(Cursor::parse(&value).map_err(|error| of_field(&error))?),
                _ => return Err(unknown(&name, &["limit", "cursor"])),
            }
            seen.push(name);
        }
        Ok(Self(page))
    }
}

async fn pairs<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Vec<(String, String)>, Problem> {
    let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    pairs
        .map(|Query(pairs)| pairs)
        .map_err(|_| Problem::new(Error::InvalidQuery, "The query cannot be read."))
}

/// Digits only: a sign or blanks are no part of a count.
fn limit(text: &str) -> Result<PageLimit, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let rows = if digits { text.parse().unwrap_or(u64::MAX) } else { 0 };
    PageLimit::new(rows).map_err(|error| of_field(&error))
}

fn of_field(error: &FieldError) -> Problem {
    wrong(error.field, &error.problem)
}

fn wrong(name: &str, problem: &str) -> Problem {
    Problem::new(Error::InvalidQuery, sentence(name, problem)).field(name)
}

fn unknown(name: &str, known: &[&str]) -> Problem {
    let name: String = name.chars().take(80).collect();
    match closest(&name, known.iter().copied()) {
        Some(meant) => wrong(&name, &format!("is not known here; did you mean \"{meant}\"?")),
        None => wrong(&name, "is not known here"),
    }
}
