//! Lists: page after page, up to a maximum.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{AdminClient, read};
use crate::cli::ListPart;

/// The most entries that the server gives at once.
const PAGE_MAX: usize = 1_000;

/// Which part of a list is wanted.
pub(crate) struct Part<'p> {
    /// How many entries at most.
    pub(crate) limit: usize,
    /// Where to begin, if not at the start.
    pub(crate) cursor: Option<&'p str>,
}

impl<'p> From<&'p ListPart> for Part<'p> {
    fn from(part: &'p ListPart) -> Self {
        let limit = usize::try_from(part.limit).unwrap_or(usize::MAX);
        Self { limit, cursor: part.cursor.as_deref() }
    }
}

/// The entries, and where a list goes on that was cut.
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Value>,
    next: Option<String>,
}

impl AdminClient {
    /// The part of the list at this path, in as many calls as it takes.
    pub(crate) fn list(&self, path: &str, part: &Part<'_>) -> anyhow::Result<Listed> {
        let mut listed = Listed { items: Vec::new(), next: part.cursor.map(str::to_owned) };
        loop {
            let wanted = (part.limit - listed.items.len()).min(PAGE_MAX);
            let cursor = listed.next.as_deref().map(|cursor| format!("&cursor={}", super::segment(cursor)));
            let query = format!("{path}?limit={wanted}{}", cursor.unwrap_or_default());
            let page: Page = read(self.get(&query)?)?;
            // An empty page that claims to go on would be asked for for ever.
            let ended = page.items.is_empty();
            listed.items.extend(page.items);
            listed.next = page.next;
            if ended || listed.next.is_none() || listed.items.len() >= part.limit {
                return Ok(listed);
            }
        }
    }
}

impl Listed {
    /// The list as the server writes one.
    pub(crate) fn into_json(self) -> Value {
        json!({"items": self.items, "next": self.next})
    }

    /// What a person is told about a list that goes on.
    pub(crate) fn note(&self) -> String {
        match &self.next {
            Some(cursor) => format!("There are more: go on with --cursor {cursor}\n"),
            None => String::new(),
        }
    }
}
