//! `RateLimit-Policy` and `RateLimit`: lists of structured fields (RFC 9651), as in draft 11 of the IETF's
//! RateLimit header fields.

use std::time::Duration;

use http::HeaderMap;
use sfv::{BareItem, List, ListEntry, Parameters, Parser};

/// A limit: an item of `RateLimit-Policy`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LimitPolicy {
    /// Its name.
    pub name: String,
    /// The most that fits at once (`q`).
    pub quota: u64,
    /// What is counted (`qu`); requests if absent.
    pub unit: Option<String>,
    /// The time over which the quota is granted (`w`).
    pub window: Option<Duration>,
}

/// The state of a limit: an item of `RateLimit`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LimitState {
    /// Its name.
    pub name: String,
    /// How much is left (`r`).
    pub remaining: u64,
    /// How long until there is more (`t`).
    pub next: Option<Duration>,
}

pub(super) fn policies(headers: &HeaderMap) -> Vec<LimitPolicy> {
    let policy = |(name, parameters): (String, Parameters)| {
        Some(LimitPolicy {
            name,
            quota: integer(&parameters, "q")?,
            unit: parameters.get("qu").and_then(name_of),
            window: integer(&parameters, "w").map(Duration::from_secs),
        })
    };
    items(headers, "ratelimit-policy").into_iter().filter_map(policy).collect()
}

pub(super) fn states(headers: &HeaderMap) -> Vec<LimitState> {
    let state = |(name, parameters): (String, Parameters)| {
        let remaining = integer(&parameters, "r")?;
        Some(LimitState { name, remaining, next: integer(&parameters, "t").map(Duration::from_secs) })
    };
    items(headers, "ratelimit").into_iter().filter_map(state).collect()
}

/// Parses all lines of a header as one list. A malformed list counts as empty.
fn items(headers: &HeaderMap, name: &str) -> Vec<(String, Parameters)> {
    let lines: Vec<&[u8]> = headers.get_all(name).iter().map(http::HeaderValue::as_bytes).collect();
    let list: List = Parser::new(&lines.join(&b", "[..])).parse().unwrap_or_default();
    let item = |entry: ListEntry| match entry {
        ListEntry::Item(item) => Some((name_of(&item.bare_item)?, item.params)),
        ListEntry::InnerList(_) => None,
    };
    list.into_iter().filter_map(item).collect()
}

fn name_of(item: &BareItem) -> Option<String> {
    let string = item.as_string().map(|string| string.as_str().to_owned());
    string.or_else(|| item.as_token().map(|token| token.as_str().to_owned()))
}

fn integer(parameters: &Parameters, name: &str) -> Option<u64> {
    let integer = parameters.get(name)?.as_integer()?;
    u64::try_from(i64::from(integer)).ok()
}
