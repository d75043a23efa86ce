//! Lists: a page of entries, and where to go on.

use serde::Serialize;
use sluicegate_store::directory::Paged;
use utoipa::ToSchema;

/// A part of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct List<T> {
    /// The entries.
    items: Vec<T>,
    /// The `cursor` of the next page; null at the end.
    #[schema(required, example = "c2a")]
    next: Option<String>,
}

impl<T> List<T> {
    /// These entries, and where the next page begins.
    pub(crate) const fn new(items: Vec<T>, next: Option<String>) -> Self {
        Self { items, next }
    }

    /// The page, with every entry as people see it.
    pub(crate) fn of<R>(paged: Paged<R>, each: impl FnMut(R) -> T) -> Self {
        let next = paged.next.map(|cursor| cursor.to_string());
        Self { items: paged.items.into_iter().map(each).collect(), next }
    }
}
