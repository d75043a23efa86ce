//! What calls bring along: bodies, ids in paths, queries. Whatever is wrong with one is answered as a problem.

mod body;
mod object;
mod path;
mod query;

pub(crate) use body::{CsvText, JsonBody, JsonText, OptionalJsonBody, ShortText, YamlText, json};
pub(crate) use object::{Object, wrong};
pub(crate) use path::{AccountPath, KeyPath, TokenPath};
pub(crate) use query::{ListParams, ListQuery, PlainListQuery, QueryPairs, page_limit, unknown, wrong_query};
